import type { MemoryProviderStatus, SyncProgress } from "@memslot/core";

/** One event of `GET /api/events`. The first after connecting is `status`. */
export type UiEvent =
  | { type: "status"; status: MemoryProviderStatus }
  /** The index has changed: reload the displayed data. */
  | { type: "changed" }
  /** Progress of a requested sync; `done` is the last event. */
  | { type: "sync"; progress: SyncProgress | undefined; done: boolean };
