import type { WeightedTerm } from "../line-scores.ts";
import type { Candidate } from "../rank.ts";
import type { AskedTerms } from "./places.ts";

/** How the terms of a question are spread over the notes that are shown. */
export interface Scattering {
  /** What the terms weigh that stand in other notes than the one which holds most, and not in that one. */
  weight: number;
  /** No two words of the question stand in one note, and more than one in all of them. */
  isApart: boolean;
}

export function scattering(
  shown: readonly Candidate[],
  terms: readonly WeightedTerm[],
  { weights, ofTime }: AskedTerms,
): Scattering {
  const termsIn = (candidates: readonly Candidate[]): number[] => [
    ...new Set(candidates.flatMap(({ matches }) => [...matches.counts.keys()])),
  ];
  const weigh = (held: readonly number[]): number => held.reduce((sum, index) => sum + (weights[index] ?? 0), 0);
  const wordsOf = (held: readonly number[]): number =>
    held.filter((index) => terms[index]?.kind === "word" && terms[index].role === undefined && !ofTime.has(index))
      .length;
  const notes = Map.groupBy(shown, ({ row }) => JSON.stringify([row.source, row.path]));
  const byNote = [...notes.values()].map(termsIn);
  const all = termsIn(shown);
  return {
    weight: weigh(all) - Math.max(...byNote.map(weigh)),
    isApart: wordsOf(all) > 1 && byNote.every((held) => wordsOf(held) < 2),
  };
}
