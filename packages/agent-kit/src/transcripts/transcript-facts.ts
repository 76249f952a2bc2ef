import type { HandOver } from "./compacted-messages.ts";
import type { ShownText } from "./transcript-types.ts";

export interface TranscriptCompaction extends ShownText {
  /** The begin of its line, in bytes. `text` is its summary. */
  start: number;
  at?: string | undefined;
  dropped: number;
  /** The same by their state outside the transcript. The rest is in the transcript only. */
  fates: Readonly<Partial<Record<HandOver["state"] | "kept", number>>>;
}

export interface TranscriptRecall {
  /** The begin of the line with the call, in bytes. */
  start: number;
  at?: string | undefined;
  /** `memory_search` or `memory_get`. */
  tool: string;
  question: string;
  /** `path:line` of the results, at most 20, and their number. Absent if the transcript has no result. */
  results?: readonly string[] | undefined;
  resultCount?: number | undefined;
  /** The text of a result that is not a list: an error, or an unknown form. */
  said?: string | undefined;
}

export interface TranscriptFacts {
  sessionId?: string | undefined;
  sessionKey?: string | undefined;
  /** The first message of the user, shortened. */
  title?: string | undefined;
  /** Of the first and last line with a time (ISO 8601). */
  from?: string | undefined;
  to?: string | undefined;
  /** Of user and assistant, and tool results. */
  messages: number;
  results: number;
  broken: number;
  /** The last 100, in their order, and their number. */
  compactions: readonly TranscriptCompaction[];
  compactionCount: number;
  /** The last 200, and their number. */
  recalls: readonly TranscriptRecall[];
  recallCount: number;
}
