import { expect, test } from "vitest";
import { partnerQuality } from "./partner-quality.ts";
import { type Random, randomFrom } from "@memslot/test-tools/random";

/** 0 up to 1. */
function share(random: Random): number {
  return random.below(1_000_000) / 1_000_000;
}

const count = 32;

/** Vectors of unit length that know nothing of each other. */
function randomVectors(seed: number): Float32Array[] {
  const random = randomFrom(seed);
  return Array.from({ length: count }, () => {
    const vector = Float32Array.from({ length: 64 }, () => share(random) - 0.5);
    const length = Math.hypot(...vector);
    return vector.map((value) => value / length);
  });
}

test("vectors that always find the partner are worth as much as any can be", () => {
  const vectors = randomVectors(1);
  expect(partnerQuality(vectors, vectors)).toEqual({ quality: 1, weight: 0.15, pairs: count });
});

test("of 200 providers that know nothing at least 195 are worth nothing, and none is worth much", () => {
  const weights = Array.from(
    { length: 200 },
    (_, seed) => partnerQuality(randomVectors(2 * seed + 100), randomVectors(2 * seed + 101)).weight,
  );
  expect(weights.filter((weight) => weight === 0).length).toBeGreaterThanOrEqual(195);
  expect(Math.max(...weights)).toBeLessThan(0.02);
});

test("a provider that gives every text the same vector is worth nothing", () => {
  const same = Array.from({ length: count }, () => Float32Array.of(1, 0));
  expect(partnerQuality(same, same)).toMatchObject({ weight: 0 });
});

test("the weight rises with what is known", () => {
  const [meaning, noise, other] = [randomVectors(7), randomVectors(8), randomVectors(9)];
  const mixed = (beside: readonly Float32Array[], noisy: number): Float32Array[] =>
    meaning.map((vector, index) => {
      const sum = vector.map((value, at) => value + noisy * (beside[index]?.[at] ?? 0));
      const length = Math.hypot(...sum);
      return sum.map((value) => value / length);
    });
  const weights = [0.5, 1.5, 2.2, 6].map((noisy) => partnerQuality(mixed(noise, noisy), mixed(other, noisy)).weight);
  expect(weights).toEqual(weights.toSorted((a, b) => b - a));
  expect(weights[0]).toBe(0.15);
  expect(weights[1]).toBeGreaterThan(weights[2] ?? 1);
  expect(weights.at(-1)).toBeLessThan(0.03);
});
