import type { ConversationTime, HandOver, TranscriptFacts, TranscriptList, TranscriptPage } from "@memslot/agent-kit";

/** `GET /api/sessions` */
export interface SessionsAnswer extends TranscriptList {
  /** What left conversations, and what became of it: what waits first, then the newest. */
  handOvers: readonly HandOver[];
  /** Records of hand-overs, and those of them that cannot be read. */
  handOverCount: number;
  broken: number;
  /** What the journal keeps of what was dropped, the latest first; and how many files there are. */
  journal: readonly ConversationTime[];
  journalCount: number;
}

/** `GET /api/sessions/read?path=…&from=…` or `&before=…`: a part of a transcript, or of a file of the journal. */
export type TranscriptAnswer = TranscriptPage;

/** `GET /api/sessions/facts?path=…`: what all of it comes to. */
export type TranscriptFactsAnswer = TranscriptFacts & { bytes: number };
