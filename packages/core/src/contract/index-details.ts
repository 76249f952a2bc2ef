import type { EmbeddingPrice } from "./embedding.ts";

/** One sync that was asked for, has changed something, or has failed. */
export interface SyncRecord {
  /** What asked for it: `cli`, `search`, `watch`. For people to read. */
  reason: string;
  /** ISO 8601. */
  finishedAt: string;
  durationMs: number;
  /** Files. Absent where the sync has failed as a whole. */
  added?: number | undefined;
  changed?: number | undefined;
  removed?: number | undefined;
  unchanged?: number | undefined;
  failed?: number | undefined;
  /** Why it failed as a whole. */
  error?: string | undefined;
}

/** Vectors that may be compared with each other, and how many there are. */
export interface SpaceDetails {
  provider: string;
  model: string;
  dimensions: number;
  vectors: number;
  /** Whether questions are compared with it now. */
  inUse: boolean;
}

/** What is told of an index when somebody asks: it is read for the answer, so that it is no part of the status. */
export interface IndexDetails {
  /** The last of them, over all processes and runs, the newest first; at most 100. */
  syncs: readonly SyncRecord[];
  /** Those that have vectors, the one that was written to last first. */
  spaces: readonly SpaceDetails[];
  /** What the provider in use costs. Absent where that is not known. */
  price?: EmbeddingPrice | undefined;
}

/** What is tried again from now on. */
export interface QuarantineRelease {
  /** Chunks that the provider had refused. The next sync sends them once more. */
  chunks: number;
}
