import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { hasBrowser, openAt, useBrowser } from "./support/browser.ts";
import { buildPage } from "./support/build-page.ts";
import { pixelsOf, smallPng } from "./support/png-pixels.ts";
import { sampleNow, startSample } from "./support/sample-memory.ts";
import data from "./data/pictures.json" with { type: "json" };

interface Picture {
  file: string;
  place: string;
  look: "light" | "dark";
  language: string;
  /** Something that the view shows once it is complete. */
  shows: string;
  /** What is clicked first, as a selector. */
  click?: string;
}

const root = path.join(import.meta.dirname, "../../..");
const folder = path.join(root, "docs/images");
const pictures = data.pictures as readonly Picture[];
const mostBytes = 120_000;

buildPage();
useBrowser();

describe.skipIf(!hasBrowser)("the pictures of the documentation", () => {
  // `MEMSLOT_PICTURES=update` writes them.
  test("show the views as they are", async () => {
    const ui = await startSample();
    const { page, complaints } = await openAt(ui, "/", { timezoneId: "UTC", viewport: { width: 1200, height: 760 } });
    await page.clock.install({ time: sampleNow });
    for (const { file, place, look, language, shows, click } of pictures) {
      await page.emulateMedia({ colorScheme: look });
      await page.evaluate(`localStorage.setItem("memslot-language", "${language}")`);
      await page.goto(ui.origin + place);
      if (click !== undefined) await page.locator(click).first().click();
      await page.locator("main").getByText(shows).first().waitFor();
      await expect.poll(() => page.locator(".loading").count()).toBe(0);
      expect([file, complaints.lines]).toEqual([file, []]);
      if (process.env["MEMSLOT_PICTURES"] !== "update") continue;
      // The folder of a test has another name each time.
      await page.getByText(ui.host.config.stateDir).evaluateAll((all: { textContent: string }[]) => {
        for (const each of all) each.textContent = each.textContent.replace(/^.*\/state\//u, "~/.memslot/");
      });
      const png = await page.screenshot({ animations: "disabled", caret: "hide" });
      writeFileSync(path.join(folder, file), smallPng(await pixelsOf(page, png)));
    }
  });
});

test("each picture in the documentation has a view, and each view its picture", () => {
  const pages = ["README.md", "README.zh-CN.md", ...readdirSync(path.join(root, "docs")).map((name) => `docs/${name}`)];
  const texts = pages.filter((name) => name.endsWith(".md")).map((name) => readFileSync(path.join(root, name), "utf8"));
  const named = [...texts.join("\n").matchAll(/images\/([\w-]+\.png)\)/gu)].map(([, name]) => name);
  const files = pictures.map(({ file }) => file).toSorted();
  expect([...new Set(named)].toSorted()).toEqual(files);
  expect(readdirSync(folder).toSorted()).toEqual(files);
  for (const file of files) expect([file, statSync(path.join(folder, file)).size > mostBytes]).toEqual([file, false]);
});
