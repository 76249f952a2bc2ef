import { type SearchMatch, weakConfidence } from "@memslot/core";
import type { Candidate } from "../rank.ts";
import type { WeightedTerm } from "../line-scores.ts";
import { namedTerms } from "./named-words.ts";

/** Chunks that are looked at: what an answer is made of stands in the first ones. */
const lookedAt = 12;
/** What a word is worth that stands in the line before or behind, in what the line stands under, or elsewhere in its chunk. */
const besideShare = 0.7;
const aboveShare = 0.9;
const elsewhereShare = 0.3;
/** What a line is worth where a name of the question stands beside it, or not there at all. */
const nameBeside = 0.8;
const nameAbsent = 0.4;
/** What is left where a name stands in nothing that is shown. */
const nameMissing = 0.3;
/** How much the words that stand in nothing that is shown take away. */
const missingShare = 0.5;
/** How steeply it falls where others than the one who is named say these words, and what is left at least. */
const otherSpeaker = 4;
const leastOfOthers = 0.2;
/** A pair of Chinese characters that stands nowhere is often none that anybody would write. */
const unknownPairShare = 0.3;

export interface MatchStrength {
  /** 0 to 1. */
  confidence: number;
  match: SearchMatch;
}

/**
 * How far what is shown answers a question, by its words: the greatest share of their weight that stands in one place (a line
 * with what it stands beside and under), less where a name of the question is not there, where words stand nowhere, and where
 * lines that others say hold more of it than those of whom the question names.
 */
export function matchStrength(input: {
  query: string;
  terms: readonly WeightedTerm[];
  /** How many chunks hold each term. */
  frequencies: readonly number[];
  candidates: readonly Candidate[];
  /** Whether the note of a candidate is in the answer. */
  isShown: (candidate: Candidate) => boolean;
}): MatchStrength {
  const { query, terms, frequencies } = input;
  const shown = input.candidates.slice(0, lookedAt).filter(input.isShown);
  if (shown.length === 0) return { confidence: 0, match: { level: "none" } };
  const named = namedTerms(query, terms);
  const weights = terms.map((term, index) => weightOf(term, frequencies[index] ?? 0));
  const total = weights.reduce((sum, weight) => sum + weight, 0) || 1;
  const places = shown.flatMap((candidate) => placesIn(candidate, terms, named));
  const seen = new Set(shown.flatMap(({ matches }) => [...matches.counts.keys()]));
  const absent = [...named].filter((index) => !seen.has(index));
  const missing = weights.reduce((sum, weight, index) => sum + (seen.has(index) ? 0 : weight), 0) / total;
  const best = places.reduce((most, place) => Math.max(most, worthOf(place, weights, named) / total), 0);
  const others = shareOfOthers(places, weights, named);
  const confidence = Math.min(1, best * (absent.length > 0 ? nameMissing : 1) * (1 - missingShare * missing) * others);
  return { confidence, match: judged({ confidence, absent, terms, others, missing }) };
}

function weightOf({ kind, idf, term }: WeightedTerm, frequency: number): number {
  if (kind === "whole") return 0;
  return kind === "pair" && frequency === 0 && /\p{Script=Han}/u.test(term) ? unknownPairShare * idf : idf;
}

/** A line, by the terms that stand in it and around it. */
interface Place {
  own: ReadonlySet<number>;
  beside: ReadonlySet<number>;
  above: ReadonlySet<number>;
  elsewhere: ReadonlySet<number>;
  /** Whether the one who says the line is named in the question; undefined where nobody is said to. */
  isNamedSpeaker: boolean | undefined;
}

const speaker = /^\s*(?:[-*+]\s+)?(?:\*\*)?([^:：]{1,40}?)(?:\*\*)?[:：]/u;

function placesIn({ lines, matches }: Candidate, terms: readonly WeightedTerm[], named: ReadonlySet<number>): Place[] {
  const all = new Set(matches.counts.keys());
  const inLines = new Set(matches.lines.flatMap(({ counts }) => [...counts.keys()]));
  const above = all.difference(inLines);
  const names = [...named].flatMap((index) => terms[index]?.written?.toLowerCase().replace(/['’]s?$/u, "") ?? []);
  const at = (index: number): ReadonlySet<number> => new Set(matches.lines[index]?.counts.keys());
  const places = matches.lines.flatMap(({ counts }, index): Place[] => {
    if (counts.size === 0) return [];
    const said = speaker.exec(lines[index] ?? "")?.[1]?.toLowerCase();
    const isNamedSpeaker =
      said === undefined || names.length === 0 ? undefined : names.some((name) => said.includes(name));
    const beside = at(index - 1).union(at(index + 1));
    return [{ own: new Set(counts.keys()), beside, above, elsewhere: all, isNamedSpeaker }];
  });
  // A note may be named like the question without a line that holds it.
  const none: ReadonlySet<number> = new Set();
  if (above.size > 0) places.push({ own: none, beside: none, above, elsewhere: all, isNamedSpeaker: undefined });
  return places;
}

function worthOf(place: Place, weights: readonly number[], named: ReadonlySet<number>): number {
  const { own, beside, above, elsewhere } = place;
  let worth = 0;
  for (const [index, weight] of weights.entries()) {
    const share = own.has(index)
      ? 1
      : above.has(index)
        ? aboveShare
        : beside.has(index)
          ? besideShare
          : elsewhere.has(index)
            ? elsewhereShare
            : 0;
    worth += share * weight;
  }
  for (const index of named)
    if (!own.has(index) && !above.has(index)) worth *= beside.has(index) ? nameBeside : nameAbsent;
  return worth;
}

/** 1 where the one who is named says most of it, less where others do. */
function shareOfOthers(places: readonly Place[], weights: readonly number[], named: ReadonlySet<number>): number {
  const total = weights.reduce((sum, weight) => sum + weight, 0) || 1;
  const most = (isNamed: boolean): number =>
    places
      .filter(({ isNamedSpeaker }) => isNamedSpeaker === isNamed)
      .reduce((best, { own }) => {
        const worth = weights.reduce(
          (sum, weight, index) => sum + (own.has(index) && !named.has(index) ? weight : 0),
          0,
        );
        return Math.max(best, worth / total);
      }, 0);
  const [theirs, others] = [most(true), most(false)];
  if (theirs === 0 || others === 0) return 1;
  return Math.min(1, Math.max(leastOfOthers, 1 + otherSpeaker * (theirs - others)));
}

function judged(found: {
  confidence: number;
  absent: readonly number[];
  terms: readonly WeightedTerm[];
  others: number;
  missing: number;
}): SearchMatch {
  const { confidence, absent, terms, others, missing } = found;
  if (absent.length > 0) {
    const words = absent.flatMap((index) =>
      JSON.stringify((terms[index]?.written ?? terms[index]?.term ?? "").replace(/['’]s?$/u, "")),
    );
    return { level: "none", reason: `none of these results holds ${[...new Set(words)].join(" or ")}` };
  }
  if (confidence >= weakConfidence) return { level: "strong" };
  if (others < 1) return { level: "weak", reason: "others than the one who is asked about say most of it" };
  if (missing > 0.5)
    return { level: "weak", reason: "most of the words that were asked for stand in none of these results" };
  return { level: "weak", reason: "the words that were asked for do not stand together in one place" };
}
