import type { ChunkRow, FileKey, FileRecord, FileTable, ScoredChunk, StoreFiles } from "@memslot/indexing";

export interface KeptChunk extends ChunkRow {
  hash: string;
}

interface KeptFile {
  file: FileRecord;
  chunks: KeptChunk[];
}

/** One build of the index: its files with their chunks. */
export interface InMemoryBuild {
  files(): FileRecord[];
  chunks(): KeptChunk[];
  /** The chunks that a store has found, as the index gives them back. */
  rowsOf(found: readonly ScoredChunk[]): (ChunkRow & { score: number })[];
  /**
   * Its files, for whoever writes. `stored` are those of the store, where they are found. `changed` is called after each
   * change, with the hashes that have come.
   */
  table(stored: StoreFiles, changed: (hashes: readonly string[]) => Promise<void>): FileTable;
}

/** `nextId` gives each chunk a name that no chunk of another build has. */
export function createInMemoryBuild(nextId: () => number): InMemoryBuild {
  const kept = new Map<string, KeptFile>();

  const files = (): FileRecord[] => [...kept.values()].map(({ file }) => ({ ...file }));
  const chunks = (): KeptChunk[] => [...kept.values()].flatMap((file) => file.chunks);

  return {
    files,
    chunks,
    rowsOf: (found) =>
      found.flatMap(({ startLine, hash, score, ...key }) => {
        const own = kept.get(keyOf(key))?.chunks.find((chunk) => chunk.startLine === startLine && chunk.hash === hash);
        return own === undefined ? [] : [{ ...rowOf(own), score }];
      }),
    table: (stored, changed) => ({
      listFiles: async () => files(),
      async replaceFiles(replaced) {
        for (const { chunks: added, fromLine = 0, ...file } of replaced) {
          const earlier = kept.get(keyOf(file))?.chunks.filter(({ startLine }) => startLine < fromLine) ?? [];
          const { path, source } = file;
          const rows = added.map(({ terms: _terms, ...chunk }) => ({ id: nextId(), path, source, ...chunk }));
          kept.set(keyOf(file), { file, chunks: [...earlier, ...rows] });
        }
        await stored.replaceFiles(replaced);
        await changed(replaced.flatMap((file) => file.chunks.map(({ hash }) => hash)));
      },
      async touchFiles(touched) {
        for (const file of touched) {
          const known = kept.get(keyOf(file));
          if (known !== undefined) known.file = { ...file };
        }
        await changed([]);
      },
      async removeFiles(removed) {
        for (const key of removed) kept.delete(keyOf(key));
        await stored.removeFiles(removed);
        await changed([]);
      },
    }),
  };
}

export function rowOf({ id, path, source, startLine, endLine, text, context }: KeptChunk): ChunkRow {
  return { id, path, source, startLine, endLine, text, context };
}

function keyOf({ path, source }: FileKey): string {
  return JSON.stringify([source, path]);
}
