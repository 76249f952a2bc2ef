import { crc32, deflateSync } from "node:zlib";
import type { Page } from "playwright-core";
import data from "../data/browser.json" with { type: "json" };

export interface Pixels {
  width: number;
  height: number;
  /** Red, green, blue of each. */
  rgb: Buffer;
}

/** Decodes a PNG in the browser. */
export async function pixelsOf(page: Page, png: Buffer): Promise<Pixels> {
  const read = `(${data.readPixels.join("\n")})("${png.toString("base64")}")`;
  const { rgb, ...size } = await page.evaluate<{ width: number; height: number; rgb: string }>(read);
  return { ...size, rgb: Buffer.from(rgb, "base64") };
}

const mostColours = 256;

/** A PNG with at most 256 colours, the most frequent ones: a third of what a browser writes. */
export function smallPng({ width, height, rgb }: Pixels): Buffer {
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
