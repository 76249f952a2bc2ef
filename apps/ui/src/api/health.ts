import type {
  CompactReport,
  IndexCheck,
  IndexDetails,
  MemoryHealth,
  QuarantineRelease,
  SyncReport,
} from "@memslot/core";

/** `GET /api/health`: what is not told by the state that events bring. */
export interface HealthAnswer {
  health: MemoryHealth;
  /** Tokens that were sent to embedding providers, the last day first. */
  usage: readonly UsageDay[];
  /** The last syncs, the vectors that there are, and what the provider in use costs. Absent: the backend does not tell. */
  details?: IndexDetails | undefined;
}

export interface UsageDay {
  day: string;
  tokens: number;
  /** What they cost, by the price of the provider in use. Absent where others were asked that day, or the price is not known. */
  usd?: number | undefined;
}

/** `POST /api/health/<action>` */
export type HealthAction = "sync" | "force" | "check" | "fix" | "compact" | "release";

export interface ActionAnswer {
  sync?: SyncReport | undefined;
  check?: IndexCheck | undefined;
  compact?: CompactReport | undefined;
  release?: QuarantineRelease | undefined;
}
