import type { Candidate } from "../rank.ts";

/** What a word is worth that stands in the line before or behind, in what the line stands under, or elsewhere in its chunk. */
const besideShare = 0.7;
const aboveShare = 0.9;
const elsewhereShare = 0.3;
/** What a line is worth where a name of the question stands beside it, or not there at all. */
const nameBeside = 0.8;
const nameAbsent = 0.4;
/** How much of a place goes that holds the names of a short question and nothing of what is asked about them. */
const bareNameShare = 0.6;
const shortQuestion = 4;

/** The terms of a question, by index. */
export interface AskedTerms {
  /** What each of them counts. */
  weights: readonly number[];
  /** Those that name somebody or something, and those that name a time. */
  named: ReadonlySet<number>;
  ofTime: ReadonlySet<number>;
}

/** A line, by the terms that stand in it and around it. */
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

/** The greatest weight of the question's terms that stands in one place: a line with what it stands beside and under. */
export function bestPlace(candidates: readonly Candidate[], asked: AskedTerms): number {
  const places = candidates.flatMap((candidate) => placesIn(candidate));
  return places.reduce((most, place) => Math.max(most, worthOf(place, asked)), 0);
}

function placesIn({ lines, matches, timeMatch }: Candidate): Place[] {
  const elsewhere = new Set(matches.counts.keys());
  const inLines = new Set(matches.lines.flatMap(({ counts }) => [...counts.keys()]));
  const above = elsewhere.difference(inLines);
  const at = (index: number): ReadonlySet<number> => new Set(matches.lines[index]?.counts.keys());
  // Of the headings in the chunk itself, those that a line is under, by their depth.
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
