import { statSync } from "node:fs";
import { join } from "node:path";
import { type Chunk, type ChunkIndex, type IndexStats, withoutVectors } from "@memslot/indexing";
import type { ChunkCache } from "../ask/chunk-cache.ts";
import { keyOf, type Ledger, type LedgerFile } from "./ledger.ts";
import type { SessionExport } from "./session-export.ts";

/**
 * What the common sync writes to: the ledger in place of an index, as qmd makes its own of the same files. Searches and
 * checks do not come here.
 */
export function createFileStore(input: {
  folder: string;
  ledger: Ledger;
  cache: ChunkCache;
  sessions: SessionExport;
  readOnly: boolean;
}): ChunkIndex {
  const { folder, ledger, cache, sessions, readOnly } = input;
  const index = join(folder, "index.sqlite");
  return withoutVectors({
    listFiles: async () => [...ledger.files()],
    revision: async () => ledger.revision(),
    async replaceFiles(files) {
      for (const file of files) {
        const isKept = file.source === "sessions" && !readOnly;
        const chunks: readonly Chunk[] = isKept ? sessions.put(file) : file.chunks;
        ledger.put({ ...file, chunks });
        cache.set(keyOf(file), chunks);
      }
    },
    async touchFiles(files) {
      for (const file of files) ledger.touch(file);
    },
    async removeFiles(files) {
      for (const file of files) {
        ledger.remove(file);
        cache.delete(keyOf(file));
        if (file.source === "sessions" && !readOnly) sessions.remove(file.path);
      }
    },
    listChunks: async () => [],
    searchKeyword: async ({ terms }) => ({ rows: [], chunkCount: 0, documentFrequencies: terms.map(() => 0) }),
    async stats() {
      ledger.save();
      return statsOf(ledger.files(), index);
    },
    health: () => ({
      location: index,
      fts: { enabled: true, available: true },
      vector: { enabled: false },
      notices: [],
    }),
    close: async () => ledger.save(),
  });
}

function statsOf(files: readonly LedgerFile[], index: string): IndexStats {
  const names = [...new Set(files.map(({ source }) => source))].toSorted();
  const sources = names.map((source) => {
    const own = files.filter((file) => file.source === source);
    const sum = (field: "chunks" | "size" | "chunkBytes"): number =>
      own.reduce((total, file) => total + file[field], 0);
    return { source, files: own.length, chunks: sum("chunks"), bytes: sum("size"), chunkBytes: sum("chunkBytes") };
  });
  return {
    files: files.length,
    chunks: sources.reduce((sum, { chunks }) => sum + chunks, 0),
    sources,
    cachedVectors: 0,
    cachedVectorBytes: 0,
    databaseBytes: sizeOf(index),
    walBytes: sizeOf(`${index}-wal`),
    reusableBytes: 0,
  };
}

/** 0 for a file that is not there. */
export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
