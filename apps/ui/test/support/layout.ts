import { expect } from "vitest";
import { refine } from "../../page/views/map/umap-layout.ts";

export const dimensions = 16;

/** Heaps around centres that are far from each other, one point after the other of the next heap. */
export function heaps(count: number, of: number): Int8Array {
  let state = 3;
  const next = (): number => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32 - 0.5;
  return Int8Array.from({ length: count * dimensions }, (_, at) => {
    const heap = Math.floor(at / dimensions) % of;
    return Math.round((at % dimensions === heap ? 100 : 0) + 30 * next());
  });
}

/** Points are laid out beside those that they were near, the same each time. */
export function expectNeighbours(count: number): void {
  const values = heaps(count, 5);
  const [x, y] = [0, 1].map((axis) =>
    Array.from({ length: count }, (_, index) => (values[index * dimensions + axis] ?? 0) / 127),
  );
  const given = { values, dimensions, x: x ?? [], y: y ?? [] };
  const places = refine(given);
  if (places === undefined) throw new Error("no picture");
  expect([places.x.length, places.y.length]).toEqual([count, count]);
  for (const value of [...places.x, ...places.y]) expect(Math.abs(value)).toBeLessThanOrEqual(1);
  const distance = (a: number, b: number): number =>
    Math.hypot((places.x[a] ?? 0) - (places.x[b] ?? 0), (places.y[a] ?? 0) - (places.y[b] ?? 0));
  let apart = 0;
  for (let point = 0; point < 100; point++) {
    const others = Array.from({ length: count }, (_, index) => index).filter((index) => index !== point);
    const nearest = others.reduce((best, other) => (distance(point, other) < distance(point, best) ? other : best));
    if (nearest % 5 !== point % 5) apart++;
  }
  expect(apart).toBeLessThan(3);
  if (count < 1_000) expect(refine(given)).toEqual(places);
}
