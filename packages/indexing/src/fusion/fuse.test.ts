import { describe, expect, test } from "vitest";
import { createFusion, type FusionWeights, type MeaningScale, scaleOfRows, spreadOf } from "./fuse.ts";
import { type Random, randomFrom } from "@memslot/test-tools/random";

/** 0 up to 1. */
function share(random: Random): number {
  return random.below(1_000_000) / 1_000_000;
}

const usual: FusionWeights = { vector: 0.7, text: 0.3 };
const scale: MeaningScale = { mean: 0.3, deviation: 0.1, weight: 0.05 };

describe("a score", () => {
  test("has the order of t + w × z, is over 0 and under 1, and ties with no other", () => {
    const random = randomFrom(11);
    for (let round = 0; round < 200; round++) {
      const own: MeaningScale = {
        mean: share(random) - 0.3,
        deviation: 0.01 + share(random) / 4,
        weight: [0.001, 0.02, 0.05, 0.15][round % 4] ?? 0,
      };
      const fuse = createFusion(usual, own, -1);
      const found = Array.from({ length: 60 }, (_, index) => {
        const cosine = 2 * share(random) - 1;
        const textScore = index % 3 === 0 ? 0 : share(random);
        const sum = textScore + own.weight * ((cosine - own.mean) / own.deviation);
        return { sum, score: fuse({ cosine, textScore, exact: false }) };
      }).toSorted((a, b) => a.sum - b.sum);
      for (const [index, { score }] of found.entries()) {
        expect(score).toBeGreaterThan(found[index - 1]?.score ?? 0);
        expect(score).toBeLessThan(1);
      }
    }
  });

  test("of meaning alone is the share of the vector times the cosine, whatever the weight and the spread", () => {
    for (const weight of [0, 0.01, 0.15])
      for (const [mean, deviation] of [
        [0.1, 0.02],
        [0.8, 0.05],
      ] as const)
        for (const cosine of [0.1, 0.49, 0.5, 0.9, 1]) {
          const fuse = createFusion(usual, { mean, deviation, weight }, -1);
          expect(fuse({ cosine, textScore: undefined, exact: false })).toBeCloseTo(0.7 * cosine, 12);
        }
  });

  test("is that of words alone where the share of the vector is 0, and the cosine where that of the text is", () => {
    const words = createFusion({ vector: 0, text: 1 }, scale, 0);
    const meaning = createFusion({ vector: 1, text: 0 }, scale, 0);
    for (const cosine of [-1, 0.2, 1])
      for (const textScore of [0.05, 0.5, 0.99]) {
        expect(words({ cosine, textScore, exact: false })).toBe(textScore);
        if (cosine > 0.1) expect(meaning({ cosine, textScore, exact: false })).toBe(cosine);
      }
  });

  test("of a weight of 0 lets no vector come before a word", () => {
    const fuse = createFusion(usual, { ...scale, weight: 0 }, 0);
    const nearest = fuse({ cosine: 1, textScore: undefined, exact: false });
    const words = [0.01, 0.2, 0.9].map((textScore) => fuse({ cosine: -1, textScore, exact: false }));
    expect([nearest, ...words]).toEqual([nearest, ...words].toSorted((a, b) => a - b));
    expect(fuse({ cosine: 1, textScore: 0.2, exact: false })).toBe(words[1]);
  });

  test("follows the configured ratio: twice the share of meaning is twice the weight", () => {
    const order = (shares: FusionWeights, weight: number): number[] => {
      const fuse = createFusion(shares, { ...scale, weight }, 0);
      const random = randomFrom(5);
      const scores = Array.from({ length: 40 }, () =>
        fuse({ cosine: share(random), textScore: share(random), exact: false }),
      );
      return [...scores.keys()].toSorted((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0));
    };
    expect(order({ vector: 14 / 17, text: 3 / 17 }, 0.05)).toEqual(order(usual, 0.1));
    expect(order(usual, 0.05)).not.toEqual(order(usual, 0.1));
  });
});

describe("what the vector leg did not give", () => {
  test("counts as usual, or as far as the last that it gave", () => {
    const words = { textScore: 0.4, exact: false };
    const unseen = (lowest: number): number => createFusion(usual, scale, lowest)({ ...words, cosine: undefined });
    const seen = (cosine: number): number => createFusion(usual, scale, 0)({ ...words, cosine });
    expect(unseen(0.6)).toBe(seen(scale.mean));
    expect(unseen(0.1)).toBe(seen(0.1));
  });

  test("is no reason for NaN where it gave nothing at all", () => {
    const fuse = createFusion(usual, scaleOfRows([]), Infinity);
    expect(fuse({ cosine: undefined, textScore: 0.5, exact: false })).toBeGreaterThan(0.5);
    expect(fuse({ cosine: undefined, textScore: undefined, exact: false })).toBeLessThan(0.1);
  });
});

test("an exact find keeps at least its keyword score, and its vector does not move it down", () => {
  for (const shares of [usual, { vector: 1, text: 0 }, { vector: 0.99, text: 0.01 }, { vector: 0, text: 1 }])
    for (const cosine of [undefined, -0.9, 0.2])
      for (const weight of [0.03, 0.15]) {
        const fuse = createFusion(shares, { ...scale, weight }, -0.5);
        const score = fuse({ cosine, textScore: 0.6, exact: true });
        expect(score).toBeGreaterThanOrEqual(0.6);
        expect(score).toBe(fuse({ cosine: scale.mean, textScore: 0.6, exact: true }));
      }
});

describe("a scale", () => {
  test("is the mean and the deviation of the cosines with a sample", () => {
    const sample = [Float32Array.of(1, 0), Float32Array.of(0, 1), Float32Array.of(-1, 0), Float32Array.of(0, -1)];
    const { mean, deviation } = spreadOf(Float32Array.of(1, 0), sample);
    expect([mean, deviation]).toEqual([0, Math.sqrt(0.5)]);
  });

  test("of vectors that are all alike leaves the order to the words", () => {
    const same = scaleOfRows([{ score: 0.9 }, { score: 0.9 }, { score: 0.9 }]);
    const fuse = createFusion(usual, same, 0.9);
    const scores = [0.9, 0.5, 0.2].map((textScore) => fuse({ cosine: 0.9, textScore, exact: false }));
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
  });
});
