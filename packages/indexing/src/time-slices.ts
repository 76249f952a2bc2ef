import { setImmediate as nextTurn } from "node:timers/promises";

const usualSliceMs = 8;
/** A search waits for a slice, and other work no longer than this for a search. */
const mostForSearchesMs = 200;
const searches = new Set<Promise<unknown>>();

/** Background work of this process pauses while a search runs, as a user waits for it. */
export async function beforeOtherWork<Answer>(search: Promise<Answer>): Promise<Answer> {
  searches.add(search);
  try {
    return await search;
  } finally {
    searches.delete(search);
  }
}

export interface TimeSlices {
  /** Whether it is time to pause. Cheap enough to be asked for every file. */
  isOver(): boolean;
  /** Lets the rest of the process work, then begins the next slice. Throws if the work was aborted. */
  pause(): Promise<void>;
}

/**
 * Synchronous file calls cost a tenth of asynchronous ones; the pauses keep the event loop responsive. Work in the
 * `background` also pauses for searches.
 */
export function createTimeSlices(
  signal: AbortSignal,
  { sliceMs = usualSliceMs, background = false }: { sliceMs?: number; background?: boolean } = {},
): TimeSlices {
  let start = performance.now();
  return {
    isOver: () => performance.now() - start > sliceMs,
    async pause() {
      await nextTurn(undefined, { signal });
      if (background && searches.size > 0) await Promise.race([Promise.allSettled(searches), mostForSearches()]);
      start = performance.now();
    },
  };
}

/** Keeps no process alive: a command ends when its answer is printed. */
async function mostForSearches(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, mostForSearchesMs).unref());
}

export async function flatMapInSlices<Item, Result>(
  items: Iterable<Item>,
  signal: AbortSignal,
  work: (item: Item) => readonly Result[],
): Promise<Result[]> {
  const slices = createTimeSlices(signal);
  const results: Result[] = [];
  for (const item of items) {
    results.push(...work(item));
    if (slices.isOver()) await slices.pause();
  }
  return results;
}
