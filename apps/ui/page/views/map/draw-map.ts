import { type ZoomTransform, zoomIdentity } from "d3-zoom";
import type { Group, Places } from "./map-groups.ts";

/** The size of the picture in pixels, and how it is moved and zoomed. */
export interface Frame {
  width: number;
  height: number;
  zoom: ZoomTransform;
}

const margin = 24;
/** Of a pointer, in pixels. */
const reach = 12;
export const mostZoom = 60;

function toPixels({ width, height, zoom }: Frame, x: number, y: number): [number, number] {
  const place = (length: number, at: number): number => length / 2 + at * Math.max(1, length / 2 - margin);
  return zoom.apply([place(width, x), place(height, y)]);
}

/** Shows points as large as they fit; without points, the whole map. A last tenth at the edge would make the others small. */
export function zoomTo(frame: Frame, { x, y }: Places, points: readonly number[]): ZoomTransform {
  const most = points.slice(0, Math.ceil(points.length * 0.9));
  const places = most.map((index) => toPixels({ ...frame, zoom: zoomIdentity }, x[index] ?? 0, y[index] ?? 0));
  if (places.length === 0) return zoomIdentity;
  const [atX, atY] = [places.map(([x0]) => x0), places.map(([, y0]) => y0)];
  const [left, right, top, bottom] = [Math.min(...atX), Math.max(...atX), Math.min(...atY), Math.max(...atY)];
  const fits = 0.8 * Math.min(frame.width / (right - left || 1), frame.height / (bottom - top || 1));
  return zoomIdentity
    .translate(frame.width / 2, frame.height / 2)
    .scale(Math.min(mostZoom, Math.max(1, fits)))
    .translate(-(left + right) / 2, -(top + bottom) / 2);
}

/** The point nearest to a pixel of the picture, if there is one near it. */
export function pointAt({ x, y }: Places, frame: Frame, atX: number, atY: number): number | undefined {
  const gaps = x.map((across, index) => {
    const [pointX, pointY] = toPixels(frame, across, y[index] ?? 0);
    return Math.hypot(pointX - atX, pointY - atY);
  });
  const nearest = gaps.indexOf(gaps.reduce((least, gap) => Math.min(least, gap), reach));
  return nearest < 0 ? undefined : nearest;
}

/** Words at a place of the map. */
export type Label = Pick<Group, "x" | "y"> & { text: string };

/** Draws points by kind in the colours `--group-0` and so on; the fewer and the nearer they are, the larger. */
export function drawPoints(canvas: HTMLCanvasElement, frame: Frame, places: Places, kinds: Uint8Array): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const { width, height } = canvas;
  const density = width / frame.width;
  // As pixels: without a graphics card, WebGL needs twice the time for 15,000.
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const values = Array.from({ length: Math.max(0, ...kinds) + 1 }, (_, kind) => pixelOf(canvas, `--group-${kind}`));
  const size = Math.max(3, Math.min(9, 110 / Math.sqrt(kinds.length))) + Math.sqrt(frame.zoom.k) / 2;
  const rows = dotRows((size * density) / 2);
  // In numbers, as arrays for each point take longer than the points.
  const [zeroX, zeroY] = toPixels(frame, 0, 0);
  const [oneX, oneY] = toPixels(frame, 1, 1);
  for (const [index, kind] of kinds.entries()) {
    const middleX = Math.round((zeroX + (oneX - zeroX) * (places.x[index] ?? 0)) * density);
    const middleY = Math.round((zeroY + (oneY - zeroY) * (places.y[index] ?? 0)) * density);
    for (const { dy, half } of rows) {
      const row = middleY + dy;
      if (row < 0 || row >= height) continue;
      const end = row * width + Math.min(width, middleX + half + 1);
      for (let at = row * width + Math.max(0, middleX - half); at < end; at++) pixels[at] = values[kind] ?? 0;
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

/** An opaque pixel in the colour of a token, as it is in the memory of an image. */
function pixelOf(element: HTMLElement, token: string): number {
  const [red = 0, green = 0, blue = 0] = (colourOf(element, token).match(/\d+/gu) ?? []).map(Number);
  return new Uint32Array(Uint8Array.of(red, green, blue, 255).buffer)[0] ?? 0;
}

/** A token such as `rgb(47, 111, 208)`: it is resolved for the colour scheme only as the value of a colour. */
function colourOf(element: HTMLElement, token: string): string {
  element.style.color = `var(${token})`;
  return getComputedStyle(element).color;
}

const font = "600 13px system-ui, sans-serif";
const lineHeight = 18;

/** Draws labels above the points, the first ones first: what would cover another label is not drawn. */
export function drawLabels(canvas: HTMLCanvasElement, frame: Frame, labels: readonly Label[]): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  context.setTransform(canvas.width / frame.width, 0, 0, canvas.height / frame.height, 0, 0);
  Object.assign(context, { font, textAlign: "center", lineWidth: 4, lineJoin: "round" });
  context.strokeStyle = colourOf(canvas, "--ground");
  context.fillStyle = colourOf(canvas, "--text");
  const taken: { x: number; y: number; half: number }[] = [];
  for (const { text, ...at } of labels) {
    const half = context.measureText(text).width / 2 + 4;
    const [pointX, y] = toPixels(frame, at.x, at.y);
    if (text === "" || pointX < 0 || y < 0 || pointX > frame.width || y > frame.height) continue;
    const x = Math.min(Math.max(pointX, half), frame.width - half);
    if (taken.some((other) => Math.abs(other.x - x) < other.half + half && Math.abs(other.y - y) < lineHeight))
      continue;
    taken.push({ x, y, half });
    context.strokeText(text, x, y - 8);
    context.fillText(text, x, y - 8);
  }
}
