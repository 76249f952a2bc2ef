import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { crc32, deflateSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { hasBrowser, openAt, type Pixels, pixelsOf, useBrowser } from "./support/browser.ts";
import { buildPage } from "./support/build-page.ts";
import { sampleNow, startSample } from "./support/sample-memory.ts";
import data from "./data/pictures.json" with { type: "json" };

interface Picture {
  file: string;
  place: string;
  look: "light" | "dark";
  language: string;
  /** Something that the view shows once it is complete. */
  shows: string;
  /** Selector of the element that is clicked first. */
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
      await page.emulateMedia({ colorScheme: look, reducedMotion: "reduce" });
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

const mostColours = 256;

/** A PNG with at most 256 colours, the most frequent ones: a third of what a browser writes. */
function smallPng({ width, height, rgb }: Pixels): Buffer {
  const counts = new Map<number, number>();
  for (let at = 0; at < rgb.length; at += 3) {
    const colour = rgb.readUIntBE(at, 3);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const palette = [...counts].toSorted((a, b) => b[1] - a[1]).slice(0, mostColours);
  const channels = (colour: number): number[] => [colour >> 16, (colour >> 8) & 255, colour & 255];
  const gap = (a: number, b: number): number =>
    channels(a).reduce((sum, value, at) => sum + (value - (channels(b)[at] ?? 0)) ** 2, 0);
  const indexes = new Map<number, number>();
  for (const colour of counts.keys()) {
    const nearest = palette.reduce(
      (best, [other], index) => (gap(other, colour) < best.gap ? { index, gap: gap(other, colour) } : best),
      { index: 0, gap: Infinity },
    );
    indexes.set(colour, nearest.index);
  }
  // Each row begins with its filter: none.
  const rows = Buffer.alloc((width + 1) * height);
  for (let at = 0; at < width * height; at++)
    rows[at + 1 + Math.floor(at / width)] = indexes.get(rgb.readUIntBE(3 * at, 3)) ?? 0;
  const head = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 3, 0, 0, 0]);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", head),
    chunk("PLTE", Buffer.from(palette.flatMap(([colour]) => channels(colour)))),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(name: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name), data]);
  const around = Buffer.alloc(8);
  around.writeUInt32BE(data.length, 0);
  around.writeUInt32BE(crc32(named), 4);
  return Buffer.concat([around.subarray(0, 4), named, around.subarray(4)]);
}
