import type { MemoryMap } from "@memslot/core";

/** The visible part of the map: its centre, and pixels per unit. The map is from -1 to 1. */
export interface Frame {
  x: number;
  y: number;
  scale: number;
  width: number;
  height: number;
}

const mostZoom = 200;
const margin = 16;

export function wholeFrame(width: number, height: number): Frame {
  return { x: 0, y: 0, scale: Math.max(1, Math.min(width, height) - 2 * margin) / 2, width, height };
}

/** Moves the view by this many pixels. */
export function panned(frame: Frame, byX: number, byY: number): Frame {
  const within = (value: number): number => Math.max(-1.2, Math.min(1.2, value));
  return { ...frame, x: within(frame.x - byX / frame.scale), y: within(frame.y - byY / frame.scale) };
}

/** Zooms by `factor` around this pixel. */
export function zoomed(frame: Frame, factor: number, atX: number, atY: number): Frame {
  const whole = wholeFrame(frame.width, frame.height).scale;
  const scale = Math.max(whole, Math.min(mostZoom * whole, frame.scale * factor));
  const [dx, dy] = [atX - frame.width / 2, atY - frame.height / 2];
  const moved = {
    ...frame,
    scale,
    x: frame.x + dx / frame.scale - dx / scale,
    y: frame.y + dy / frame.scale - dy / scale,
  };
  return panned(moved, 0, 0);
}

export function toPixels(frame: Frame, x: number, y: number): [number, number] {
  return [(x - frame.x) * frame.scale + frame.width / 2, (y - frame.y) * frame.scale + frame.height / 2];
}

/**
 * The points nearest to a pixel within `most` pixels, nearest first. A full scan of 50,000 takes under a millisecond.
 */
export function nearestPoints(
  { x, y }: Pick<MemoryMap, "x" | "y">,
  frame: Frame,
  [atX, atY]: readonly [number, number],
  { count, most }: { count: number; most: number },
): number[] {
  const [mapX, mapY] = [
    (atX - frame.width / 2) / frame.scale + frame.x,
    (atY - frame.height / 2) / frame.scale + frame.y,
  ];
  const limit = (most / frame.scale) ** 2;
  const found: { index: number; distance: number }[] = [];
  for (let index = 0; index < x.length; index++) {
    const distance = ((x[index] ?? 0) - mapX) ** 2 + ((y[index] ?? 0) - mapY) ** 2;
    const last = found[count - 1];
    if (distance > limit || (last !== undefined && distance >= last.distance)) continue;
    const at = found.findIndex((other) => distance < other.distance);
    found.splice(at < 0 ? found.length : at, 0, { index, distance });
    if (found.length > count) found.pop();
  }
  return found.map(({ index }) => index);
}
