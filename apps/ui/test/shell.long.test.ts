import { writeFileSync } from "node:fs";
import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { hasBrowser, openWindow, useBrowser } from "./support/browser.ts";
import { buildPage } from "./support/build-page.ts";
import { startUi } from "./support/ui-server.ts";

const notes = { "MEMORY.md": "# Facts\n\nThe staging database listens on port 5544.\n" };

buildPage();
useBrowser();

describe.skipIf(!hasBrowser)("the page", () => {
  test("opens with the token, which goes from the address, and stays open when it is loaded again", async () => {
    const { url } = await startUi({ notes });
    const { page, complaints } = await openWindow();
    await page.goto(url);
    await page.getByRole("navigation").waitFor();
    await page.getByRole("heading", { level: 1 }).waitFor();
    expect(page.url()).not.toContain("token");
    await page.reload();
    await page.getByRole("heading", { level: 1 }).waitFor();
    expect(complaints.lines).toEqual([]);
  });

  test("says what to do to a browser that has no token, or a wrong one", async () => {
    const { origin } = await startUi({ notes });
    for (const address of [`${origin}/`, `${origin}/#token=wrong`]) {
      const { page } = await openWindow();
      await page.goto(address);
      await page.getByText("This page does not know your browser").waitFor();
      expect(await page.getByRole("heading", { level: 1 }).count()).toBe(0);
    }
  });

  test("goes on by itself when the server was started again", async () => {
    const { url, stop, restart } = await startUi({ notes });
    const { page } = await openWindow();
    await page.goto(url);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await stop();
    await page.getByText("memslot does not answer").waitFor();
    await restart();
    await page.getByText("memslot does not answer").waitFor({ state: "detached" });
    expect(await page.getByRole("heading", { level: 1 }).count()).toBe(1);
  });

  test("eight windows of one browser are told of a new note by one stream", async () => {
    const { url, host, workspaceDir } = await startUi({ notes });
    const { context } = await openWindow();
    const pages = await Promise.all(Array.from({ length: 8 }, () => context.newPage()));
    let streams = 0;
    context.on("request", (asked) => void (streams += asked.url().endsWith("/api/events") ? 1 : 0));
    for (const page of pages) {
      await page.goto(url.replace("/#", "/health#"));
      await page.getByText("memory-core: 1 / 1").waitFor();
    }
    writeFileSync(
      `${workspaceDir}/MEMORY.md`,
      "# Facts\n\nport 5544\n\n## More\n\n".concat("a line of words\n".repeat(400)),
    );
    await host.memory.sync({ reason: "test" });
    const { chunks } = host.memory.status();
    for (const page of pages) await page.getByText(`memory-core: 1 / ${chunks}`).waitFor();
    expect(chunks).toBeGreaterThan(1);
    expect(streams).toBe(1);
  });
});

describe("the server", () => {
  test("answers nothing to a Host or an Origin of others, and lets nobody write but the page", async () => {
    const { origin } = await startUi({ notes });
    const { port } = new URL(origin);
    const cookie = `memslot-ui-${port}=${"s".repeat(32)}`;
    expect((await ask(origin, "/api/facts", { cookie })).status).toBe(200);
    expect((await ask(origin, "/api/facts", { cookie: "" })).status).toBe(401);
    expect((await ask(origin, "/api/facts", { cookie, host: `evil.example:${port}` })).status).toBe(403);
    expect((await ask(origin, "/", { host: "evil.example" })).status).toBe(403);
    expect((await ask(origin, "/api/facts", { cookie, origin: "http://evil.example" })).status).toBe(403);
    const json = { "content-type": "application/json" };
    const own = { ...json, origin };
    const login = (headers: Record<string, string>): Promise<{ status: number }> =>
      ask(origin, "/api/login", headers, JSON.stringify({ token: "t".repeat(32) }));
    expect((await login(own)).status).toBe(204);
    expect((await login(json)).status).toBe(403);
    expect((await login({ ...own, "content-type": "text/plain" })).status).toBe(403);
    expect((await login({ ...own, "sec-fetch-site": "cross-site" })).status).toBe(403);
  });

  test("serves no file but those of the page", async () => {
    const { origin } = await startUi({ notes });
    for (const path of ["/../package.json", "/assets/../../../package.json", "/%2e%2e/package.json", "/assets/x.js"]) {
      const { body, status } = await ask(origin, path, {});
      expect(body).not.toContain('"name"');
      expect([200, 404]).toContain(status);
      if (status === 200) expect(body).toContain('<div id="app">');
    }
  });
});

function ask(
  origin: string,
  path: string,
  headers: Record<string, string>,
  body?: string,
): Promise<{ status: number; body: string }> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const method = body === undefined ? "GET" : "POST";
    const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const asked = request({ hostname, port, path, method, headers: { ...headers, ...length } }, (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (part: string) => (text += part));
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, body: text }));
    });
    asked.on("error", reject);
    asked.end(body);
  });
}
