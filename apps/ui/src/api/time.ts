import type { ConversationTime } from "@memslot/agent-kit";
import type { MemoryFile } from "@memslot/core";

/** One day with something on it. */
export interface TimeDay {
  /** `2026-03-05` */
  day: string;
  notes: number;
  bytes: number;
  lines: number;
  /** Conversations that were begun or went on that day. */
  sessions: number;
  /** How often conversations handed over what they dropped. */
  flushes: number;
}

/** `GET /api/time` */
export interface TimeAnswer {
  /** In their order; days with nothing on them are left out. */
  days: readonly TimeDay[];
  /** Notes of a week, a month or a year. */
  spans: number;
  /** Notes without a day. */
  undated: number;
  notes: number;
  sessions: number;
  flushes: number;
  /** What is not in `days`: only so many of each are looked at. */
  left: { notes: number; sessions: number; flushes: number };
  /** False: the backend cannot tell which notes there are. */
  told: boolean;
}

/** `GET /api/time/day?day=…` */
export interface DayAnswer {
  day: string;
  notes: readonly MemoryFile[];
  /** Notes of a week, a month or a year that the day is in. */
  spans: readonly MemoryFile[];
  sessions: readonly ConversationTime[];
  flushes: readonly ConversationTime[];
}
