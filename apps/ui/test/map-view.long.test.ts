import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { hasBrowser, openAt, pixelsOf, useBrowser } from "./support/browser.ts";
import { buildPage } from "./support/build-page.ts";
import { startUi } from "./support/ui-server.ts";

const topics = ["The boiler in the cellar hums.", "The bread dough rests.", "The ferry lies at the pier."];
const notes = Object.fromEntries(
  Array.from({ length: 30 }, (_, index) => [
    `memory/${index % 2 === 0 ? "house/" : ""}2026-03-${String(index + 1).padStart(2, "0")}.md`,
    `${index < 5 ? "---\ntags: [night]\n---\n" : ""}${topics[index % 3]} Number ${index}.\n`,
  ]),
);

/** The picture as people see it, and its coloured pixels. */
async function pictureOf(page: Page) {
  const png = await page.locator(".map-picture").screenshot({ animations: "disabled" });
  const { width, rgb } = await pixelsOf(page, png);
  const painted = [...rgb.keys()].flatMap((at) => {
    const colour = at % 3 === 0 ? rgb.subarray(at, at + 3) : [0];
    if (Math.max(...colour) - Math.min(...colour) <= 60) return [];
    return { x: (at / 3) % width, y: Math.floor(at / 3 / width) };
  });
  return { text: png.toString("base64"), painted };
}

/** The picture once two in a row are equal, and it is another one than before, or the wanted one. */
async function settled(page: Page, { not = "", wanted }: { not?: string; wanted?: string } = {}) {
  let last = await pictureOf(page);
  await expect
    .poll(
      async () => {
        const before = last;
        last = await pictureOf(page);
        const isExpected = wanted === undefined ? last.text !== not : last.text === wanted;
        return last.painted.length > 0 && before.text === last.text && isExpected;
      },
      { timeout: 30_000 },
    )
    .toBe(true);
  return last;
}

/** A point in the middle, which can be dragged in each direction. */
async function pointIn(page: Page, painted: { x: number; y: number }[]) {
  const point = painted[Math.floor(painted.length / 2)];
  const box = await page.locator(".map-picture").boundingBox();
  if (point === undefined || box === null) throw new Error("nothing is drawn");
  return { x: box.x + point.x, y: box.y + point.y };
}

const groups = (page: Page) => page.getByRole("list", { name: "Groups" }).locator("summary");

async function openMap(): Promise<Awaited<ReturnType<typeof openAt>>> {
  const opened = await openAt(await startUi({ notes }), "/map");
  await opened.page.getByText("30 of 30 passages").waitFor();
  await opened.page.getByText("The layout is final.").waitFor();
  await groups(opened.page).filter({ hasText: "·" }).first().waitFor();
  return opened;
}

buildPage();
useBrowser();

describe.skipIf(!hasBrowser)("the map", () => {
  test("names its groups by the words that tell them apart, colours folders or tags, and opens a passage", async () => {
    const { page, complaints } = await openMap();
    const names = await groups(page).allTextContents();
    for (const word of ["boiler", "dough", "ferry"])
      expect(names.filter((name) => name.includes(word))).toHaveLength(1);
    expect(names.join()).not.toContain("number");
    const legend = () => page.getByRole("list", { name: "Colours" }).getByRole("listitem").allTextContents();
    expect((await legend()).toSorted()).toEqual([" memory", " memory/house"]);
    const { text, painted } = await settled(page);
    const { x, y } = await pointIn(page, painted);
    await page.getByLabel("Colours by").selectOption("tag");
    await expect.poll(legend).toEqual([" night", " others"]);
    await settled(page, { not: text });
    expect(page.url()).toContain("by=tag");
    await page.mouse.click(x, y);
    await page
      .getByText(/Number \d+\./u)
      .first()
      .waitFor();
    expect(new URL(page.url()).pathname).toMatch(/^\/notes\/memory\/(?:house\/)?2026-03-\d\d\.md$/u);
    expect(complaints.lines).toEqual([]);
  });

  test("is moved and zoomed by keys, the wheel and a drag, and shown whole again", async () => {
    const { page } = await openMap();
    const { text: whole, painted } = await settled(page);
    const { x, y } = await pointIn(page, painted);
    let now = whole;
    await page.getByRole("group", { name: /^Passages as points/u }).focus();
    for (const key of ["+", "ArrowLeft"]) {
      await page.keyboard.press(key);
      now = (await settled(page, { not: now })).text;
    }
    await page.keyboard.press("0");
    // The ring of the focus is part of the picture.
    await page.getByRole("button", { name: "Show all" }).focus();
    await settled(page, { wanted: whole });
    await page.mouse.move(x, y);
    await page.mouse.wheel(0, -600);
    now = (await settled(page, { not: now })).text;
    await page.mouse.down();
    await page.mouse.move(x + 80, y + 40, { steps: 4 });
    await page.mouse.up();
    now = (await settled(page, { not: now })).text;
    expect(new URL(page.url()).pathname).toBe("/map");
    await page.getByRole("button", { name: "Show all" }).click();
    await page.mouse.move(0, 0);
    await settled(page, { wanted: whole });
  });

  test("can be used without a pointer: a group is opened by its name, and its passages are a list", async () => {
    const { page } = await openMap();
    const { text: whole } = await settled(page);
    await groups(page).filter({ hasText: "ferry" }).focus();
    await page.keyboard.press("Enter");
    await settled(page, { not: whole });
    const passages = page.getByRole("list", { name: "Groups" }).getByRole("link");
    expect(await passages.count()).toBe(10);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page
      .getByText(/ferry lies at the pier/u)
      .first()
      .waitFor();
  });
});
