import type { ConversationTime } from "@memslot/agent-kit";
import type { MemoryFile } from "@memslot/core";

/** A day with content. */
export interface TimeDay {
  day: string;
  notes: number;
  bytes: number;
  lines: number;
  /** Conversations that started or continued on that day. */
  sessions: number;
  /** Number of flushes. */
  flushes: number;
}

export interface TimeAnswer {
  /** In order, without empty days. */
  days: readonly TimeDay[];
  /** Notes of a week, a month or a year. */
  spans: number;
  /** Notes without a day. */
  undated: number;
  notes: number;
  sessions: number;
  flushes: number;
  /** Entries beyond the limits, which are not in `days`. */
  left: { notes: number; sessions: number; flushes: number };
  /** False: the backend cannot list notes. */
  told: boolean;
}

export interface DayAnswer {
  day: string;
  notes: readonly MemoryFile[];
  /** Notes of a week, a month or a year that includes the day. */
  spans: readonly MemoryFile[];
  sessions: readonly ConversationTime[];
  flushes: readonly ConversationTime[];
}
