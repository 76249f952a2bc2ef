import type { MemoryMap } from "@memslot/core";
import { type ZoomTransform, zoomIdentity } from "d3-zoom";

/** The size of the picture in pixels, and how it is moved and zoomed. The map is from -1 to 1. */
export interface Frame {
  width: number;
  height: number;
  zoom: ZoomTransform;
}

const margin = 24;

/** Pixels per unit of the map before it is zoomed. */
export function unitOf({ width, height }: Pick<Frame, "width" | "height">): number {
  return Math.max(1, Math.min(width, height) / 2 - margin);
}

export function toPixels(frame: Frame, x: number, y: number): [number, number] {
  const unit = unitOf(frame);
  return frame.zoom.apply([frame.width / 2 + x * unit, frame.height / 2 + y * unit]);
}

/** Shows these points as large as they fit, at most `mostZoom` times; without points, the whole map. */
export function zoomTo(frame: Frame, { x, y }: MemoryMap, points: readonly number[], mostZoom: number): ZoomTransform {
  const places = points.map((index) => toPixels({ ...frame, zoom: zoomIdentity }, x[index] ?? 0, y[index] ?? 0));
  if (places.length === 0) return zoomIdentity;
  const [left, right, top, bottom] = [0, 1].flatMap((axis) => {
    const values = places.map((place) => place[axis] ?? 0);
    return [Math.min(...values), Math.max(...values)];
  }) as [number, number, number, number];
  const room = 0.8 * Math.min(frame.width / (right - left || 1), frame.height / (bottom - top || 1));
  return zoomIdentity
    .translate(frame.width / 2, frame.height / 2)
    .scale(Math.min(mostZoom, Math.max(1, room)))
    .translate(-(left + right) / 2, -(top + bottom) / 2);
}

/** The point nearest to a pixel, within `most` pixels. */
export function pointAt(
  { x, y }: MemoryMap,
  frame: Frame,
  [atX, atY]: [number, number],
  most: number,
): number | undefined {
  let best: number | undefined;
  let limit = most ** 2;
  for (let index = 0; index < x.length; index++) {
    const [pointX, pointY] = toPixels(frame, x[index] ?? 0, y[index] ?? 0);
    const distance = (pointX - atX) ** 2 + (pointY - atY) ** 2;
    if (distance > limit) continue;
    best = index;
    limit = distance;
  }
  return best;
}
