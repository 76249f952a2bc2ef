import type { SearchMatch, Sentence } from "@memslot/core";
import { sentence, weakConfidence } from "@memslot/core/host";
import { fileName } from "../chunk-store.ts";
import { type MeaningScale, mostWeight } from "../fusion/score-fusion.ts";
import { anyOf } from "../text/languages/detect-language.ts";
import type { Days } from "../text/times/calendar.ts";
import {
  lettersOf,
  namesOfNote,
  isWrittenApart,
  maybeNames,
  type NamedTerms,
  namedTerms,
  withoutPossessive,
} from "./name-match.ts";
import { queryTerms } from "../text/query-terms.ts";
import type { Candidate } from "./rank.ts";
import { matchLines, type WeightedTerm } from "../text/bm25.ts";
import { isQuestion, sentenceEnd } from "./passages/passage.ts";

const lookedAt = 12;
const nameMissing = 0.3;
/** Penalty share of missing words. */
const missingShare = 0.5;
/** Factor if each note has only one word of the query. */
const apartShare = 0.6;
const maybeNameMissing = 0.6;
/** Penalty share of words in other notes than the best one. */
const dispersionShare = 0.5;
/** A missing Chinese character pair is often not a word. */
const unknownPairShare = 0.3;

export interface MatchStrength {
  confidence: number;
  match: SearchMatch;
}

/** What the question asks for, and what was found of it. */
export interface MatchInput {
  query: string;
  periods: readonly { text: string }[];
  terms: readonly WeightedTerm[];
  frequencies: readonly number[];
  /** How the cosines of the candidates are read. Absent: they have none. */
  scale?: MeaningScale | undefined;
  candidates: readonly Candidate[];
  isShown: (candidate: Candidate) => boolean;
}

/** Confidence: the largest share of query weight in one place, reduced for missing names and words. */
export function matchStrength(input: MatchInput): MatchStrength {
  const { terms } = input;
  const first = input.candidates.slice(0, lookedAt).filter(input.isShown);
  // In date order the shown chunks may not be the best.
  const shown = first.length > 0 ? first : input.candidates.filter(input.isShown).slice(0, lookedAt);
  if (shown.length === 0) return { confidence: 0, match: { level: "none" } };
  const { asked: all, unsure, wholes } = askedTerms(input);
  const { weights, ofTime } = all;
  const total = weights.reduce((sum, weight) => sum + weight, 0) || 1;
  const held = shown.map(({ matches }) => matches.counts);
  const seen = new Set(held.flatMap((counts) => [...counts.keys()]));
  const names = shown.flatMap(({ row, lines }) => namesOfNote({ ...row, lines }).map(lettersOf));
  // A note may write it as two words, or have it as its name: `useRouter` and `use-router.md`.
  const isJoined = (index: number): boolean =>
    names.includes(lettersOf(terms[index]?.written ?? "")) || isWrittenApart(index, terms, held);
  const named = new Set([...all.named].filter((index) => seen.has(index) || !isJoined(index)));
  const asked = { ...all, named };
  const time = Math.max(...shown.map(({ timeMatch }) => timeMatch));
  const shareMissing = (index: number): number => (seen.has(index) ? 0 : ofTime.has(index) ? 1 - time : 1);
  const missing = weights.reduce((sum, weight, index) => sum + shareMissing(index) * weight, 0) / total;
  const said = shareSaidOf(shown, terms, asked);
  const meaning = said * strengthOfMeaning(shown, input.scale);
  const absent = [...named].filter((index) => !seen.has(index) && !(meaning > 0 && unsure.has(index)));
  const { weight: elsewhere, isApart } = termDispersion(shown, terms, asked);
  const dispersed = elsewhere / total;
  const unknown = maybeNames(input.query, terms, input.frequencies);
  const words =
    (bestPlace(shown, asked) / total) *
    (1 - missingShare * missing) *
    (1 - dispersionShare * dispersed) *
    (isApart ? apartShare : 1) *
    (unknown.size > 0 ? maybeNameMissing : 1) *
    said;
  const confidence = Math.min(1, absent.length > 0 ? nameMissing * words : Math.max(words, meaning));
  if (absent.length > 0) return { confidence, match: { level: "none", ...absenceOf(absent, terms, wholes) } };
  if (confidence >= weakConfidence) return { confidence, match: { level: "strong" } };
  return { confidence, match: { level: "weak", ...whyWeak({ said, missing, meaning, unknown, dispersed }) } };
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

function absenceOf(absent: readonly number[], terms: readonly WeightedTerm[], wholes: NamedTerms["wholes"]): Sentence {
  const spelling = (index: number): string => wholes.get(index) ?? terms[index]?.written ?? terms[index]?.term ?? "";
  const words = absent.map((index) => spelling(index).slice(0, withoutPossessive(spelling(index)).length));
  return sentence("match.absent", { words: quoted(new Set(words)) });
}

function whyWeak({
  said,
  missing,
  meaning,
  unknown,
  dispersed,
}: Record<"said" | "missing" | "meaning" | "dispersed", number> & { unknown: ReadonlySet<string> }): Sentence {
  if (said < 1) return sentence("match.others");
  if (meaning > 0) return sentence("match.meaning");
  if (unknown.size > 0) return sentence("match.unknown", { words: quoted(unknown) });
  if (missing > 0.5) return sentence("match.missing");
  return sentence(dispersed > 0 ? "match.dispersed" : "match.apart");
}

function quoted(words: Iterable<string>): string {
  return [...words].map((word) => JSON.stringify(word)).join(" or ");
}

/** Standard deviations above the mean at which a cosine starts to count, and counts fully. */
const leastDeviations = 3;
const mostDeviations = 5;
const leastDeviation = 0.001;

/** Confidence by vectors, 0 to 1: deviations above the mean times the semantic weight. */
function strengthOfMeaning(candidates: readonly Candidate[], scale: MeaningScale | undefined): number {
  if (scale === undefined || scale.deviation < leastDeviation) return 0;
  const nearest = candidates.reduce((most, { vectorScore = -1 }) => Math.max(most, vectorScore), -1);
  const deviations = (nearest - scale.mean) / scale.deviation;
  const share = Math.min(1, Math.max(0, (deviations - leastDeviations) / (mostDeviations - leastDeviations)));
  return share * Math.min(1, scale.weight / mostWeight);
}

/** Dispersion of query terms over the displayed notes. `isApart`: no note has two of them. */
function termDispersion(
  shown: readonly Candidate[],
  terms: readonly WeightedTerm[],
  { weights, ofTime }: AskedTerms,
): { weight: number; isApart: boolean } {
  const termsIn = (candidates: readonly Candidate[]): number[] => [
    ...new Set(candidates.flatMap(({ matches }) => [...matches.counts.keys()])),
  ];
  const weigh = (held: readonly number[]): number => held.reduce((sum, index) => sum + (weights[index] ?? 0), 0);
  const wordsOf = (held: readonly number[]): number =>
    held.filter((index) => terms[index]?.kind === "word" && terms[index].role === undefined && !ofTime.has(index))
      .length;
  const notes = Map.groupBy(shown, ({ row }) => fileName(row));
  const byNote = [...notes.values()].map(termsIn);
  const all = termsIn(shown);
  return {
    weight: weigh(all) - Math.max(...byNote.map(weigh)),
    isApart: wordsOf(all) > 1 && byNote.every((held) => wordsOf(held) < 2),
  };
}

/** Factor of a word in a neighbouring line, a heading, or elsewhere in the chunk. */
const besideShare = 0.7;
const aboveShare = 0.9;
const elsewhereShare = 0.3;
/** Factor of a line with the name beside it, or without it. */
const nameBeside = 0.8;
const nameAbsent = 0.4;
/** Penalty of a place with the names of a short query and nothing else of it. */
const bareNameShare = 0.9;
const shortQuestion = 4;

interface AskedTerms {
  weights: readonly number[];
  named: ReadonlySet<number>;
  ofTime: ReadonlySet<number>;
}

interface Place {
  own: ReadonlySet<number>;
  beside: ReadonlySet<number>;
  above: ReadonlySet<number>;
  elsewhere: ReadonlySet<number>;
  /** How well its note is of the time that is asked for, 0 to 1. */
  timeMatch: number;
  /** Most lines of its chunk begin with who speaks. */
  isTalk: boolean;
}

/** The greatest weight of the question's terms that is in one place: a line with what it is next to and under. */
function bestPlace(candidates: readonly Candidate[], asked: AskedTerms): number {
  const places = candidates.flatMap((candidate) => placesIn(candidate));
  return places.reduce((most, place) => Math.max(most, worthOf(place, asked)), 0);
}

function placesIn({ lines, matches, timeMatch }: Candidate): Place[] {
  const elsewhere = new Set(matches.counts.keys());
  const inLines = new Set(matches.lines.flatMap(({ counts }) => [...counts.keys()]));
  const above = elsewhere.difference(inLines);
  const at = (index: number): ReadonlySet<number> => new Set(matches.lines[index]?.counts.keys());
  const headings: ReadonlySet<number>[] = [];
  const isTalk = lines.filter((line) => /^\s*(?:[-*+] )?[^:：]{1,40}[:：]/u.test(line)).length > lines.length / 2;
  const places = matches.lines.flatMap(({ counts }, index): Place[] => {
    const depth = /^#{1,6}(?=\s)/u.exec(lines[index] ?? "")?.[0].length ?? 0;
    if (depth > 0) {
      headings.length = Math.min(headings.length, depth);
      headings[depth] = at(index);
    }
    if (counts.size === 0) return [];
    const over = headings.reduce((all, heading) => all.union(heading), above);
    return [{ own: at(index), beside: at(index - 1).union(at(index + 1)), above: over, elsewhere, timeMatch, isTalk }];
  });
  // A note may be named like the question, or be of its time, without a line that holds it.
  const none: ReadonlySet<number> = new Set();
  if (above.size > 0 || timeMatch > 0) places.push({ own: none, beside: none, above, elsewhere, timeMatch, isTalk });
  return places;
}

function worthOf(place: Place, { weights, named, ofTime }: AskedTerms): number {
  // What is asked about those who are named.
  let [worth, asked, held] = [0, 0, 0];
  for (const [index, weight] of weights.entries()) {
    const own = Math.max(shareOf(index, place), ofTime.has(index) ? place.timeMatch : 0) * weight;
    worth += own;
    if (named.has(index)) continue;
    asked += weight;
    held += own;
  }
  const isShort = weights.filter((weight) => weight > 0).length <= shortQuestion;
  if (isShort && !place.isTalk && named.size > 0 && asked > 0)
    worth *= 1 - bareNameShare + (bareNameShare * held) / asked;
  for (const index of named) {
    if (place.own.has(index) || place.above.has(index)) continue;
    worth *= place.beside.has(index) ? nameBeside : nameAbsent;
  }
  return worth;
}

function shareOf(index: number, { own, above, beside, elsewhere }: Place): number {
  if (own.has(index)) return 1;
  if (above.has(index)) return aboveShare;
  if (beside.has(index)) return besideShare;
  return elsewhere.has(index) ? elsewhereShare : 0;
}

/** How steeply the share falls where other people have the better statements, and its minimum. */
const steepness = 2;
const leastShare = 0.2;

/** Who speaks: `- Petra: …`, `**Petra**: …`. A name of up to three words, and no code, path or address. */
const speakerMark =
  /^\s*(?:[-*+]\s+)?(?:\*\*)?((?:[\p{Lu}\p{Lo}][\p{L}\p{M}'’.-]*)(?: [\p{Lu}\p{Lo}][\p{L}\p{M}'’.-]*){0,2})(?:\*\*)?[:：]\s*/u;

/** Words for the one who speaks, and for the one who is spoken to. */
const [speaking, spokenTo] = [anyOf("speaker"), anyOf("spokenTo")];

/** For dialogues: share of statements about the named person, 1 down to 0.2. */
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

const nearShare = 0.5;
const noDayShare = 0.3;

/** Confidence of a query that is only a date: whether results are of that date or near it. */
export function timeStrength(shown: readonly Candidate[], periods: readonly Days[]): MatchStrength {
  if (shown.length === 0) return { confidence: 0, match: { level: "none" } };
  const best = Math.max(...shown.map(({ timeMatch }) => timeMatch));
  const isOfTime = shown.slice(0, lookedAt).some(({ days }) => days !== undefined && isWithinAny(days, periods));
  // What is shown was found by the words of the time.
  if (!isOfTime && best === 0) return { confidence: 0, match: { level: "none", ...sentence("match.noTime") } };
  const confidence = isOfTime ? best : nearShare * best;
  if (!isOfTime) return { confidence, match: { level: "weak", ...sentence("match.nearTime") } };
  return { confidence, match: { level: confidence < weakConfidence ? "weak" : "strong" } };
}

/** The same for a date that does not exist. */
export function ofNoDay({ confidence }: MatchStrength, noDays: readonly string[]): MatchStrength {
  const match = { level: "none", ...sentence("match.noDay", { words: quoted(noDays) }) } as const;
  return { confidence: noDayShare * confidence, match };
}

function isWithinAny({ from, to }: Days, periods: readonly Days[]): boolean {
  return periods.some((period) => from <= period.to && to >= period.from);
}
