import { expect, test } from "vitest";
import { highestCosine, toInt8 } from "./int8.ts";
import { kinds, randomFrom, vectorsOf } from "../../test/support/vectors.ts";

function cosine(left: ArrayLike<number>, right: ArrayLike<number>): number {
  let [dot, leftSquares, rightSquares] = [0, 0, 0];
  for (let index = 0; index < left.length; index++) {
    dot += (left[index] ?? 0) * (right[index] ?? 0);
    leftSquares += (left[index] ?? 0) ** 2;
    rightSquares += (right[index] ?? 0) ** 2;
  }
  return dot / Math.sqrt(leftSquares * rightSquares);
}

function numbersOf(bytes: Buffer): number[] {
  return [...new Int8Array(bytes)];
}

test("the largest number of a vector takes the whole range, whichever sign it has and however small it is", () => {
  expect(numbersOf(toInt8(Float32Array.of(0.5, -0.25, 0)).bytes)).toEqual([127, -64, 0]);
  expect(numbersOf(toInt8(Float32Array.of(0.1, -0.2)).bytes)).toEqual([64, -127]);
  expect(numbersOf(toInt8(Float32Array.of(-1e-38, 1e-38)).bytes)).toEqual([-127, 127]);
});

test("the angle is the one between the vector and its rounded form", () => {
  for (const vector of vectorsOf("clustered", 50, 30, randomFrom(1))) {
    const { bytes, angle } = toInt8(vector);
    expect(Math.cos(angle)).toBeCloseTo(cosine(vector, numbersOf(bytes)), 12);
    expect(angle).toBeGreaterThan(0.001);
  }
  expect(toInt8(Float32Array.of(127, -3)).angle).toBeLessThan(1e-7);
});

test.each(kinds)("of %s vectors, no cosine is higher than rounding leaves open", (kind) => {
  const random = randomFrom(7);
  for (const dimensions of [2, 8, 64, 768]) {
    const vectors = vectorsOf(kind, dimensions, 40, random).map((vector) => ({ vector, ...toInt8(vector) }));
    for (const left of vectors) {
      for (const right of vectors) {
        const rounded = Math.fround(cosine(numbersOf(left.bytes), numbersOf(right.bytes)));
        const highest = highestCosine(rounded, left.angle + right.angle, dimensions);
        expect(cosine(left.vector, right.vector)).toBeLessThanOrEqual(highest + 1e-12);
      }
    }
  }
});

test("what is left open is no more than the two angles and the loss of single precision", () => {
  expect(highestCosine(0.5, 0, 768)).toBeCloseTo(0.5, 3);
  expect(highestCosine(Math.cos(1), 0.25, 8)).toBeCloseTo(Math.cos(0.75), 5);
  expect(highestCosine(0.999, 0.5, 8)).toBe(1);
  expect(highestCosine(-1, 0, 8)).toBeLessThan(-0.999);
});
