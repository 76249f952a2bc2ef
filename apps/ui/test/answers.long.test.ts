import { writeFileSync } from "node:fs";
import { request } from "node:http";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { hasBrowser, openAt, useBrowser } from "./support/browser.ts";
import { buildPage } from "./support/build-page.ts";
import { startUi } from "./support/ui-server.ts";

const notes = {
  "MEMORY.md": "# Facts\n\nThe staging database listens on port 5544.\n",
  "memory/ferry.md": "# Ferry\n\nThe ferry to Oslo leaves at nine.\n",
};

buildPage();
useBrowser();

/** The size of a file as it is sent, and the address of the files that its header names. */
async function sent(address: URL): Promise<{ bytes: number; ahead: string[] }> {
  return await new Promise((resolve, reject) => {
    const asked = request(address, { headers: { "accept-encoding": "gzip" }, agent: false }, (answer) => {
      let bytes = 0;
      answer.on("data", (part: Buffer) => (bytes += part.length));
      const ahead = Array.from(String(answer.headers["link"] ?? "").matchAll(/<([^>]+)>/gu), ([, file]) => file ?? "");
      answer.on("end", () => resolve({ bytes, ahead }));
    });
    asked.on("error", reject);
    asked.end();
  });
}

describe.skipIf(!hasBrowser)("answers of the page", () => {
  test.each(["/", "/search", "/notes", "/changes", "/health"])(
    "the files of %s are all named by the first response, and its scripts and styles are at most 60 kB",
    async (place) => {
      const ui = await startUi({ notes });
      const first = new URL(place, ui.origin);
      const html = await (await fetch(first)).text();
      const own = Array.from(html.matchAll(/(?:src|href)="(\/assets\/[^"]+\.(?:js|css))"/gu), ([, file]) => file ?? "");
      const named = [...own, ...(await sent(first)).ahead];
      const { page, requests } = await openAt(ui, place);
      await page.getByRole("heading").first().waitFor();
      await page.locator(".loading").first().waitFor({ state: "detached" });
      const loaded = requests.map((url) => new URL(url).pathname).filter((file) => /\.(?:js|css)$/u.test(file));
      expect([...new Set(loaded)].toSorted()).toEqual([...new Set(named)].toSorted());
      const sizes = await Promise.all([...new Set(named)].map((file) => sent(new URL(file, ui.origin))));
      const bytes = sizes.reduce((sum, each) => sum + each.bytes, 0);
      expect(bytes).toBeLessThan(60_000);
    },
  );

  test("two tabs keep what they show while the server is away, and show by themselves what changed meanwhile", async () => {
    const ui = await startUi({ notes });
    const { page, context } = await openAt(ui, "/notes/MEMORY.md");
    const other = await context.newPage();
    await other.goto(`${ui.origin}/search?q=staging`);
    await page.getByText("port 5544").waitFor();
    await other.locator(".result").first().waitFor();
    await ui.stop();
    for (const tab of [page, other]) await tab.getByRole("alert").waitFor();
    expect(await page.getByText("port 5544").count()).toBe(1);
    expect(await other.locator(".result").count()).toBeGreaterThan(0);
    writeFileSync(path.join(ui.workspaceDir, "MEMORY.md"), "# Facts\n\nThe staging database moved to port 6000.\n");
    await ui.restart();
    await page.getByText("port 6000").waitFor();
    await other.locator(".result").getByText("6000").first().waitFor();
    for (const tab of [page, other]) await tab.getByRole("alert").waitFor({ state: "detached" });
  });

  test("a typed question is answered by its words while a slow provider is asked, at most twice for 27 letters", async () => {
    const asked: string[] = [];
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const ui = await startUi({
      notes,
      embeddings: {
        id: "fake",
        model: "slow",
        async embedQuery(text) {
          asked.push(text);
          await held;
          return [text.length, 1, 2];
        },
        embedBatch: async (texts) => texts.map((text) => [text.length, 1, 2]),
      },
    });
    const { page } = await openAt(ui, "/search");
    const question = "when does the ferry leave? ";
    expect(question.length).toBe(27);
    await page.locator("input[type=search]").pressSequentially(question);
    await page.locator(".result").getByText("Oslo").first().waitFor();
    await expect.poll(() => asked.length, { timeout: 30_000 }).toBeGreaterThan(0);
    expect(await page.locator(".result").count()).toBeGreaterThan(0);
    release();
    await page.locator("[aria-busy=false] .result").first().waitFor();
    expect(asked.length).toBeLessThanOrEqual(2);
  });
});
