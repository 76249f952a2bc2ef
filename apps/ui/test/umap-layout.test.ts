import { expect, test } from "vitest";
import { groupsOf } from "../page/views/map/map-groups.ts";
import { refine } from "../page/views/map/umap-layout.ts";

const dimensions = 16;

/** Heaps around centres that are far from each other, one point after the other of the next heap. */
function heaps(count: number, of: number): Int8Array {
  let state = 3;
  const next = (): number => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32 - 0.5;
  return Int8Array.from({ length: count * dimensions }, (_, at) => {
    const heap = Math.floor(at / dimensions) % of;
    return Math.round((at % dimensions === heap ? 100 : 0) + 30 * next());
  });
}

// Of more than 2,000, a part is laid out and the others are placed beside them.
test.each([200, 2_100])("%i points are laid out beside those that they were near, the same each time", (count) => {
  const values = heaps(count, 5);
  const [x, y] = [0, 1].map((axis) =>
    Array.from({ length: count }, (_, index) => (values[index * dimensions + axis] ?? 0) / 127),
  );
  const given = { values, x: x ?? [], y: y ?? [] };
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
  expect(refine(given)).toEqual(places);
});

test("a few points are not laid out, and points that are all one are", () => {
  const alike = { x: Array<number>(40).fill(0), y: Array<number>(40).fill(0) };
  expect(refine({ values: heaps(10, 2), x: alike.x.slice(30), y: alike.y.slice(30) })).toBeUndefined();
  expect(refine({ values: new Int8Array(), ...alike })).toBeUndefined();
  const places = refine({ values: new Int8Array(40 * dimensions), ...alike });
  expect(places?.x.every((value) => Number.isFinite(value))).toBe(true);
});

test("points stay near the first layout", () => {
  const heap = (at: number): number => at % 3;
  const first = {
    x: Array.from({ length: 90 }, (_, at) => [-1, 1, 1][heap(at)] ?? 0),
    y: Array.from({ length: 90 }, (_, at) => [-1, -1, 1][heap(at)] ?? 0),
  };
  const places = refine({ values: heaps(90, 3), ...first });
  const middle = (of: readonly number[] = [], wanted: number): number =>
    of.filter((_, at) => heap(at) === wanted).reduce((sum, value) => sum + value / 30, 0);
  // The corner at the right angle is farthest from each of the others along one axis only.
  expect(middle(places?.x, 1)).toBeGreaterThan(middle(places?.x, 0));
  expect(middle(places?.y, 2)).toBeGreaterThan(middle(places?.y, 0));
});

test("points are split into their heaps, the largest first, and equal points into one", () => {
  const at = (index: number): number => (index < 60 ? 0 : index < 90 ? 1 : 2);
  const noise = (index: number): number => ((index * 37) % 11) / 50;
  const x = Array.from({ length: 100 }, (_, index) => ([-0.8, 0.7, 0.7][at(index)] ?? 0) + noise(index));
  const y = Array.from({ length: 100 }, (_, index) => ([0, -0.8, 0.6][at(index)] ?? 0) + noise(index + 5));
  const groups = groupsOf({ x, y });
  expect(groups.map(({ members }) => members.length)).toEqual([60, 30, 10]);
  expect(groups[2]?.members.every((index) => index >= 90)).toBe(true);
  expect(groupsOf({ x: x.map(() => 0.5), y: y.map(() => 0.5) }).map(({ members }) => members.length)).toEqual([100]);
  expect(groupsOf({ x: [0, 1], y: [0, 1] })).toEqual([]);
});
