import { writeFileSync } from "node:fs";
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
    const { url, origin, host, workspaceDir } = await startUi({ notes });
    const { context } = await openWindow();
    const pages = await Promise.all(Array.from({ length: 8 }, () => context.newPage()));
    let streams = 0;
    context.on("request", (asked) => void (streams += asked.url().endsWith("/api/events") ? 1 : 0));
    for (const page of pages) {
      await page.goto(`${origin}/health${new URL(url).hash}`);
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
