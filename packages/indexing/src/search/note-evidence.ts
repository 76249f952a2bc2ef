import { isConversation } from "@memslot/core";
import { headingOf } from "../text/chunk-markdown.ts";
import { namesIn } from "../text/note-context.ts";
import { timeOfPath } from "../text/times/time-of-path.ts";
import { termScore } from "./bm25.ts";
import type { WeightedTerm } from "./line-scores.ts";
import { fitOf, type NamedQuery, namesOfNote } from "./name-match.ts";
import type { TimedCandidate } from "./time-weight.ts";

/** A section whose heading fits the query this well counts as a note of its own. */
const sectionFit = 0.5;

/**
 * The BM25 of the note of each candidate: how often the terms occur in all its candidate chunks, with the length of the
 * whole note, compared with the mean of the notes that have a candidate. So a note about something comes before a long
 * one that mentions it. In a collection, a section whose heading names the query has its own counts and its own length.
 * Conversations and notes of a day are no notes about something: they are missing.
 */
export function noteEvidence(
  candidates: readonly TimedCandidate[],
  terms: readonly WeightedTerm[],
  named: NamedQuery,
): Map<TimedCandidate, number> {
  const isNote = ({ row }: TimedCandidate): boolean => !isConversation(row) && timeOfPath(row.path) === undefined;
  const notes = [...Map.groupBy(candidates.filter(isNote), ({ row }) => `${row.source} ${row.path}`).values()];
  const mean = notes.reduce((sum, note) => sum + lengthOf(note), 0) / notes.length;
  const score = (counts: ReadonlyMap<number, number>, length: number): number =>
    counts.entries().reduce((sum, [index, count]) => sum + termScore(terms[index]?.idf ?? 0, count, length / mean), 0);
  const evidence = new Map<TimedCandidate, number>();
  for (const note of notes) {
    const whole = score(countsOf(note, terms, named), lengthOf(note));
    for (const candidate of note) {
      let best = whole;
      for (const { title, from, to } of sectionsOf(candidate)) {
        if (fitOf(named, title, candidate.scan).share < sectionFit) continue;
        const counts = sum(candidate.matches.lines.slice(from, to).map((line) => line.counts));
        const length = candidate.lines.slice(from, to).reduce((bytes, line) => bytes + Buffer.byteLength(line), 0);
        best = Math.max(best, score(counts, length));
      }
      evidence.set(candidate, best);
    }
  }
  return evidence;
}

/** Bytes of a note. A store that does not know them counts what was found. */
function lengthOf(note: readonly TimedCandidate[]): number {
  return note[0]?.row.noteBytes ?? note.reduce((bytes, { row }) => bytes + Buffer.byteLength(row.text), 0);
}

/** How often each term occurs in the chunks of a note. A term that only its names hold, in another form, occurs once. */
function countsOf(
  note: readonly TimedCandidate[],
  terms: readonly WeightedTerm[],
  named: NamedQuery,
): ReadonlyMap<number, number> {
  const counts = sum(note.map(({ matches }) => matches.counts));
  for (const { row, lines, scan } of note.slice(0, 1))
    for (const name of namesOfNote({ ...row, lines }))
      for (const term of fitOf(named, name, scan).found) {
        const index = terms.indexOf(term);
        if (!counts.has(index)) counts.set(index, 1);
      }
  return counts;
}

function sum(all: readonly ReadonlyMap<number, number>[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const each of all) for (const [index, count] of each) counts.set(index, (counts.get(index) ?? 0) + count);
  return counts;
}

/** The sections of a chunk by their lines: the one that it begins in, and those that begin in it. */
function* sectionsOf({ row, lines }: TimedCandidate): Generator<{ title: string; from: number; to: number }> {
  const title = namesIn(row.context).titles.at(-1);
  const open = title === undefined ? [] : [{ title, level: 6, from: 0 }];
  for (const [at, line] of lines.entries()) {
    const heading = line.includes("#") ? headingOf(line) : undefined;
    if (heading === undefined) continue;
    while ((open.at(-1)?.level ?? 0) >= heading.level) for (const ended of open.splice(-1)) yield { ...ended, to: at };
    open.push({ ...heading, from: at });
  }
  for (const ended of open) yield { ...ended, to: lines.length };
}
