import type { ScoreParts } from "@memslot/core";
import type { Candidate } from "./rank.ts";

/**
 * What the score of a candidate, as it is shown, is made of. All parts are of the same sign and add up to it, together with
 * what a reranker has changed. `shown` is the score of the result where that is a further passage of its note.
 */
export function scorePartsOf(candidate: Candidate, isOnlyTime: boolean, shown?: number): ScoreParts {
  const { score, placeScore, places } = candidate;
  const whole = placeScore ?? score;
  const scale = shown === undefined || whole === 0 ? 1 : shown / whole;
  const { words, names, dates, meaning } = partsOf(candidate, isOnlyTime);
  const parts = { words: words * scale, names: names * scale, dates: dates * scale, meaning: meaning * scale };
  return places ? { ...parts, rerank: { ...places, change: (whole - score) * scale } } : parts;
}

function partsOf({ score, shares, timeMatch, ...candidate }: Candidate, isOnlyTime: boolean): ScoreParts {
  // A note of the very time that is asked for has its score for that alone.
  if (isOnlyTime && timeMatch > 0) return { words: 0, names: 0, dates: score, meaning: 0 };
  const weight = shares.words + shares.names + shares.dates;
  if (weight === 0) {
    const isByVector = candidate.vectorScore !== undefined;
    return { words: isByVector ? 0 : score, names: 0, dates: 0, meaning: isByVector ? score : 0 };
  }
  const meaning = Math.min(candidate.meaning, score);
  const each = (score - meaning) / weight;
  return { words: each * shares.words, names: each * shares.names, dates: each * shares.dates, meaning };
}
