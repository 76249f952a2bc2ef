import { describe, expect, test } from "vitest";
import { hasBrowser, openAt, useBrowser } from "./support/browser.ts";
import { buildPage } from "./support/build-page.ts";
import { startUi } from "./support/ui-server.ts";

const files = 1_000;
const parts = 20;

/** A thousand notes of twenty sections, each a passage of its own. */
function manyNotes(): Record<string, string> {
  const words = ["harbour", "boiler", "bread", "ferry", "cello", "garden", "ladder", "kettle", "window", "river"];
  const section = (note: number, part: number): string => {
    const text = Array.from({ length: 34 }, (_, at) => words[(note * 7 + part * 3 + at * at) % words.length]).join(" ");
    return `## Section ${part}\n\nPlace ${note}x${part}: ${text}.\n`;
  };
  return Object.fromEntries(
    Array.from({ length: files }, (_, note) => [
      `memory/n${note}.md`,
      Array.from({ length: parts }, (_x, part) => section(note, part)).join("\n"),
    ]),
  );
}

buildPage();
useBrowser();

describe.skipIf(!hasBrowser)("with 20,000 passages", () => {
  test("a key press finds the one, the tree holds what is seen, and the map draws all of them", async () => {
    const ui = await startUi({ notes: manyNotes(), memorySearch: { chunking: { tokens: 64, overlap: 0 } } });
    expect(ui.host.memory.status().chunks).toBeGreaterThanOrEqual(files * parts);
    const { page, complaints } = await openAt(ui, "/search");
    await page.getByRole("searchbox").pressSequentially("777x13");
    const found = page.getByRole("link", { name: /^memory\/n777\.md/u }).first();
    await found.waitFor();
    // What was found for the beginning of the word may still stand there.
    await expect.poll(() => page.locator(".result mark").first().textContent(), { timeout: 20_000 }).toBe("777x13");
    await page.goto(`${ui.origin}/notes`);
    await page.getByRole("treeitem").first().waitFor();
    expect(await page.getByRole("treeitem").count()).toBeLessThan(200);
    await page.getByRole("searchbox").fill("n999");
    await page.getByRole("treeitem", { name: /n999/u }).waitFor();
    await page.goto(`${ui.origin}/map`);
    const count = new Intl.NumberFormat("en").format(ui.host.memory.status().chunks ?? 0);
    await page.getByText(`${count} of ${count} passages`).waitFor();
    await page.locator(".map-list button").first().click();
    await page.locator("section.card ol > li").first().waitFor();
    expect(complaints.lines).toEqual([]);
  });
});
