import { join } from "node:path";
import type { Chunk, ChunkRow, ChunkStore, FileChunks, FileTable, ScoredChunk, StoreFiles } from "@memslot/indexing";
import { openSqliteStore, type SqliteStoreOptions } from "@memslot/memory-core";

type Row = ChunkRow & { score: number };

const nameOf = ({ context, text }: Pick<Chunk, "context" | "text">): string =>
  JSON.stringify([context, text].map((part) => part.toWellFormed()));

/** Opens the index of memory-core as the store that it could be, so that what every store promises is proved of it, too. */
export function storesWith(vector: SqliteStoreOptions["vector"]): (stateDir: string) => Promise<Required<ChunkStore>> {
  /** The hash of each chunk, by its text: the rows of an index do not tell it. */
  const hashes = new Map<string, string>();

  const filesOf = (table: FileTable): StoreFiles => ({
    listFiles: async () =>
      (await table.listFiles()).map(({ path, source, hash, recipe }) => ({ path, source, hash, recipe })),
    async replaceFiles(files) {
      for (const { chunks } of files) for (const chunk of chunks) hashes.set(nameOf(chunk), chunk.hash);
      await table.replaceFiles(files.map((file: FileChunks) => ({ ...file, mtimeMs: 1, size: 1 })));
    },
    async removeFiles(files) {
      await table.removeFiles(files);
    },
  });
  const scored = ({ path, source, startLine, score, ...row }: Row): ScoredChunk => {
    return { path, source, startLine, hash: hashes.get(nameOf(row)) ?? "", score };
  };

  return async (stateDir) => {
    const [path, locksDir] = [join(stateDir, "main.sqlite"), join(stateDir, "locks")];
    const index = await openSqliteStore({ path, locksDir, vector, cacheMaxEntries: 1000 });
    return {
      ...filesOf(index),
      putVectors: (space, entries) => index.putVectors(space, entries),
      async searchKeyword(query, options) {
        const { rows, ...counts } = await index.searchKeyword(query, options);
        return { ...counts, rows: rows.map(scored) };
      },
      searchVector: async (query, options) => ({ rows: (await index.searchVector(query, options)).rows.map(scored) }),
      async stats() {
        const { chunks, databaseBytes, walBytes } = await index.stats();
        const { location, notices } = index.health();
        return { location, chunks, bytes: databaseBytes + walBytes, notices };
      },
      close: () => index.close(),
      build: async (name) => ({
        ...filesOf(await index.startBuild(name)),
        finish: () => index.finishBuild(),
        abandon: () => index.abandonBuild(),
      }),
      compact: () => index.compact(),
      revision: () => index.revision({ fresh: true }),
    };
  };
}
