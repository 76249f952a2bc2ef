import type { ConversationTime, HandOver, TranscriptFacts, TranscriptList, TranscriptPage } from "@memslot/agent-kit";

export interface SessionsAnswer extends TranscriptList {
  /** Compacted messages and their state: waiting ones first, then the newest. */
  handOvers: readonly HandOver[];
  /** Number of hand-over records. */
  handOverCount: number;
  broken: number;
  /** Dropped messages in the journal, latest first. */
  journal: readonly ConversationTime[];
  journalCount: number;
}

export type TranscriptAnswer = TranscriptPage;

/** `GET /api/sessions/facts?path=…`: totals of a transcript. */
export type TranscriptFactsAnswer = TranscriptFacts & { bytes: number };
