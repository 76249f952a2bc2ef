import { request } from "node:http";
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
      // The renderer of Markdown follows the text of a note, which is shown meanwhile.
      const files = requests.map((url) => new URL(url).pathname).filter((file) => /\.(?:js|css)$/u.test(file));
      const loaded = files.filter((file) => !file.includes("/render-markdown-"));
      expect([...new Set(loaded)].toSorted()).toEqual([...new Set(named)].toSorted());
      const sizes = await Promise.all([...new Set(named)].map((file) => sent(new URL(file, ui.origin))));
      const bytes = sizes.reduce((sum, each) => sum + each.bytes, 0);
      expect(bytes).toBeLessThan(60_000);
    },
  );
});
