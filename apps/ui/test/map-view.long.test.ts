import type { MemoryMap } from "@memslot/core";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { hasBrowser, openAt, useBrowser } from "./support/browser.ts";
import { buildPage } from "./support/build-page.ts";
import { expectNeighbours } from "./support/layout.ts";
import { startUi } from "./support/ui-server.ts";
import given from "./data/map-view.json" with { type: "json" };

const notes = Object.fromEntries(
  Array.from({ length: 30 }, (_, index) => [
    `memory/2026-03-${String(index + 1).padStart(2, "0")}.md`,
    ["The boiler in the cellar hums.", "The bread dough rests.", "The ferry lies at the pier."][index % 3] +
      ` Number ${index}.\n`,
  ]),
);

interface Picture {
  text: string;
  /** A pixel that has something on it, as CSS counts them in the canvas. */
  painted?: { x: number; y: number };
}

/** Runs in the page, two frames after the last change. */
const readCanvas = given.readCanvas.join("\n");

async function pictureOf(page: Page): Promise<Picture> {
  return await page.evaluate<Picture>(readCanvas);
}

/** Reads of two frames each that show the same where nothing is still to be drawn: what a page tells is drawn a few frames later. */
const settledReads = 6;

/** The picture once there is one, and it stays. */
async function firstPicture(page: Page): Promise<Picture> {
  let picture = await pictureOf(page);
  let same = 0;
  await expect
    .poll(
      async () => {
        const next = await pictureOf(page);
        same = next.painted !== undefined && next.text === picture.text ? same + 1 : 0;
        picture = next;
        return same;
      },
      { timeout: 20_000, interval: 1 },
    )
    .toBeGreaterThanOrEqual(settledReads);
  return picture;
}

/** The picture once it is another one than this, or once it is `wanted`. */
async function pictureAfter(page: Page, before: string, wanted?: string): Promise<string> {
  let text = before;
  await expect
    .poll(
      async () => {
        ({ text } = await pictureOf(page));
        return wanted === undefined ? text !== before : text === wanted;
      },
      { timeout: 20_000 },
    )
    .toBe(true);
  return text;
}

/** As many points as are drawn smoothly, without notes behind them. */
function largeMap(count: number): MemoryMap {
  const at = (index: number, factor: number): number => Math.sin(index * factor) * Math.cos(index * 0.37);
  return {
    by: "meaning",
    passages: count,
    notes: Array.from({ length: 500 }, (_, index) => ({
      path: `memory/${index}.md`,
      source: "memory",
      day: "2026-03-05",
    })),
    note: Array.from({ length: count }, (_, index) => index % 500),
    startLine: Array.from({ length: count }, (_, index) => index + 1),
    endLine: Array.from({ length: count }, (_, index) => index + 2),
    x: Array.from({ length: count }, (_, index) => at(index, 1.7)),
    y: Array.from({ length: count }, (_, index) => at(index, 2.3)),
  };
}

buildPage();
useBrowser();

describe.skipIf(!hasBrowser)("the map", () => {
  test("draws the passages, tells of one under the pointer and what is near it, and opens it", async () => {
    const { page, complaints } = await openAt(await startUi({ notes }), "/map");
    await page.getByText("30 of 30 passages").waitFor();
    await page.getByText("This is the finer picture.").waitFor();
    const { painted } = await firstPicture(page);
    const box = await page.locator("canvas").boundingBox();
    if (painted === undefined || box === null) throw new Error("nothing is drawn");
    await page.mouse.move(box.x + painted.x, box.y + painted.y);
    const card = page.locator("section.card");
    await card
      .getByRole("heading", { level: 2 })
      .getByRole("link", { name: /^memory\/2026-03-\d\d\.md:1-1$/u })
      .waitFor();
    await card.locator("ol > li").first().waitFor();
    expect(await card.locator("ol > li").count()).toBe(8);
    await page.mouse.move(0, 0);
    await page.mouse.click(box.x + painted.x, box.y + painted.y);
    await page.mouse.move(0, 0);
    await card.locator("ol > li a").first().click();
    await page
      .getByText(/Number \d+\./u)
      .first()
      .waitFor();
    expect(new URL(page.url()).pathname).toMatch(/^\/notes\/memory\/2026-03-\d\d\.md$/u);
    expect(complaints.lines).toEqual([]);
  });

  test("is drawn at once, and finer after a while", async () => {
    const { page } = await openAt(await startUi({ notes }), "/search");
    let release: (() => void) | undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    await page.route(/dimensions=/u, async (route) => {
      await held;
      await route.continue();
    });
    await page.getByRole("link", { name: "Map" }).click();
    await page.getByText("A finer picture is being made …").waitFor();
    const { text: first } = await firstPicture(page);
    release?.();
    await page.getByText("This is the finer picture.").waitFor();
    expect(await pictureAfter(page, first)).not.toBe(first);
    expect(await page.locator(".map-list").getByRole("button").count()).toBe(12);
  });

  test("is moved and enlarged by keys and by the wheel, and shown whole again", async () => {
    const { page } = await openAt(await startUi({ notes }), "/map");
    await page.getByText("30 of 30 passages").waitFor();
    await page.getByText("This is the finer picture.").waitFor();
    const { text: whole } = await firstPicture(page);
    let now = whole;
    await page.getByRole("group", { name: /^The passages as points/u }).focus();
    for (const key of ["+", "ArrowLeft"]) {
      await page.keyboard.press(key);
      now = await pictureAfter(page, now);
    }
    await page.keyboard.press("0");
    now = await pictureAfter(page, now, whole);
    const box = await page.locator("canvas").boundingBox();
    await page.mouse.move((box?.x ?? 0) + 200, (box?.y ?? 0) + 200);
    await page.mouse.wheel(0, -600);
    now = await pictureAfter(page, whole);
    await page.getByRole("button", { name: "Show all" }).click();
    await page.mouse.move(0, 0);
    expect(await pictureAfter(page, now, whole)).toBe(whole);
  });

  test("can be read without a pointer: the points in the middle are a list", async () => {
    const { page } = await openAt(await startUi({ notes }), "/map");
    const list = page.locator(".map-list");
    await list.getByRole("button").first().waitFor();
    expect(await list.getByRole("button").count()).toBe(12);
    await list.getByRole("button").first().focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Near it" }).waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page
      .getByText(/Number \d+\./u)
      .first()
      .waitFor();
  });

  test("shows where a question stands, and colours by age", async () => {
    const { page } = await openAt(await startUi({ notes }), "/map");
    await page.getByText("30 of 30 passages").waitFor();
    await page.getByText("This is the finer picture.").waitFor();
    const { text: plain } = await firstPicture(page);
    await page.getByRole("searchbox").fill("ferry at the pier");
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await page.getByText("The circle is where the question stands.").waitFor();
    await page.getByText("This is the finer picture.").waitFor();
    const asked = await pictureAfter(page, plain);
    await page.getByLabel("Colour by").selectOption("age");
    expect(await page.locator(".legend li").count()).toBe(5);
    await pictureAfter(page, asked);
    const address = new URL(page.url());
    expect([address.searchParams.get("q"), address.searchParams.get("by")]).toEqual(["ferry at the pier", "age"]);
  });

  test("draws 20,000 points, and each move of a drag moves them", async () => {
    const ui = await startUi({ notes });
    const { page, complaints } = await openAt(ui, "/health");
    await page.route(/\/api\/map(?:\?|$)/u, (route) => route.fulfill({ json: largeMap(20_000) }));
    await page.goto(`${ui.origin}/map`);
    await page.getByText("20,000 of 20,000 passages").waitFor();
    const box = await page.locator("canvas").boundingBox();
    if (box === null) throw new Error("there is no picture");
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    let now = (await firstPicture(page)).text;
    await page.mouse.move(x, y);
    await page.mouse.wheel(0, -800);
    now = await pictureAfter(page, now);
    await page.mouse.down();
    for (let step = 1; step <= 20; step++) {
      await page.mouse.move(x + 3 * step, y + 2 * step);
      now = await pictureAfter(page, now);
    }
    await page.mouse.up();
    expect(complaints.lines).toEqual([]);
  });

  test("says what to do where there is nothing to draw", async () => {
    const { page } = await openAt(await startUi({ notes: {} }), "/map");
    await page.getByText("There is no passage yet").waitFor();
    expect(await page.locator("canvas").count()).toBe(0);
  });
});

test("4,500 points are laid out beside those that they were near", () => expectNeighbours(4_500), 300_000);
