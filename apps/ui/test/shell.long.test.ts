import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type IncomingHttpHeaders, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { hasBrowser, openWindow, useBrowser } from "./support/browser.ts";
import { buildPage } from "./support/build-page.ts";
import { startUi } from "./support/ui-server.ts";

const notes = { "MEMORY.md": "# Facts\n\nThe staging database listens on port 5544.\n" };

buildPage();
useBrowser();

describe.skipIf(!hasBrowser)("the page", () => {
  test("opens with the secret, which goes from the address, and stays open in new tabs and when it is loaded again", async () => {
    const { origin, url } = await startUi({ notes });
    const { context, page, complaints } = await openWindow();
    await page.goto(url);
    await page.getByRole("heading", { level: 1 }).waitFor();
    expect(page.url()).toBe(`${origin}/`);
    await page.reload();
    await page.getByRole("heading", { level: 1 }).waitFor();
    const tab = await context.newPage();
    await tab.goto(`${origin}/health`);
    await tab.getByRole("heading", { level: 1 }).waitFor();
    expect([complaints.lines, await context.cookies()]).toEqual([[], []]);
    // Choices are kept, and what the browser prefers is none.
    const kept = (): Promise<unknown> => page.evaluate("Object.keys(localStorage).toSorted().join()");
    expect(await kept()).toBe("memslot-token");
    await page.keyboard.press(",");
    await page.getByLabel("Theme").selectOption("dark");
    expect(await kept()).toBe("memslot-theme,memslot-token");
  });

  test("says what to do to a browser without a secret, with a wrong or a used one, and to one that is signed out", async () => {
    const ui = await startUi({ notes });
    const { page: signedIn } = await openWindow();
    await signedIn.goto(ui.url);
    await signedIn.getByRole("heading", { level: 1 }).waitFor();
    for (const address of [`${ui.origin}/`, `${ui.origin}/#secret=wrong`, ui.url]) {
      const { page } = await openWindow();
      await page.goto(address);
      await page.getByText("Not signed in").waitFor();
      expect(await page.getByRole("heading", { level: 1 }).count()).toBe(0);
    }
    writeFileSync(ui.keyFile, "another key of this folder");
    await signedIn.getByRole("link", { name: "Notes" }).click();
    await signedIn.getByText("Not signed in").waitFor();
    await ui.stop();
    await ui.restart();
    await signedIn.goto(ui.url);
    await signedIn.getByRole("heading", { level: 1 }).waitFor();
  });

  test("a view that fails says so, and the others open", async () => {
    const { url } = await startUi({ notes });
    const { page } = await openWindow();
    await page.route("**/api/home", (route) => route.fulfill({ json: {} }));
    await page.goto(url);
    await page.getByText("This view failed").waitFor();
    await page.getByRole("link", { name: "Health" }).click();
    await page.getByRole("heading", { level: 1, name: "Health" }).waitFor();
    expect(await page.getByText("This view failed").count()).toBe(0);
  });

  test("a server on another port of this machine that is visited gets nothing that lets it in", async () => {
    const { origin, url } = await startUi({ notes });
    const { context, page } = await openWindow();
    await page.goto(url);
    await page.getByRole("heading", { level: 1 }).waitFor();
    const seen: IncomingHttpHeaders[] = [];
    const other = createServer((asked, response) => {
      seen.push(asked.headers);
      response.writeHead(200, { "content-type": "text/html" }).end("<title>Another server</title>");
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void other.close());
    await once(other, "listening");
    const visited = await context.newPage();
    await visited.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`);
    const got = await visited.evaluate(async (asked) => {
      const read = async (init: RequestInit): Promise<string> =>
        await fetch(`${asked}/api/notes/file?path=MEMORY.md`, { credentials: "include", ...init }).then(
          (answer) => answer.text(),
          () => "",
        );
      return [await read({}), await read({ mode: "no-cors" })];
    }, origin);
    got.push(...(await visited.evaluate<string[]>("[document.cookie, JSON.stringify(localStorage)]")));
    expect(got).toEqual(["", "", "", "{}"]);
    expect(seen.length).toBeGreaterThan(0);
    for (const { cookie, authorization } of seen) expect([cookie, authorization]).toEqual([undefined, undefined]);
    expect((await fetch(`${origin}/api/notes/file?path=MEMORY.md`)).status).toBe(401);
  });

  test("eight windows of one browser are told of a new note by one stream", async () => {
    const { url, origin, host, workspaceDir } = await startUi({ notes });
    const { context } = await openWindow();
    const pages = await Promise.all(Array.from({ length: 8 }, () => context.newPage()));
    let streams = 0;
    context.on("request", (asked) => void (streams += asked.url().endsWith("/api/events") ? 1 : 0));
    for (const page of pages) {
      await page.goto(`${origin}/health${new URL(url).hash}`);
      await page.getByText("1 file · 1 passage").waitFor();
    }
    writeFileSync(
      `${workspaceDir}/MEMORY.md`,
      "# Facts\n\nport 5544\n\n## More\n\n".concat("a line of words\n".repeat(400)),
    );
    await host.memory.sync({ reason: "test" });
    const { chunks } = host.memory.status();
    for (const page of pages) await page.getByText(`1 file · ${chunks} passages`).waitFor();
    expect(chunks).toBeGreaterThan(1);
    expect(streams).toBe(1);
  });
});
