import type { ManagerSearchOptions, SearchOrder } from "@memslot/core";
import { choosePassages, type ChosenPassages, scoreOf } from "./passages/choose-passages.ts";
import { hasOwnLines } from "./passages/passage.ts";
import { type AskedQuery, isFiltered } from "./query/asked-query.ts";
import { byDay, daysOfLine } from "./query/chunk-days.ts";
import type { Candidate, Ranking } from "./rank.ts";

/** What a match is worth at least, beside the best one, where they are put in the order of their days. */
const orderedShare = 0.5;
/** A note below this share of the best score is noise. */
const noiseShare = 0.05;

/**
 * Applies `minScore` and the limit. The threshold is for the vector leg: a chunk that the keyword leg found stays,
 * unless the caller named a threshold for this search and the chunk does not hold the query exactly. Noise is left out,
 * unless the query asks for a list: by filters, in an order of days or by a time alone.
 */
export function chooseNotes(
  ranking: Ranking,
  options: ManagerSearchOptions,
  asked: AskedQuery | undefined,
): ChosenPassages & Record<"belowScore" | "overLimit" | "noteCount" | "noiseLimit", number> & { notes: Candidate[][] } {
  const passed = ranking.candidates.filter((candidate) => passesScore(candidate, options));
  const isList = ranking.isOnlyTime || (asked !== undefined && isFiltered(asked));
  const [best] = ranking.candidates;
  const noiseLimit = isList || best === undefined ? 0 : noiseShare * scoreOf(best);
  const all = [...Map.groupBy(inOrder(passed, options.order), noteOf).values()];
  // The best of a source is never crowded out by another.
  const bests = new Set(
    Map.groupBy(all, sourceOf)
      .values()
      .map(([first]) => first),
  );
  const notes = all.filter((note) => bests.has(note) || !isNoise(note, noiseLimit));
  const kept = withRoomForSources(notes, options.maxResults);
  return {
    ...choosePassages(kept, ranking.terms, { ...options, keepsOrder: (options.order ?? "relevance") !== "relevance" }),
    belowScore: ranking.candidates.length - passed.length + all.length - notes.length,
    overLimit: notes.length - kept.length,
    notes: kept,
    noiseLimit,
    noteCount: new Set(notes.map(([first]) => first && JSON.stringify([first.row.source, first.row.path]))).size,
  };
}

function sourceOf(note: readonly Candidate[]): string | undefined {
  return note[0]?.row.source;
}

/** Whether all of a note is below the least score, and none of it holds the query exactly. */
export function isNoise(note: readonly Candidate[], least: number): boolean {
  return note.every((candidate) => scoreOf(candidate) < least && !candidate.exact);
}

/** Whether `minScore` lets a candidate pass: by the score of the index, whatever a reranker thinks of it. */
export function passesScore(candidate: Candidate, options: Pick<ManagerSearchOptions, "minScore" | "strict">): boolean {
  if (candidate.score >= options.minScore || candidate.exact) return true;
  return candidate.textScore !== undefined && !options.strict;
}

/** What is one result: lines of one note, or a chunk where lines have no numbers of their own. */
function noteOf(candidate: Candidate): string {
  const { source, path, id } = candidate.row;
  return JSON.stringify(hasOwnLines(candidate) ? [source, path] : [source, path, id]);
}

/** In the order of their days those that match about as well as the best: the last word on a thing, and not on any word of it. */
function inOrder(candidates: readonly Candidate[], order: SearchOrder = "relevance"): readonly Candidate[] {
  if (order === "relevance") return candidates;
  const best = candidates[0]?.score ?? 0;
  return byDay(
    candidates.filter(({ score }) => score >= orderedShare * best),
    order,
    (candidate) => daysOfLine(candidate.row, indexOfBestLine(candidate)),
  );
}

/** The line with the most words of the query, counted from 0. */
function indexOfBestLine({ matches }: Candidate): number {
  const counts = matches.lines.map((line) => line.counts.size);
  return Math.max(0, counts.indexOf(Math.max(...counts)));
}

/**
 * The best notes, with room for each source that has any: out of `limit` places each source keeps at least
 * `limit / (2 × sources)`, one at least, for its own best. So a heap of transcripts does not hide the one note, nor the
 * other way round. One place of two or more is for the best that holds the query exactly: no weight that is given to meaning
 * hides an identifier. `notes` are in their order, which the answer keeps.
 */
function withRoomForSources(notes: readonly Candidate[][], limit: number): Candidate[][] {
  const sources = new Set(notes.map(sourceOf));
  const room = sources.size < 2 || limit < sources.size ? 0 : Math.max(1, Math.floor(limit / (2 * sources.size)));
  const kept = new Set<Candidate[]>();
  const exact = limit > 1 ? notes.find((note) => note.some((candidate) => candidate.exact)) : undefined;
  for (const source of sources) {
    for (const note of notes.filter((each) => sourceOf(each) === source).slice(0, room)) kept.add(note);
  }
  if (exact && kept.size < limit) kept.add(exact);
  for (const note of notes) {
    if (kept.size >= limit) break;
    kept.add(note);
  }
  return notes.filter((note) => kept.has(note));
}
