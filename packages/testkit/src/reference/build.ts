import type { Chunk, ChunkRow, IndexedFile, FileKey, FileTable, KeywordQuery, FileRecord } from "@memslot/indexing";
import { type WordCounts, countWords } from "../helpers/bm25.ts";

export interface KeptChunk extends ChunkRow {
  hash: string;
  words: WordCounts;
}

interface KeptFile {
  file: FileRecord;
  chunks: KeptChunk[];
}

/** One build of the index: its files with their chunks. */
export interface InMemoryBuild {
  files(): FileRecord[];
  chunks(): KeptChunk[];
  /** Its files, for whoever writes. `changed` is called after each change. */
  table(changed: () => void): FileTable;
}

/** `nextId` gives each chunk a name that no chunk of another build has. */
export function createInMemoryBuild(nextId: () => number): InMemoryBuild {
  const kept = new Map<string, KeptFile>();

  function keep(key: FileKey, chunk: Chunk): KeptChunk {
    const { startLine, endLine, text, context, terms, hash } = chunk;
    const { path, source } = key;
    return { id: nextId(), path, source, startLine, endLine, text, context, hash, words: countWords(terms) };
  }
  function replace({ chunks, fromLine = 0, ...file }: IndexedFile): void {
    const earlier = kept.get(keyOf(file))?.chunks.filter(({ startLine }) => startLine < fromLine) ?? [];
    kept.set(keyOf(file), { file, chunks: [...earlier, ...chunks.map((chunk) => keep(file, chunk))] });
  }
  const files = (): FileRecord[] => [...kept.values()].map(({ file }) => ({ ...file }));

  return {
    files,
    chunks: () => [...kept.values()].flatMap(({ chunks }) => chunks),
    table: (changed) => ({
      listFiles: async () => files(),
      async replaceFiles(replaced) {
        for (const file of replaced) replace(file);
        changed();
      },
      async touchFiles(touched) {
        for (const file of touched) {
          const known = kept.get(keyOf(file));
          if (known !== undefined) known.file = { ...file };
        }
        changed();
      },
      async removeFiles(removed) {
        for (const key of removed) kept.delete(keyOf(key));
        changed();
      },
    }),
  };
}

/** True for a file of the sources and of the scope that a search names. */
export function isAsked(
  { path, source }: FileKey,
  { sources, scope }: Pick<KeywordQuery, "sources" | "scope">,
): boolean {
  const isAt = (place: string): boolean =>
    place === "" || place === path || (place.endsWith("/") && path.startsWith(place));
  if (!sources.includes(source)) return false;
  return scope === undefined || (scope.within.some(isAt) && !scope.without.some(isAt));
}

export function rowOf({ id, path, source, startLine, endLine, text, context }: KeptChunk): ChunkRow {
  return { id, path, source, startLine, endLine, text, context };
}

export function best<Row extends { score: number }>(rows: Row[], limit: number): Row[] {
  return rows.toSorted((left, right) => right.score - left.score).slice(0, limit);
}

function keyOf({ path, source }: FileKey): string {
  return JSON.stringify([source, path]);
}
