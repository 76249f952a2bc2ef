import { type SearchMatch, weakConfidence } from "@memslot/core";
import type { MeaningScale } from "../../fusion/fuse.ts";
import { queryTerms } from "../../text/query-terms.ts";
import type { Candidate } from "../rank.ts";
import { type WeightedTerm, matchLines } from "../line-scores.ts";
import { isWrittenApart, maybeNames, type NamedTerms, namedTerms, withoutPossessive } from "./named-words.ts";
import { type AskedTerms, bestPlace } from "./places.ts";
import { mostWeight } from "../../fusion/partner-quality.ts";
import { anyOf } from "../../text/languages/languages.ts";
import { isQuestion, sentenceEnd } from "../passages/pieces.ts";

/** Chunks that are looked at: what an answer is made of stands in the first ones. */
const lookedAt = 12;
/** What is left where a name stands in nothing that is shown. */
const nameMissing = 0.3;
/** How much the words that stand in nothing that is shown take away. */
const missingShare = 0.5;
/** What is left where each note holds one word of the question and none holds two. */
const apartShare = 0.6;
/** What is left where a word that may be a name stands in no note. */
const maybeNameMissing = 0.6;
/** How much words take away that stand in other notes than the one which holds most of them. */
const scatterShare = 0.5;
/** A pair of Chinese characters that stands nowhere is often none that anybody would write. */
const unknownPairShare = 0.3;

export interface MatchStrength {
  /** 0 to 1. */
  confidence: number;
  match: SearchMatch;
}

/** What the question asks for, and what was found of it. */
export interface MatchInput {
  query: string;
  /** The times that the question names, as they stand in it. */
  periods: readonly { text: string }[];
  terms: readonly WeightedTerm[];
  /** How many chunks hold each term. */
  frequencies: readonly number[];
  /** How the cosines of the candidates are read. Absent: they have none. */
  scale?: MeaningScale | undefined;
  candidates: readonly Candidate[];
  /** Whether the note of a candidate is in the answer. */
  isShown: (candidate: Candidate) => boolean;
}

/**
 * How far what is shown answers a question, by its words: the greatest share of their weight that stands in one place (a line
 * with what it stands beside and under), less where a name of the question is not there, where words stand nowhere, and where
 * more of it is said of others than of the one who is named. What is near enough in meaning is an answer in other words,
 * unless a name is missing.
 */
export function matchStrength(input: MatchInput): MatchStrength {
  const { terms } = input;
  const first = input.candidates.slice(0, lookedAt).filter(input.isShown);
  // In an order of days what is shown may be none of the best.
  const shown = first.length > 0 ? first : input.candidates.filter(input.isShown).slice(0, lookedAt);
  if (shown.length === 0) return { confidence: 0, match: { level: "none" } };
  const { asked: all, unsure, wholes } = askedTerms(input);
  const { weights, ofTime } = all;
  const total = weights.reduce((sum, weight) => sum + weight, 0) || 1;
  const held = shown.map(({ matches }) => matches.counts);
  const seen = new Set(held.flatMap((counts) => [...counts.keys()]));
  // A note may write it as two words.
  const named = new Set([...all.named].filter((index) => seen.has(index) || !isWrittenApart(index, terms, held)));
  const asked = { ...all, named };
  const time = Math.max(...shown.map(({ timeMatch }) => timeMatch));
  const shareMissing = (index: number): number => (seen.has(index) ? 0 : ofTime.has(index) ? 1 - time : 1);
  const missing = weights.reduce((sum, weight, index) => sum + shareMissing(index) * weight, 0) / total;
  const said = shareSaidOf(shown, terms, asked);
  const meaning = said * strengthOfMeaning(shown, input.scale);
  const absent = [...named].filter((index) => !seen.has(index) && !(meaning > 0 && unsure.has(index)));
  const { weight: elsewhere, isApart } = scattering(shown, terms, asked);
  const scattered = elsewhere / total;
  const unknown = maybeNames(input.query, terms, input.frequencies);
  const words =
    (bestPlace(shown, asked) / total) *
    (1 - missingShare * missing) *
    (1 - scatterShare * scattered) *
    (isApart ? apartShare : 1) *
    (unknown.size > 0 ? maybeNameMissing : 1) *
    said;
  const confidence = Math.min(1, absent.length > 0 ? nameMissing * words : Math.max(words, meaning));
  if (absent.length > 0) return { confidence, match: { level: "none", reason: absenceOf(absent, terms, wholes) } };
  if (confidence >= weakConfidence) return { confidence, match: { level: "strong" } };
  return { confidence, match: { level: "weak", reason: whyWeak({ said, missing, meaning, unknown, scattered }) } };
}

function askedTerms({
  query,
  periods,
  terms,
  frequencies,
  candidates,
}: MatchInput): { asked: AskedTerms } & Pick<NamedTerms, "unsure" | "wholes"> {
  const timeWords = new Set(periods.flatMap(({ text }) => queryTerms(text).map(({ term }) => term)));
  const ofTime = new Set(terms.keys().filter((index) => timeWords.has(terms[index]?.term ?? "")));
  const names = namedTerms(
    query,
    terms,
    frequencies,
    candidates.slice(0, lookedAt).flatMap(({ lines }) => lines),
  );
  const named = names.named.difference(ofTime);
  const weights = terms.map((term, index) => weightOf(term, frequencies[index] ?? 0));
  return { asked: { weights, named, ofTime }, unsure: names.unsure, wholes: names.wholes };
}

function weightOf({ kind, idf, term, role }: WeightedTerm, frequency: number): number {
  if (role !== undefined) return kind === "pair" ? unknownPairShare * idf : 0;
  // Its parts are terms of their own; capitals that would else be a stop word (`US`) have none.
  if (kind === "whole" && !term.startsWith("^")) return 0;
  return kind === "pair" && frequency === 0 && /\p{Script=Han}/u.test(term) ? unknownPairShare * idf : idf;
}

function absenceOf(absent: readonly number[], terms: readonly WeightedTerm[], wholes: NamedTerms["wholes"]): string {
  const spelling = (index: number): string => wholes.get(index) ?? terms[index]?.written ?? terms[index]?.term ?? "";
  const words = absent.map((index) => spelling(index).slice(0, withoutPossessive(spelling(index)).length));
  return `none of these results holds ${[...new Set(words)].map((word) => JSON.stringify(word)).join(" or ")}`;
}

function whyWeak({
  said,
  missing,
  meaning,
  unknown,
  scattered,
}: Record<"said" | "missing" | "meaning" | "scattered", number> & { unknown: ReadonlySet<string> }): string {
  if (said < 1) return "others than the one who is asked about say most of it";
  if (meaning > 0) return "what is near in meaning holds little of the words that were asked for";
  if (unknown.size > 0) return `no note holds ${[...unknown].map((word) => JSON.stringify(word)).join(" or ")}`;
  if (missing > 0.5) return "most of the words that were asked for stand in none of these results";
  return scattered > 0
    ? "the words that were asked for stand in different notes"
    : "the words that were asked for do not stand together in one place";
}

/** Standard deviations above the mean from which on a cosine says something, and from which on it says all that it can. */
const leastDeviations = 3;
const mostDeviations = 5;
/** A smaller deviation is a rounding: the chunks are all alike, or there is only one. */
const leastDeviation = 0.001;

/**
 * How far the nearest of these chunks answers by its meaning, 0 to 1: by how many standard deviations its cosine is above
 * the mean of the space, times what vectors of this space are worth, of the most
 * that they can be.
 */
function strengthOfMeaning(candidates: readonly Candidate[], scale: MeaningScale | undefined): number {
  if (scale === undefined || scale.deviation < leastDeviation) return 0;
  const nearest = candidates.reduce((most, { vectorScore = -1 }) => Math.max(most, vectorScore), -1);
  const deviations = (nearest - scale.mean) / scale.deviation;
  const share = Math.min(1, Math.max(0, (deviations - leastDeviations) / (mostDeviations - leastDeviations)));
  return share * Math.min(1, scale.weight / mostWeight);
}

/** How the terms of a question are spread over the notes that are shown. */
interface Scattering {
  /** What the terms weigh that stand in other notes than the one which holds most, and not in that one. */
  weight: number;
  /** No two words of the question stand in one note, and more than one in all of them. */
  isApart: boolean;
}

function scattering(
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

/** How steeply the share falls where more is said of others, and what is left at least. */
const steepness = 2;
const leastShare = 0.2;

/** Who speaks: `- Petra: …`, `**Petra**: …`. A name of up to three words, and no code, path or address. */
const speakerMark =
  /^\s*(?:[-*+]\s+)?(?:\*\*)?((?:[\p{Lu}\p{Lo}][\p{L}\p{M}'’.-]*)(?: [\p{Lu}\p{Lo}][\p{L}\p{M}'’.-]*){0,2})(?:\*\*)?[:：]\s*/u;

/** Words for the one who speaks, and for the one who is spoken to. */
const [speaking, spokenTo] = [anyOf("speaker"), anyOf("spokenTo")];

/**
 * Where people speak in turn and the question names one of them: 1 where what is said of that one holds as much of the
 * question as what is said of others, less where others have more of it, 0.2 at least. A sentence is about the one who says
 * it; a question, or a sentence that speaks of "you" and not of "me", about the one it is said to.
 */
function shareSaidOf(
  candidates: readonly Candidate[],
  terms: readonly WeightedTerm[],
  { weights, named }: AskedTerms,
): number {
  // An identifier says nothing.
  const people = [...named].filter((index) => terms[index]?.kind !== "whole" && terms[index]?.identifier === false);
  const names = people.map((index) => withoutPossessive(terms[index]?.written ?? ""));
  const total = weights.reduce((sum, weight, index) => sum + (named.has(index) ? 0 : weight), 0);
  if (names.length === 0 || total === 0) return 1;
  const worthOf = (held: Iterable<number>): number =>
    [...held].reduce((sum, index) => sum + (named.has(index) ? 0 : (weights[index] ?? 0)), 0) / total;
  let [ofNamed, ofOthers] = [0, 0];
  for (const { lines, matches, scan } of candidates) {
    const speakers = lines.map((line) => speakerMark.exec(line)?.[1]?.toLowerCase());
    const isNamed = speakers.map((speaker) => speaker !== undefined && names.some((name) => speaker.includes(name)));
    // One name before a colon is the head of a list or a definition: others have to speak, too.
    if (!isNamed.includes(true) || new Set(speakers.filter((speaker) => speaker !== undefined)).size < 2) continue;
    for (const [at, line] of lines.entries()) {
      if (speakers[at] === undefined) continue;
      // What a line holds in all is the most that its sentences can add.
      if (worthOf(matches.lines[at]?.counts.keys() ?? []) <= Math.min(ofNamed, ofOthers)) continue;
      const sentences = sentencesOf(line.replace(speakerMark, ""));
      const held = matchLines(sentences, "", terms, scan).lines;
      const termsWhere = (isOfNamed: boolean): Set<number> =>
        new Set(
          held.flatMap(({ counts }, index) =>
            (isNamed[at] === isAboutSpeaker(sentences[index] ?? "")) === isOfNamed ? [...counts.keys()] : [],
          ),
        );
      ofNamed = Math.max(ofNamed, worthOf(termsWhere(true)));
      ofOthers = Math.max(ofOthers, worthOf(termsWhere(false)));
    }
  }
  return Math.min(1, Math.max(leastShare, 1 + steepness * (ofNamed - ofOthers)));
}

function isAboutSpeaker(sentence: string): boolean {
  const [ofSelf, ofOther] = [speaking.test(sentence), spokenTo.test(sentence)];
  return isQuestion(sentence) ? ofSelf && !ofOther : ofSelf || !ofOther;
}

function sentencesOf(line: string): string[] {
  const ends = [...line.matchAll(sentenceEnd)].map((match) => match.index + match[0].length);
  return [...ends, line.length].map((end, index) => line.slice(ends[index - 1] ?? 0, end));
}
