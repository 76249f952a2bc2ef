import type {
  CompactReport,
  IndexCheck,
  IndexDetails,
  MemoryHealth,
  QuarantineRelease,
  SyncReport,
} from "@memslot/core";

/** `GET /api/health`: facts that events do not bring. */
export interface HealthAnswer {
  health: MemoryHealth;
  /** Tokens sent to embedding providers, newest day first. */
  usage: readonly UsageDay[];
  /** Last syncs, vectors and costs. Absent: unknown to the backend. */
  details?: IndexDetails | undefined;
}

export interface UsageDay {
  day: string;
  tokens: number;
  /** By the price of the current provider. Absent with other providers or an unknown price. */
  usd?: number | undefined;
}

export type HealthAction = "sync" | "force" | "check" | "fix" | "compact" | "release";

export interface ActionAnswer {
  sync?: SyncReport | undefined;
  check?: IndexCheck | undefined;
  compact?: CompactReport | undefined;
  release?: QuarantineRelease | undefined;
}
