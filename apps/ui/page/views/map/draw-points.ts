import type { MemoryMap } from "@memslot/core";
import { type Frame, toPixels, unitOf } from "./map-viewport.ts";

export interface PointLook {
  /** Pixels of the page. */
  size: number;
  /** Such as `rgb(47, 111, 208)`, by kind. */
  colours: readonly string[];
}

/** Where the points of a map were before they moved, and how far they have moved: 0 to 1. */
export interface Move {
  from: Pick<MemoryMap, "x" | "y">;
  part: number;
}

/** Draws all points as pixels: without a graphics card, WebGL needs twice the time for 15,000. */
export function drawPoints(
  canvas: HTMLCanvasElement,
  frame: Frame,
  { x, y }: Pick<MemoryMap, "x" | "y">,
  kinds: Uint8Array,
  { size, colours }: PointLook,
  { from, part }: Move,
): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const { width, height } = canvas;
  const density = width / frame.width;
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const values = colours.map((colour) => pixelOf(colour));
  const rows = dotRows((size * density) / 2);
  // In numbers, as arrays for each point take longer than the points.
  const [zeroX, zeroY] = toPixels(frame, 0, 0);
  const unit = frame.zoom.k * unitOf(frame);
  for (let index = 0; index < x.length; index++) {
    const goalX = x[index] ?? 0;
    const goalY = y[index] ?? 0;
    const fromX = from.x[index] ?? goalX;
    const fromY = from.y[index] ?? goalY;
    const middleX = Math.round((zeroX + unit * (fromX + (goalX - fromX) * part)) * density);
    const middleY = Math.round((zeroY + unit * (fromY + (goalY - fromY) * part)) * density);
    const value = values[kinds[index] ?? 0] ?? 0;
    for (const { dy, half } of rows) {
      const row = middleY + dy;
      if (row < 0 || row >= height) continue;
      const end = row * width + Math.min(width, middleX + half + 1);
      for (let at = row * width + Math.max(0, middleX - half); at < end; at++) pixels[at] = value;
    }
  }
  context.putImageData(image, 0, 0);
}

/** The rows of a filled circle: distance from the middle, and half of the width. */
function dotRows(radius: number): { dy: number; half: number }[] {
  const most = Math.ceil(radius - 0.5);
  return Array.from({ length: 2 * most + 1 }, (_, at) => {
    const dy = at - most;
    return { dy, half: Math.round(Math.sqrt(Math.max(0, radius ** 2 - dy ** 2)) - 0.5) };
  });
}

/** An opaque pixel, as it is in the memory of an image. */
function pixelOf(colour: string): number {
  const [red = 0, green = 0, blue = 0] = (colour.match(/\d+/gu) ?? []).map(Number);
  return new Uint32Array(Uint8Array.of(red, green, blue, 255).buffer)[0] ?? 0;
}
