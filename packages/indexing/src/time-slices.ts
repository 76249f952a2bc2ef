import { setImmediate as nextTurn } from "node:timers/promises";

const usualSliceMs = 8;

export interface TimeSlices {
  /** Whether it is time to pause. Cheap enough to be asked for every file. */
  isOver(): boolean;
  /** Lets the rest of the process work, then begins the next slice. Throws if the work was aborted. */
  pause(): Promise<void>;
}

/** Synchronous file calls cost a tenth of asynchronous ones; the pauses keep the event loop responsive. */
export function createTimeSlices(signal: AbortSignal, sliceMs: number = usualSliceMs): TimeSlices {
  let start = performance.now();
  return {
    isOver: () => performance.now() - start > sliceMs,
    async pause() {
      await nextTurn(undefined, { signal });
      start = performance.now();
    },
  };
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
