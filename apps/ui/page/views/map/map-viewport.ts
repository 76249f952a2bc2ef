import type { MemoryMap } from "@memslot/core";
import { type ZoomTransform, zoomIdentity } from "d3-zoom";

/** Coordinates of points, -1 to 1. */
export type Places = Pick<MemoryMap, "x" | "y">;

/** The size of the picture in pixels, and how it is moved and zoomed. */
export interface Frame {
  width: number;
  height: number;
  zoom: ZoomTransform;
}

const margin = 24;
export const mostZoom = 60;

export function toPixels({ width, height, zoom }: Frame, x: number, y: number): [number, number] {
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

/** The point nearest to a pixel, within `most` pixels. */
export function pointAt({ x, y }: Places, frame: Frame, atX: number, atY: number, most: number): number | undefined {
  let best: number | undefined;
  let limit = most;
  for (let index = 0; index < x.length; index++) {
    const [pointX, pointY] = toPixels(frame, x[index] ?? 0, y[index] ?? 0);
    const distance = Math.hypot(pointX - atX, pointY - atY);
    if (distance <= limit) [best, limit] = [index, distance];
  }
  return best;
}
