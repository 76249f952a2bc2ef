import type { HandOver } from "./hand-overs.ts";
import type { TranscriptRecall } from "./recalls.ts";
import type { ShownText } from "./transcript.ts";

/** One compaction: what left the context, and where that stands now. */
export interface TranscriptCompaction extends ShownText {
  /** Where its line begins, in bytes. `text` is its summary. */
  start: number;
  at?: string | undefined;
  /** Messages that left the context with it. */
  dropped: number;
  /** The same by where they stand beside the transcript. The rest stands in the transcript alone. */
  fates: Readonly<Partial<Record<HandOver["state"] | "kept", number>>>;
}

/** What a whole transcript comes to. */
export interface TranscriptFacts {
  sessionId?: string | undefined;
  sessionKey?: string | undefined;
  /** The first thing that the user said, shortened. */
  title?: string | undefined;
  /** Of its first and last line with a time (ISO 8601). */
  from?: string | undefined;
  to?: string | undefined;
  /** Of user and assistant, and what tools gave. */
  messages: number;
  results: number;
  broken: number;
  /** In their order, the last 100; and how many there are. */
  compactions: readonly TranscriptCompaction[];
  compactionCount: number;
  /** What was asked of the memory, the last 200; and how many there are. */
  recalls: readonly TranscriptRecall[];
  recallCount: number;
}
