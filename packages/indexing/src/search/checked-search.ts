import type { ManagerSearchOptions, SearchCondition } from "@memslot/core";
import type { ChunkIndex } from "../chunk-index.ts";
import type { FileKey } from "../chunk-store.ts";
import type { IndexedSource } from "../indexed-source.ts";
import type { IndexSync } from "../sync/index-sync.ts";
import { type SearchOutcome, withMore } from "./search-outcome.ts";
import { conditionForAll } from "./answer.ts";

/** How often one question is asked: an index that is wrong again after it was mended is not asked for ever. */
const attempts = 3;

/**
 * Compares an answer with the files that it is from. What does not stand there is never returned as theirs: those files
 * are indexed again at once, and the question is asked once more. So it is too where the store has found in the middle
 * of it that it was damaged, and begun anew. `ask` is given the number of the attempt.
 */
export async function checkedSearch(
  ask: (attempt: number) => Promise<SearchOutcome>,
  { store, sources, index }: { store: ChunkIndex; sources: readonly IndexedSource[]; index: Pick<IndexSync, "reread"> },
  { signal, audience }: ManagerSearchOptions,
): Promise<SearchOutcome> {
  let unfinished: SearchCondition | undefined;
  for (let attempt = 1; ; attempt++) {
    const before = store.health().remade ?? 0;
    const outcome = await ask(attempt);
    const isRemade = (store.health().remade ?? 0) !== before;
    const wrong = await findWrong(outcome, sources, signal);
    const more = unfinished === undefined ? [] : [unfinished];
    if (wrong.size === 0 && !isRemade) return withMore(outcome, more);
    if (attempt === attempts || (unfinished !== undefined && !isRemade))
      return withMore(without(outcome, wrong), [leftOut(wrong.size), ...more]);
    unfinished = await index.reread(uniqueFiles(wrong), signal);
    if (unfinished !== undefined && audience === "shared") unfinished = conditionForAll(unfinished);
  }
}

/**
 * Searches while the files are still looked at, which takes longer than the search itself. Gives what was found if
 * nothing has been written to the store since before it, by anybody; undefined where the search has to be made again, or
 * where the store cannot tell.
 */
export function searchAhead<Answer>(
  store: Pick<ChunkIndex, "revision">,
  search: (revision: string) => Promise<Answer>,
): () => Promise<Answer | undefined> {
  const found = (async () => {
    const revision = await store.revision?.();
    return revision === undefined ? undefined : { revision, answer: await search(revision) };
  })().catch(() => undefined);
  return async () => {
    const ahead = await found;
    return ahead !== undefined && ahead.revision === (await store.revision?.()) ? ahead.answer : undefined;
  };
}

/** The results and dropped candidates whose lines are not in their files. */
async function findWrong(
  { lines = new Map() }: SearchOutcome,
  sources: readonly IndexedSource[],
  signal: AbortSignal,
): Promise<ReadonlySet<FileKey>> {
  const wrong = new Set<FileKey>();
  const files = Map.groupBy(lines, ([{ source, path }]) => JSON.stringify([source, path]));
  await Promise.all(
    Array.from(files.values(), async (own) => {
      const [[{ source, path }] = [{ source: "", path: "" }]] = own;
      const found = own.flatMap(([key, said]) => said.map((each) => ({ key, ...each })));
      const held = await sources.find((each) => each.source === source)?.holds?.(path, found, signal);
      for (const [index, { key }] of found.entries()) if (held !== undefined && held[index] !== true) wrong.add(key);
    }),
  );
  return wrong;
}

function uniqueFiles(wrong: ReadonlySet<FileKey>): FileKey[] {
  const files = [...wrong].map(({ path, source }): [string, FileKey] => [
    JSON.stringify([source, path]),
    { path, source },
  ]);
  return [...new Map(files).values()];
}

function without(outcome: SearchOutcome, wrong: ReadonlySet<FileKey>): SearchOutcome {
  return { ...outcome, results: outcome.results.filter((result) => !wrong.has(result)) };
}

function leftOut(count: number): SearchCondition {
  if (count === 0) return { state: "stale", reason: "the index was damaged and is being made anew from the notes" };
  const reason = `what the index says of ${count} places does not stand in the files and is left out; they are being indexed again`;
  return { state: "stale", reason, count };
}
