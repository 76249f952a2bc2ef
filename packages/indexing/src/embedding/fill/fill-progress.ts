import type { SyncProgress } from "@memslot/core";
import type { ChunkIndex } from "../../chunk-index.ts";
import type { VectorSpace } from "../../chunk-store.ts";

/** Tells how far the vectors of a space are. */
export interface FillProgress {
  /** So many texts more are done. */
  add(texts: number): void;
  /** So many texts are done on the other side and not here yet. Called again and again, it shows that work goes on. */
  elsewhere(texts: number): void;
  /** What is waited for, in words; until more texts are done. */
  waiting(words: string): void;
  /** All are done. */
  finish(): void;
}

/** `embedding with openai (attempt 2 of 4, waits 0.5 s)` */
export function embeddingLabel(provider: string, waiting?: string): string {
  return `embedding with ${provider}${waiting === undefined ? "" : ` (${waiting})`}`;
}

/** Counts from here to the chunks that are missing now. Says nothing where none is. */
export async function createFillProgress(
  store: Pick<ChunkIndex, "spaceStats">,
  space: VectorSpace,
  report: (update: SyncProgress) => void,
): Promise<FillProgress> {
  const { pending, nextPending = 0 } = await store.spaceStats(space);
  const total = pending + nextPending;
  let done = 0;
  let away = 0;
  const name = embeddingLabel(space.provider);
  let label = name;
  const tell = (completed: number): void => {
    // Texts can come in while it runs, so that there are more than were counted.
    if (total > 0) report({ completed, total: Math.max(total, completed), label });
  };
  tell(0);
  return {
    add(texts) {
      done += texts;
      label = name;
      tell(done + away);
    },
    elsewhere(texts) {
      away = texts;
      tell(done + away);
    },
    waiting(words) {
      label = embeddingLabel(space.provider, words);
      tell(done + away);
    },
    // Chunks with the same text share a vector, so that the last ones are done at once.
    finish: () => tell(Math.max(total, done)),
  };
}
