import type { SearchReport } from "@memslot/core";
import type { ChunkIndex, ChunkRow } from "../../chunk-index.ts";
import { choosePassages } from "../passages/choose-passages.ts";
import { candidateOf } from "../rank.ts";
import { linesOf, resultOf, type SearchedSource, type SearchInput, type SearchOutcome } from "../search-outcome.ts";
import type { AskedQuery } from "./asked-query.ts";
import { flatMapInSlices } from "../../time-slices.ts";
import { byDay } from "./by-day.ts";
import { daysOfChunk } from "./chunk-days.ts";
import { listFor } from "./narrowed-places.ts";
import { fitsDays, fittingPart, undatedIn } from "./row-filter.ts";

/** What each note of a list is worth: nothing was looked for, and no score is 1. */
const listedScore = 0.95;
/** Notes whose texts are read at once, where words are left out. */
const readAtOnce = 100;

/** The notes that fit a question without a word, each by the first of its chunks that fits. */
export async function listNotes(
  input: SearchInput & { store: Pick<ChunkIndex, "listChunks"> },
  places: readonly SearchedSource[],
  asked: AskedQuery,
): Promise<SearchOutcome> {
  const started = performance.now();
  const { signal } = input.options;
  const listed = await Promise.all(places.map((place) => listFor(input.store, place, asked, signal)));
  const isFitting = (row: ChunkRow): boolean => fitsDays(row, asked) === true;
  const fitting = await flatMapInSlices(listed.flat(), signal, (row) => (isFitting(row) ? [row] : []));
  const notes = inOrder(fitting, asked);
  const wanted = input.options.maxResults;
  const found: ChunkRow[] = [];
  let looked = 0;
  while (found.length < wanted && looked < notes.length) {
    const some = notes.slice(looked, looked + (asked.excluded.length > 0 ? readAtOnce : wanted));
    looked += some.length;
    const texts = await Promise.all(
      places.map(({ source }) => {
        const paths = some.filter((row) => row.source === source).map(({ path }) => path);
        const scope = { within: paths, without: [] };
        return paths.length === 0 ? [] : input.store.listChunks({ sources: [source], scope, withText: true });
      }),
    );
    signal.throwIfAborted();
    const parts = await flatMapInSlices(texts.flat(), signal, (row) => [fittingPart(row, asked) ?? []].flat());
    found.push(...inOrder(parts, asked));
  }
  const left = notes.length - looked;
  const isSure = asked.excluded.length === 0;
  return listOf(input, found, {
    left: isSure ? left : 0,
    more: !isSure && left > 0,
    milliseconds: performance.now() - started,
  });
}

/** The same of chunks that are at hand with their texts. */
export function listRows(input: SearchInput, rows: readonly ChunkRow[], asked: AskedQuery): SearchOutcome {
  const fitting = rows.flatMap((row) => fittingPart(row, asked) ?? []);
  return {
    ...listOf(input, inOrder(fitting, asked), { left: 0, more: false, milliseconds: 0 }),
    undated: undatedIn(rows, asked),
  };
}

/** One chunk of each note: not its properties, where it has a text. */
function inOrder(rows: readonly ChunkRow[], { order }: AskedQuery): ChunkRow[] {
  const isHead = ({ startLine, text }: ChunkRow): boolean => startLine === 1 && text.startsWith("---\n");
  const notes = Map.groupBy(rows, ({ source, path }) => JSON.stringify([source, path]));
  const firsts = [...notes.values()].flatMap((own) => own.find((row) => !isHead(row)) ?? own.slice(0, 1));
  return byDay(firsts, order, daysOfChunk);
}

function listOf(
  { backend, options }: SearchInput,
  found: readonly ChunkRow[],
  /** `left`: notes that fit and were not read. `more`: there are others, of which it is not known whether they fit. */
  { left, more, milliseconds }: { left: number; more: boolean; milliseconds: number },
): SearchOutcome {
  const kept = found.slice(0, options.maxResults);
  const notes = kept.map((row) => [{ ...candidateOf(row, []), score: listedScore }]);
  const chosen = choosePassages(notes, [], { ...options, keepsOrder: true });
  const { overBudget } = chosen;
  // Each note once: what more it holds is no further result of a list.
  const passages = chosen.passages.filter((passage, at) => chosen.passages[at - 1]?.best !== passage.best);
  const lines = new Map(passages.map((passage) => [resultOf(passage), linesOf(passage)]));
  const report: SearchReport = {
    backend,
    mode: "keyword",
    state: "ok",
    reason: kept.length === 0 ? "no note fits" : undefined,
    legs: { keyword: { candidates: found.length + left, kept: kept.length } },
    dropped: {
      minScore: 0,
      source: 0,
      limit: found.length + left - kept.length,
      ...(overBudget > 0 && { tokens: overBudget }),
    },
    found: { passages: found.length + left, notes: found.length + left, more },
    // What fits is all that was asked for.
    ...(kept.length > 0 && { confidence: 1 }),
    timingsMs: { list: Math.round(milliseconds * 10) / 10 },
  };
  return { results: [...lines.keys()], report, lines };
}
