import { cosineOf } from "./fuse.ts";

/** What a provider that always finds the partner earns, and the most that one can. */
const weightPerQuality = 0.25;
export const mostWeight = 0.15;
/** Standard errors of chance that a quality has to be above 0 before it counts. */
const errorsOfChance = 3;

/** How well vectors tell which texts belong together, and what they are worth for it. */
export interface MeasuredWeight {
  /** Mean reciprocal rank of the partner beyond that of chance, 1 where it is always the nearest; 0 and below: chance. */
  quality: number;
  /** What one deviation of cosine is worth, in keyword scores. */
  weight: number;
  pairs: number;
}

/**
 * Looks for the partner of each text among all texts of the other side, both ways. The weight is
 * `0.25 × (quality - 3 standard errors of chance)`, at least 0 and at most 0.15.
 */
export function partnerQuality(sentences: readonly Float32Array[], rests: readonly Float32Array[]): MeasuredWeight {
  const pairs = sentences.length;
  const similarity = sentences.map((sentence) => rests.map((rest) => cosineOf(sentence, rest)));
  const ranks = similarity.flatMap((row, index) => [
    1 / rankIn(row, index),
    1 /
      rankIn(
        similarity.map((other) => other[index] ?? 0),
        index,
      ),
  ]);
  const { mean: chance, deviation } = ofChance(pairs);
  const quality = (mean(ranks) - chance) / (1 - chance);
  const error = deviation / Math.sqrt(ranks.length) / (1 - chance);
  const weight = Math.min(mostWeight, Math.max(0, weightPerQuality * (quality - errorsOfChance * error)));
  return { quality, weight, pairs };
}

/** The place of a value among all, from 1; those that are equal share the places that they take. */
function rankIn(values: readonly number[], own: number): number {
  const value = values[own] ?? 0;
  const above = values.filter((other) => other > value).length;
  const equal = values.filter((other) => other === value).length;
  return above + (equal + 1) / 2;
}

/** Mean and deviation of `1 / rank` where every rank from 1 to `count` is as likely. */
function ofChance(count: number): { mean: number; deviation: number } {
  const ranks = Array.from({ length: count }, (_, index) => 1 / (index + 1));
  const usual = mean(ranks);
  return { mean: usual, deviation: Math.sqrt(mean(ranks.map((value) => (value - usual) ** 2))) };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}
