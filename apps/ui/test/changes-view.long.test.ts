import { writeFileSync, readFileSync } from "node:fs";
import path from "node:path";
import { AxeBuilder } from "@axe-core/playwright";
import { describe, expect, test } from "vitest";
import { hasBrowser, openAt, useBrowser } from "./support/browser.ts";
import { buildPage } from "./support/build-page.ts";
import { changeNote, startUi } from "./support/ui-server.ts";

const notes = {
  "MEMORY.md": "# Facts\n\n- The staging database listens on port 5544.\n- Anna likes tea.\n",
  "memory/2026-03-05.md": "# Ferry\n\nThe ferry leaves at nine.\n",
};

buildPage();
useBrowser();

describe.skipIf(!hasBrowser)("the changes", () => {
  test("list the author of each change, update without a reload, and undo or restore a change after a confirmation", async () => {
    const ui = await startUi({ notes });
    const { page, complaints } = await openAt(ui, "/changes");
    await page.getByText("No changes by agents").waitFor();
    await changeNote(ui, { path: "MEMORY.md", old: "port 5544", text: "port 6000" });
    await changeNote(ui, { path: "MEMORY.md", old: "- Anna likes tea.", reason: "she asked for it" });
    await ui.host.memory.sync({ reason: "test" });
    const cards = page.locator(".change");
    await cards.nth(1).waitFor();
    expect(await cards.first().textContent()).toMatch(
      /Forgotten.*memory_edit · main · session agent:main:tui:1 · she asked/su,
    );
    expect(await cards.nth(1).locator("mark").allTextContents()).toEqual(["5544", "6000"]);
    expect((await new AxeBuilder({ page }).analyze()).violations.map(({ id }) => id)).toEqual([]);
    await page.getByRole("button", { name: "Undo MEMORY.md:3" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Undo: MEMORY.md" }).click();
    await page.getByText("Undone: MEMORY.md").waitFor();
    await page.getByRole("button", { name: "Restore MEMORY.md:4" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Restore: MEMORY.md" }).click();
    await page.getByText("Restored: MEMORY.md").waitFor();
    expect(readFileSync(path.join(ui.workspaceDir, "MEMORY.md"), "utf8")).toBe(notes["MEMORY.md"]);
    expect(complaints.lines).toEqual([]);
  });

  test("of one note are a link on it, and one that cannot be undone any more says why and what to do", async () => {
    const ui = await startUi({ notes });
    await changeNote(ui, { path: "MEMORY.md", old: "port 5544", text: "port 6000" });
    await changeNote(ui, { path: "memory/2026-03-05.md", old: "at nine", text: "at ten" });
    writeFileSync(path.join(ui.workspaceDir, "MEMORY.md"), "# Facts\n\nRewritten.\n");
    const { page } = await openAt(ui, "/notes/MEMORY.md");
    await page.locator("article.note").getByRole("link", { name: "Changes" }).click();
    await page.locator(".change").waitFor();
    expect(await page.locator(".change").count()).toBe(1);
    await page.getByRole("button", { name: "Undo MEMORY.md:3" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Undo: MEMORY.md" }).click();
    await page.getByText(/MEMORY\.md has changed since in the lines of change/u).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "All changes" }).click();
    await page.locator(".change").nth(1).waitFor();
    await page.getByRole("button", { name: "Undo memory/2026-03-05.md:3" }).click();
    const lines = Array.from({ length: 51 }, (_, at) => (at === 0 ? "Rewritten." : `Line ${at}.`));
    for (const [at, text] of lines.slice(1).entries())
      await changeNote(ui, { path: "MEMORY.md", old: lines[at] ?? "", text });
    await ui.host.memory.sync({ reason: "test" });
    await page.locator(".change").nth(49).waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Undo: memory/2026-03-05.md" }).click();
    await page.getByText("Undone: memory/2026-03-05.md").waitFor();
  });
});
