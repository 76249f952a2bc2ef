import type { Chunk } from "@memslot/indexing";

const maxCharacters = 16 * 1024 * 1024;

/** The chunks of files that were asked for lately, so that a file that is found again is not read again. */
export interface ChunkCache {
  get(key: string): readonly Chunk[] | undefined;
  set(key: string, chunks: readonly Chunk[]): void;
  delete(key: string): void;
}

/** Keeps what was used last, up to about 16 million characters. */
export function createChunkCache(): ChunkCache {
  const kept = new Map<string, { chunks: readonly Chunk[]; characters: number }>();
  let characters = 0;

  function drop(key: string): void {
    characters -= kept.get(key)?.characters ?? 0;
    kept.delete(key);
  }

  return {
    get(key) {
      const entry = kept.get(key);
      if (entry === undefined) return undefined;
      kept.delete(key);
      kept.set(key, entry);
      return entry.chunks;
    },
    set(key, chunks) {
      drop(key);
      // A text and its words.
      const size = chunks.reduce((sum, { text, terms }) => sum + text.length + terms.length, 0);
      kept.set(key, { chunks, characters: size });
      characters += size;
      for (const oldest of kept.keys()) {
        if (characters <= maxCharacters || oldest === key) break;
        drop(oldest);
      }
    },
    delete: drop,
  };
}
