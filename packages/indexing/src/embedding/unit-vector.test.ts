import { EmbeddingError } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { unitVector, unitVectors } from "./unit-vector.ts";

const free = { id: "p" };

function length(vector: Float32Array): number {
  return Math.hypot(...vector);
}

function problem(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe("a vector", () => {
  test.each([
    ["plain", [3, 4]],
    ["unit already", [0.6, 0.8]],
    ["negative", [-3, -4]],
    ["huge, whose squares are beyond a number", [3e300, 4e300]],
    ["tiny, whose squares are nothing", [3e-300, 4e-300]],
    ["smallest there is", [5e-324, 0]],
    ["huge beside tiny", [1e300, 1e-300]],
  ])("is scaled to length 1: %s", (_, numbers) => {
    const unit = unitVector(numbers, free);
    expect(unit).toBeInstanceOf(Float32Array);
    expect(length(unit)).toBeCloseTo(1, 6);
    expect(Math.sign(unit[0] ?? 0)).toBe(Math.sign(numbers[0] ?? 0));
  });

  test("keeps its direction, whatever kind of list it is", () => {
    for (const numbers of [[3, 4], Float32Array.of(3, 4), Float64Array.of(3e200, 4e200), { length: 2, 0: 3, 1: 4 }]) {
      const [x, y] = unitVector(numbers, free);
      expect(x).toBeCloseTo(0.6, 6);
      expect(y).toBeCloseTo(0.8, 6);
    }
  });

  test.each([
    ["not finite", [1, Number.NaN], /^p gave a vector with a number that is not finite: NaN$/],
    ["not finite", [1, Number.POSITIVE_INFINITY], /that is not finite: Infinity$/],
    ["not finite", [1, null] as unknown as number[], /that is not finite: null$/],
    ["not finite", ["1", "2"] as unknown as number[], /that is not finite: 1$/],
    ["all zero", [0, -0, 0], /^p gave a vector that is all zero$/],
    ["empty", [], /^p gave a vector that is empty$/],
  ])("that is %s is refused: %j", (_, numbers, words) => {
    const error = problem(() => unitVector(numbers, free));
    expect(EmbeddingError.is(error, "transient")).toBe(true);
    expect((error as Error).message).toMatch(words);
  });

  test("has the size that the provider states", () => {
    const error = problem(() =>
      unitVector(Array.from({ length: 512 }).fill(1) as number[], { id: "p", dimensions: 768 }),
    );
    expect((error as Error).message).toBe("p gave a vector of 512 numbers where 768 were expected");
  });
});

describe("an answer", () => {
  test("has one vector for each text", () => {
    const error = problem(() => unitVectors([[1], [1], [1]], 4, free));
    expect(EmbeddingError.is(error, "transient")).toBe(true);
    expect((error as Error).message).toBe("p gave 3 vectors for 4 texts");
    expect((problem(() => unitVectors([[1], [1]], 1, free)) as Error).message).toBe("p gave 2 vectors for 1 text");
    expect(unitVectors([[2], [-1]], 2, free)).toEqual([Float32Array.of(1), Float32Array.of(-1)]);
  });

  test("has vectors of one size", () => {
    const error = problem(() => unitVectors([[1, 2], [1]], 2, free));
    expect((error as Error).message).toBe("p gave a vector of 1 number where 2 were expected");
  });
});
