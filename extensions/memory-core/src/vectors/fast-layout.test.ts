import { expect, test } from "vitest";
import { ask, layOut, sameAnswers } from "../test/layouts.ts";

// The other lengths are in `fast-layout.long.test.ts`.
sameAnswers([
  [8, 6000],
  [384, 1200],
]);

test("of more equal vectors than it can list, it does not choose", () => {
  const bench = layOut(Array.from({ length: 9000 }, () => Float32Array.of(0.6, 0.8)));
  const answer = ask(bench, Float32Array.of(1, 0), 3);
  expect(answer.fast).toBeUndefined();
  expect(answer.exact.map(({ id }) => id)).toEqual([1, 2, 3]);
});

test("a query that rounding turns does not lead to wrong answers where the vectors themselves are not turned", () => {
  // Whole numbers, which rounding leaves alone, all at nearly the same angle to the first axis.
  const near = (square: number): boolean => Math.abs(square - 10_000) < 50;
  const vectors: Float32Array[] = [];
  for (let x = -102; x <= 102; x += 2)
    for (let y = -102; y <= 102; y += 2)
      for (let z = -102; z <= 102; z += 3) if (near(x * x + y * y + z * z)) vectors.push(Float32Array.of(127, x, y, z));
  expect(vectors.length).toBeGreaterThan(5000);
  const answer = ask(layOut(vectors), Float32Array.of(1, 0.003, 0.002, -0.001), 24);
  expect(answer.fast ?? answer.exact).toEqual(answer.exact);
});

test("vectors of any length and size are laid out by their direction", () => {
  const bench = layOut([
    Float32Array.of(3e-30, 4e-30),
    Float32Array.of(3e15, -4e15),
    Float32Array.of(-1, 1e-9),
    Float32Array.of(1e-20, 7),
  ]);
  const answer = ask(bench, Float32Array.of(0.1, 0.9), 4);
  expect(answer.fast?.map(({ id }) => id)).toEqual(answer.exact.map(({ id }) => id));
  expect(answer.fast).toHaveLength(4);
});
