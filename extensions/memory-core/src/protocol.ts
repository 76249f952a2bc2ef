import type { ChunkStore, StoreHealth } from "@memslot/indexing";
import type { MemoryErrorCode } from "@memslot/core";

/** The calls of a store that are answered by its worker. */
export type StoreMethod = Exclude<keyof ChunkStore, "health" | "close">;

/** The store as it is inside the worker: the calls of `ChunkStore`, answered at once. */
export type DatabaseStore = {
  [Method in StoreMethod]: (...args: Parameters<ChunkStore[Method]>) => Awaited<ReturnType<ChunkStore[Method]>>;
} & {
  health(): StoreHealth;
  /** A small piece of work that can wait, done between calls. True: there may be more. Never throws. */
  tidy(): boolean;
  close(): void;
};

export interface OpenOptions {
  path: string;
  /** False: an index that is not there is kept in memory. */
  mayCreate?: boolean | undefined;
  vector: { enabled: boolean; extensionPath?: string | undefined };
  cacheMaxEntries: number;
  /** How long one attempt to lock the file may take. */
  busyTimeoutMs: number;
  /** Behave as if this build of SQLite had no FTS5. */
  disableFts: boolean;
}

export type Request =
  | { id: number; method: "open"; args: readonly [OpenOptions] }
  | { id: number; method: StoreMethod; args: readonly unknown[] }
  | { id: number; method: "close"; args: readonly [] };

export interface Reply {
  id: number;
  result?: unknown;
  error?: { code: MemoryErrorCode; message: string; cause?: string | undefined } | undefined;
  /** Sent when it has changed. */
  health?: StoreHealth | undefined;
}
