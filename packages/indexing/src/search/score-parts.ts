import type { ScoreParts } from "@memslot/core";
import type { Candidate } from "./rank.ts";

type Scored = Pick<
  Candidate,
  "score" | "textScore" | "vectorScore" | "keywordWeight" | "nameWeight" | "timeWeight" | "timeMatch"
>;

/**
 * Deals a score out to what it comes from. The order of results is that of `t + rate × (cosine - mean)`, t being the keyword
 * score, which is that of a sum of weights: each has the share of the score that it has of this, and what lies below the mean has none.
 */
export function partsOf(
  { score, textScore = 0, vectorScore, keywordWeight, nameWeight, timeWeight, timeMatch }: Scored,
  { isOnlyTime, meaning }: { isOnlyTime: boolean; meaning: { mean: number; rate: number } | undefined },
): ScoreParts {
  if (isOnlyTime && timeMatch > 0) return { words: 0, names: 0, times: score, meaning: 0 };
  const above = meaning === undefined || vectorScore === undefined ? 0 : Math.max(0, vectorScore - meaning.mean);
  const nearness = above === 0 ? 0 : (meaning?.rate ?? 0) * above;
  const all = textScore + nearness;
  // Found by meaning alone, and not nearer than usual.
  if (all === 0) return { words: 0, names: 0, times: 0, meaning: score };
  const ofMeaning = nearness === Infinity ? score : (score * nearness) / all;
  const rest = score - ofMeaning;
  const [names, times] = keywordWeight > 0 ? [nameWeight / keywordWeight, timeWeight / keywordWeight] : [0, 0];
  return { words: rest * Math.max(0, 1 - names - times), names: rest * names, times: rest * times, meaning: ofMeaning };
}

/** The same of a score that is so much lower or higher. */
export function scaledParts(parts: ScoreParts, factor: number): ScoreParts {
  const { words, names, times, meaning } = parts;
  return { words: words * factor, names: names * factor, times: times * factor, meaning: meaning * factor };
}
