import { describe, expect, test } from "vitest";
import data from "./data/views.json" with { type: "json" };
import { hasBrowser, openAt, useBrowser } from "./support/browser.ts";
import { buildPage } from "./support/build-page.ts";
import { startUi } from "./support/ui-server.ts";

buildPage();
useBrowser();

/** By address: something that the view shows of the notes. */
const shown = data.shown as Readonly<Record<string, string>>;

describe.skipIf(!hasBrowser)("each view", () => {
  test("opens without an error and shows what the notes have", async () => {
    const ui = await startUi({ notes: data.notes });
    const { page, complaints } = await openAt(ui, "/");
    for (const [place, text] of Object.entries(shown)) {
      await page.goto(ui.origin + place);
      await page.locator("main").getByText(text).first().waitFor();
      expect([place, complaints.lines]).toEqual([place, []]);
    }
  });

  test("is opened by its key, and the palette opens a note", async () => {
    const { page } = await openAt(await startUi({ notes: data.notes }), "/");
    await page.getByRole("heading", { level: 1 }).waitFor();
    const places: string[] = [];
    // The search takes the focus, and then a figure is text.
    for (const key of ["3", "1", "2"]) {
      await page.keyboard.press(key);
      places.push(new URL(page.url()).pathname);
    }
    expect(places).toEqual(["/notes", "/", "/search"]);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("heat");
    await page.getByRole("option", { name: /^Heat pump/u }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/notes\/memory\/house\/pump\.md$/u);
  });
});
