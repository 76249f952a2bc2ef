import path from "node:path";
import type { MemorySearchSettings } from "@memslot/core";
import { type FoundChunk, readChunks, stampInNote, stampOf } from "@memslot/indexing";
import type { ChunkCache } from "./chunk-cache.ts";
import { keyOf, type LedgerFile } from "../update/ledger.ts";
import type { SessionExport } from "../update/session-export.ts";
import { statSync } from "node:fs";

const readsAtOnce = 8;

/** Gives the chunks of memory files as they are now; nothing of one that is gone or cannot be read. */
export type TextReader = (files: readonly LedgerFile[], signal: AbortSignal) => Promise<FoundChunk[]>;

/** Notes are read from their own files and transcripts from what was kept when they were exported. */
export function createTextReader(input: {
  workspaceDir: string;
  settings: Pick<MemorySearchSettings, "chunking">;
  cache: ChunkCache;
  sessions: SessionExport;
}): TextReader {
  const { workspaceDir, settings, cache, sessions } = input;

  async function chunksOf(file: LedgerFile, signal: AbortSignal): Promise<FoundChunk[]> {
    const named = ({ ...chunk }: Omit<FoundChunk, "path" | "source">): FoundChunk => {
      const { path: shown, source } = file;
      return { ...chunk, path: shown, source };
    };
    const absolutePath = path.resolve(workspaceDir, file.path);
    const isSession = file.source === "sessions";
    const stats = isSession ? undefined : statSync(absolutePath, { throwIfNoEntry: false, bigint: true });
    if (!isSession && stats?.isFile() !== true) return [];
    const isAsKnown = isSession || (stats !== undefined && stampOf(stats) === stampInNote(file));
    const known = isAsKnown ? cache.get(keyOf(file)) : undefined;
    if (known) return known.map(named);
    if (isSession) {
      const kept = sessions.read(file.path) ?? [];
      cache.set(keyOf(file), kept);
      return kept.map(named);
    }
    const scanned = { path: file.path, absolutePath, mtimeMs: file.mtimeMs, size: file.size };
    const read = await readChunks(scanned, file.source, undefined, settings.chunking, signal);
    const chunks = read?.changed?.chunks ?? [];
    if (isAsKnown && read?.record.hash === file.hash) cache.set(keyOf(file), chunks);
    return chunks.map(named);
  }

  return async (files, signal) => {
    const found: FoundChunk[][] = [];
    for (let from = 0; from < files.length; from += readsAtOnce) {
      const some = files.slice(from, from + readsAtOnce);
      // One that cannot be read is reported by the sync, which looks at each of them.
      const read = some.map((file) =>
        chunksOf(file, signal).catch((error: unknown) => {
          if (signal.aborted) throw error;
          return [];
        }),
      );
      found.push(...(await Promise.all(read)));
    }
    return found.flat();
  };
}
