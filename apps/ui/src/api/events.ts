import type { MemoryProviderStatus, SyncProgress } from "@memslot/core";

/** One event of `GET /api/events`. The first after connecting is `status`. */
export type UiEvent =
  | { type: "status"; status: MemoryProviderStatus }
  /** The index holds other notes than before: what is shown may be asked for again. */
  | { type: "changed" }
  /** How far a sync is that the page has asked for; `done` is the last of it. */
  | { type: "sync"; progress: SyncProgress | undefined; done: boolean };
