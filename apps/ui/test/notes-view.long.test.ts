import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { hasBrowser, openAt, useBrowser } from "./support/browser.ts";
import { buildPage } from "./support/build-page.ts";
import { startUi } from "./support/ui-server.ts";

const pump = "memory/house/pump.md";
const notes: Record<string, string> = {
  "MEMORY.md": "# Facts\n\nSee [[pump]] and [the log](memory/2026-03-05.md), and [[nothing]].\n",
  "memory/2026-03-05.md": "# Ferry\n\nThe ferry leaves at nine.\n",
  [pump]: "---\ntags: [house]\n---\n# Heat pump\n\nOne.\n\nTwo.\n\n- [ ] open\n\n| a | b |\n| - | -: |\n| 1 | 2 |\n",
  "memory/links.md": `# Links\n\n- [x] done\n\n[x] no task, ![plan](https://example.org/a)\n\n${"[[nothing]]\n".repeat(500)}[[2026-03-05]]\n`,
  "elsewhere.md": "Outside.\n",
};

buildPage();
useBrowser();

describe.skipIf(!hasBrowser)("the notes", () => {
  test("are a tree that keys go through; they open with lines, passages and links, at the lines of a citation", async () => {
    const { page, complaints } = await openAt(await startUi({ notes }), "/notes");
    const tree = page.getByRole("tree");
    await tree.getByRole("treeitem", { name: "Heat pump" }).waitFor();
    await tree.focus();
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "MEMORY.md" }).waitFor();
    expect(await page.getByRole("list", { name: "Pinned" }).getByRole("link").allTextContents()).toEqual(["MEMORY.md"]);
    await page.getByRole("link", { name: "pump", exact: true }).click();
    await page.getByRole("list", { name: "Front matter" }).getByText("house", { exact: true }).waitFor();
    await page.getByText("MEMORY.md:3").waitFor();
    expect(await page.getByRole("img", { name: /^passage, lines 4 to/u }).count()).toBe(1);
    // The library names the first 500 links of a note.
    await page.getByRole("treeitem", { name: "Links" }).click();
    await page.locator(".rendered a.missing").nth(499).waitFor();
    await page.locator(".rendered").getByRole("link", { name: "2026-03-05" }).waitFor();
    const signs = page.locator(".rendered :is([role=img][aria-label=done], a.image[href])");
    expect(await signs.allTextContents()).toEqual(["☑", "image: plan · https://example.org/a"]);

    await page.getByLabel("Filter, or path#L12-L14").fill(`${pump}#L6-L8`);
    await page.waitForURL(/pump\.md\?line=6-8/u);
    await expect.poll(() => page.locator(".asked").allTextContents()).toEqual(["6One.\n", "8Two.\n"]);
    await page.getByRole("link", { name: "Excluded files" }).click();
    await page.getByText('elsewhere.md outside MEMORY.md and memory/ (memorySearch.notes: "all" adds it)').waitFor();
    expect(complaints.lines).toEqual([]);
  });

  test("are changed in the editor, which keeps drafts and merges changes on disk", async () => {
    const ui = await startUi({ notes });
    const file = path.join(ui.workspaceDir, pump);
    const { page, complaints } = await openAt(ui, `/notes/${pump}?edit=1`);
    const field = page.getByLabel("Text of the note");
    const change = async (from: string, to: string): Promise<void> => {
      await field.getByText(from, { exact: true }).click();
      await page.keyboard.press("Home");
      await page.keyboard.press("Shift+End");
      await page.keyboard.insertText(to);
    };
    await field.getByText("One.", { exact: true }).waitFor();
    await page.route("**/file", (put) => put.fulfill({ status: 409, json: { error: { code: "BUSY" } } }), { times: 1 });
    await page.keyboard.press("Control+s");
    await page.getByRole("alert").getByText("Another action is running.").waitFor();
    // Letters that are typed while a save runs belong to the next one.
    await page.route("**/file", (route) => change("One.", "Mine.").then(() => route.continue()), { times: 1 });
    await page.keyboard.press("Control+s");
    await field.getByText("Mine.", { exact: true }).waitFor();
    await page.keyboard.press("Control+s");
    await page.locator(".rendered").getByText("Mine.", { exact: true }).waitFor();
    expect(readFileSync(file, "utf8")).toBe(notes[pump]?.replace("One.", "Mine."));

    // Single keys are text, and the draft outlives the page.
    await page.keyboard.press("e");
    await change("Two.", "My two, see ");
    await page.keyboard.type("[[ferr");
    await page.getByRole("option", { name: /^Ferry/u }).waitFor();
    await page.keyboard.press("Enter");
    await field.getByText("My two, see [[2026-03-05]]").waitFor();
    await page.reload();
    await field.getByText("My two, see [[2026-03-05]]").waitFor();
    await page.getByRole("treeitem", { name: /Heat pump.*unsaved/u }).waitFor();

    writeFileSync(file, readFileSync(file, "utf8").replace("Mine.", "Theirs."));
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("alert", { name: "This note changed on disk" }).waitFor();
    expect(readFileSync(file, "utf8")).toMatch(/Theirs\.[^]*Two\./u);
    await page.getByRole("button", { name: "Merge" }).click();
    await field.locator(".cm-changedLine").first().waitFor();
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator(".rendered").getByText("My two", { exact: false }).waitFor();
    expect(readFileSync(file, "utf8")).toMatch(/Theirs\.[^]*My two, see \[\[2026-03-05\]\]\n/u);

    await page.keyboard.press("e");
    await change("Theirs.", "Nothing to keep.");
    await page.getByRole("button", { name: "Discard" }).click();
    await page.getByRole("button", { name: `Discard: ${pump}` }).click();
    await page.locator(".rendered").getByText("Theirs.").waitFor();
    expect(complaints.lines).toEqual([]);
  });

  test("are created, renamed and moved to the trash by keyboard", async () => {
    const ui = await startUi({ notes });
    const { page, complaints } = await openAt(ui, "/notes");
    await page.getByRole("treeitem", { name: "Heat pump" }).waitFor();
    await page.keyboard.press("n");
    await page.keyboard.type("garden/Beans");
    await page.keyboard.press("Enter");
    const field = page.getByLabel("Text of the note");
    await field.getByText("# Beans").waitFor();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("Sown in May.");
    await page.keyboard.press("Control+s");
    await page.locator(".rendered").getByText("Sown in May.").waitFor();
    expect(readFileSync(path.join(ui.workspaceDir, "memory/garden/Beans.md"), "utf8")).toBe("# Beans\n\nSown in May.");

    await page.goto(`${ui.origin}/notes/${pump}`);
    await page.getByRole("button", { name: "Rename" }).click();
    await page.getByText("1 link leads to this note. It is not rewritten:").waitFor();
    await page.getByLabel("Path, relative to the workspace").fill("memory/heating.md");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "memory/heating.md" }).waitFor();
    expect(existsSync(path.join(ui.workspaceDir, pump))).toBe(false);

    await page.getByRole("button", { name: "Move to trash" }).click();
    await page.getByRole("button", { name: "Move to trash: memory/heating.md" }).click();
    await page.waitForURL(`${ui.origin}/notes`);
    expect(existsSync(path.join(ui.workspaceDir, "memory/heating.md"))).toBe(false);
    await page.keyboard.press("n");
    await page.keyboard.type("heating");
    await page.keyboard.press("Enter");
    await field.getByText("# heating").waitFor();
    await page.goto(`${ui.origin}/notes/${pump}`);
    await page.getByText("Note not found").waitFor();
    expect(complaints.lines).toEqual([]);
  });
});
