import type { CompactReport, IndexCheck, SyncFailure, SyncReport } from "@memslot/core";

/** `GET /api/health`: what is not told by the state that events bring. */
export interface HealthAnswer {
  /** Files that were to be indexed and are not, each with what is wrong and what to do about it. */
  problems: readonly SyncFailure[];
  /** Tokens that were sent to embedding providers, the last day first. */
  usage: readonly { day: string; tokens: number }[];
}

/** `POST /api/health/<action>`: `sync`, `force`, `check`, `fix`, `compact`. */
export type HealthAction = "sync" | "force" | "check" | "fix" | "compact";

export interface ActionAnswer {
  sync?: SyncReport | undefined;
  check?: IndexCheck | undefined;
  compact?: CompactReport | undefined;
}
