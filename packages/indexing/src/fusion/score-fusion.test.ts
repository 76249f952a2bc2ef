import { describe, expect, test } from "vitest";
import { createFusion, type FusionWeights, type MeaningScale, scaleOfRows, spreadOf } from "./score-fusion.ts";
import { type Random, randomFrom, randomSentence } from "@memslot/test-tools/random";
import { createHash } from "node:crypto";
import { partnerPairs, partnerQuality } from "./vector-weight.ts";
import { scanTerms } from "../text/index-terms.ts";
import data from "./test/fuse.json" with { type: "json" };

/** 0 up to 1. */
function share(random: Random): number {
  return random.below(1_000_000) / 1_000_000;
}

const usual: FusionWeights = { vector: 0.7, text: 0.3 };
const scale: MeaningScale = { mean: 0.3, deviation: 0.1, weight: 0.05 };

describe("a score", () => {
  test("has the order of t + w × z, is over 0 and under 1, and ties with no other", () => {
    const random = randomFrom(11);
    for (let round = 0; round < 60; round++) {
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

function chunkOf(text: string): { hash: string; text: string } {
  return { hash: createHash("sha256").update(text).digest("hex"), text };
}

function termsOf(text: string): Set<string> {
  const terms = new Set<string>();
  scanTerms(text, (term) => void terms.add(term));
  return terms;
}

test("no word stands on both sides, in any of 100 pairs", () => {
  const random = randomFrom(2);
  const chunks = Array.from({ length: 120 }, () =>
    chunkOf(Array.from({ length: 6 }, () => `- ${randomSentence(random, 14)}.`).join("\n")),
  );
  const pairs = partnerPairs(chunks, 1000);
  expect(pairs.length).toBeGreaterThan(50);
  for (const { sentence, rest } of pairs)
    expect([...termsOf(sentence).intersection(termsOf(rest))], `${sentence} | ${rest}`).toEqual([]);
});

test("a sentence is taken out of Chinese as well, and pairs are no longer than they may be", () => {
  const text =
    "昨天在书店买了新的电脑和一本书。电视机坏了，图书馆的老师打来电话。书包里有一台旧电脑。店里的脑力游戏很新。";
  const [pair] = partnerPairs([chunkOf(text)], 1);
  expect(text).toContain(pair?.sentence);
  expect([...termsOf(pair?.sentence ?? "").intersection(termsOf(pair?.rest ?? ""))]).toEqual([]);
  expect([...(pair?.rest ?? "")].filter((sign) => /\p{L}/u.test(sign) && pair?.sentence.includes(sign))).toEqual([]);
  const long = Array.from({ length: 8 }, (_, line) =>
    Array.from({ length: 200 }, (_, word) => `word${line}x${word}`).join(" "),
  ).join("\n");
  for (const { sentence, rest } of partnerPairs([chunkOf(long)], 1))
    expect([sentence.length, rest.length]).toEqual([400, 400]);
});

test("what is one sentence, or says the same twice, or nothing, gives none", () => {
  const texts = data.withoutSpread;
  expect(partnerPairs(texts.map(chunkOf), 10)).toEqual([]);
});

describe("the quality of a provider", () => {
  const count = 32;

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

  test("of 60 providers that know nothing at least 58 are worth nothing, and none is worth much", () => {
    const weights = Array.from(
      { length: 60 },
      (_, seed) => partnerQuality(randomVectors(2 * seed + 100), randomVectors(2 * seed + 101)).weight,
    );
    expect(weights.filter((weight) => weight === 0).length).toBeGreaterThanOrEqual(58);
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
});
