import type { ChunkIndex } from "../chunk-index.ts";

/**
 * Searches while the files are still looked at, which takes longer than the search itself. Gives what was found if
 * nothing has been written to the store since before it, by anybody; undefined where the search has to be made again, or
 * where the store cannot tell.
 */
export function searchAhead<Answer>(
  store: Pick<ChunkIndex, "revision">,
  search: () => Promise<Answer>,
): () => Promise<Answer | undefined> {
  const found = (async () => {
    const revision = await store.revision?.();
    return revision === undefined ? undefined : { revision, answer: await search() };
  })().catch(() => undefined);
  return async () => {
    const ahead = await found;
    return ahead !== undefined && ahead.revision === (await store.revision?.()) ? ahead.answer : undefined;
  };
}
