import { writeFileSync } from "node:fs";
import { request } from "node:http";
import path from "node:path";
import { tempFolder } from "@memslot/test-tools/files";
import { expect, test } from "vitest";
import { startUi, type UiServer } from "./support/ui-server.ts";

const notes = { "MEMORY.md": "# Facts\n\nThe staging database listens on port 5544.\n", "elsewhere.md": "Outside.\n" };

/** The server with a page of one file, which needs no build. */
async function start(readOnly = false): Promise<UiServer & { cookie: string }> {
  const page = tempFolder({ "index.html": '<div id="app"></div>' });
  const ui = await startUi({ notes, page, readOnly });
  return { ...ui, cookie: `memslot-ui-${new URL(ui.origin).port}=${"s".repeat(32)}` };
}

interface Asked {
  headers?: Record<string, string>;
  method?: string;
  body?: string;
}

/** Sends exactly these headers and this path, which `fetch` would not. */
function ask(origin: string, place: string, { headers = {}, body, method }: Asked = {}) {
  const { hostname, port } = new URL(origin);
  const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
  const options = { hostname, port, path: place, headers: { ...headers, ...length } };
  return new Promise<{ status: number; body: string }>((resolve, reject) => {
    const asked = request({ ...options, method: method ?? (body === undefined ? "GET" : "POST") }, (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (part: string) => (text += part));
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, body: text }));
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

test("answers nothing to the Host or the Origin of another site, nor to a browser without the cookie", async () => {
  const { origin, cookie } = await start();
  const { port } = new URL(origin);
  const statusOf = async (place: string, headers: Record<string, string>): Promise<number> =>
    (await ask(origin, place, { headers })).status;
  expect(await statusOf("/api/facts", { cookie })).toBe(200);
  expect(await statusOf("/api/facts", {})).toBe(401);
  expect(await statusOf("/api/facts", { cookie: cookie.replace("=s", "=x") })).toBe(401);
  expect(await statusOf("/api/facts", { cookie, host: `evil.example:${port}` })).toBe(403);
  expect(await statusOf("/", { host: "evil.example" })).toBe(403);
  expect(await statusOf("/api/facts", { cookie, origin: "http://evil.example" })).toBe(403);
});

test("lets only the page log in, with the token", async () => {
  const { origin } = await start();
  const json = { "content-type": "application/json" };
  const login = async (headers: Record<string, string>, token = "t".repeat(32)): Promise<number> =>
    (await ask(origin, "/api/login", { headers, body: JSON.stringify({ token }) })).status;
  expect(await login({ ...json, origin })).toBe(204);
  expect(await login({ ...json, origin }, "wrong")).toBe(401);
  expect(await login(json)).toBe(403);
  expect(await login({ ...json, origin, "content-type": "text/plain" })).toBe(403);
  expect(await login({ ...json, origin, "sec-fetch-site": "cross-site" })).toBe(403);
});

test("serves no file but those of the page", async () => {
  const { origin } = await start();
  for (const place of ["/../package.json", "/assets/../../../package.json", "/%2e%2e/package.json", "/assets/x.js"]) {
    const { body, status } = await ask(origin, place);
    expect(body).not.toContain('"name"');
    expect([200, 404]).toContain(status);
    if (status === 200) expect(body).toContain('<div id="app">');
  }
});

test("returns no file but notes, and changes none where the page is read-only", async () => {
  const { origin, cookie, workspaceDir } = await start(true);
  writeFileSync(path.join(workspaceDir, "../secret.md"), "secret\n");
  const names = ["../secret.md", "/etc/passwd", "memory/../../secret.md", "memory\\..\\..\\x.md", "memory/%2e%2e/x.md"];
  for (const name of [...names, "a\0.md", ".env", "elsewhere.md"]) {
    const place = `/api/notes/file?path=${encodeURIComponent(name)}`;
    const { status, body } = await ask(origin, place, { headers: { cookie } });
    expect([400, 403, 404, 409], name).toContain(status);
    expect(body).not.toMatch(/secret\n|root:|Outside/u);
  }
  const found = await ask(origin, "/api/notes/file?path=MEMORY.md", { headers: { cookie } });
  const { note } = JSON.parse(found.body) as { note: { sha256: string } };
  const headers = { cookie, origin, "content-type": "application/json" };
  const body = JSON.stringify({ path: "MEMORY.md", text: "x", sha256: note.sha256 });
  expect((await ask(origin, "/api/notes/file", { method: "PUT", headers, body })).status).toBe(403);
});
