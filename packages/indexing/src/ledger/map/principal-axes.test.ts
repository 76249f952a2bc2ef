import { describe, expect, test } from "vitest";
import { axesIn, axesText, placeOf, principalAxes } from "./principal-axes.ts";
import { wordVector } from "./word-vector.ts";

/** Numbers that look like chance, and are the same each time. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32 - 0.5;
  };
}

/** Three heaps of vectors around centres that are far from each other. */
function heaps(dimensions: number): { heap: number; vector: Float32Array }[] {
  const next = numbers(7);
  return Array.from({ length: 300 }, (_, index) => {
    const heap = index % 3;
    const vector = Float32Array.from({ length: dimensions }, (_x, at) => (at % 3 === heap ? 1 : 0) + 0.2 * next());
    return { heap, vector };
  });
}

describe("a plane through vectors", () => {
  test.each([3, 96, 768])("keeps heaps of %i dimensions apart: what is near was near", (dimensions) => {
    const all = heaps(dimensions);
    const axes = principalAxes(all.map(({ vector }) => vector));
    const places = all.map(({ heap, vector }) => ({ heap, place: placeOf(vector, axes) }));
    const distance = ([ax, ay]: readonly number[], [bx, by]: readonly number[]): number =>
      Math.hypot((ax ?? 0) - (bx ?? 0), (ay ?? 0) - (by ?? 0));
    for (const { heap, place } of places) {
      const others = places.filter((other) => other.place !== place);
      const nearest = others.toSorted((a, b) => distance(a.place, place) - distance(b.place, place))[0];
      expect(nearest?.heap).toBe(heap);
      expect(Math.max(...place.map(Math.abs))).toBeLessThanOrEqual(1);
    }
  });

  test("is the same for the same vectors, and can be kept as a text", () => {
    const vectors = heaps(48).map(({ vector }) => vector);
    const axes = principalAxes(vectors);
    expect(principalAxes(vectors)).toEqual(axes);
    expect(axesIn(axesText(axes), 48)).toEqual(axes);
    for (const [text, dimensions] of [
      [axesText(axes), 47],
      ["{}", 48],
      ["no JSON", 48],
    ] as const)
      expect(axesIn(text, dimensions)).toBeUndefined();
  });

  test("puts vectors that are all alike in the middle, and one alone too", () => {
    const one = Float32Array.of(1, 2, 3);
    for (const sample of [[one], [one, one, one]]) expect(placeOf(one, principalAxes(sample))).toEqual([0, 0]);
  });
});

test("texts with the same words have near vectors, others have not, and no word is no direction", () => {
  const cosine = (a: string, b: string): number => {
    const [left, right] = [wordVector(a), wordVector(b)];
    return left.reduce((sum, value, at) => sum + value * (right[at] ?? 0), 0);
  };
  const boiler = "The boiler in the cellar is serviced each autumn.";
  expect(cosine(boiler, "Each autumn the boiler of the cellar needs its service.")).toBeGreaterThan(0.4);
  expect(Math.abs(cosine(boiler, "Bread dough rests overnight under cloth"))).toBeLessThan(0.35);
  expect(cosine("厨房的水龙头漏水", "水龙头在厨房漏水了")).toBeGreaterThan(0.4);
  expect([...wordVector("… !")].every((value) => value === 0)).toBe(true);
});
