import type { Chunk, ChunkIndex, ChunkRow, FileChunks, FileTable, StoreFiles } from "@memslot/indexing";
import type { ChunkStore, ScoredChunk } from "@memslot/indexing";

type Row = ChunkRow & { score: number };

/** The hash of each chunk, by its text: the rows of an index do not tell it. Several stores on one place share it. */
export type HashTable = Map<string, string>;

const nameOf = ({ context, text }: Pick<Chunk, "context" | "text">): string =>
  JSON.stringify([context, text].map((part) => part.toWellFormed()));

/** An index as the store that it could be, so that what every store promises is proved of it, too. */
export function storeOfIndex(index: ChunkIndex, hashes: HashTable): ChunkStore {
  const { builds, upkeep, revision } = index;

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

  return {
    ...filesOf(index),
    putVectors: (space, entries) => index.putVectors(space, entries),
    async searchKeyword(query) {
      const { rows, ...counts } = await index.searchKeyword(query);
      return { ...counts, rows: rows.map(scored) };
    },
    searchVector: async (query) => ({ rows: (await index.searchVector(query)).rows.map(scored) }),
    async stats() {
      const { chunks, databaseBytes, walBytes } = await index.stats();
      const { location, notices } = index.health();
      return { location, chunks, bytes: databaseBytes + walBytes, notices };
    },
    close: () => index.close(),
    ...(builds && {
      build: async (name) => ({
        ...filesOf(await builds.start(name)),
        finish: () => builds.finish(),
        abandon: () => builds.abandon(),
      }),
    }),
    ...(upkeep && { compact: () => upkeep.compact() }),
    ...(revision && { revision: () => revision.call(index, { fresh: true }) }),
  };
}
