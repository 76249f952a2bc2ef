import type { SessionAudience } from "../contract/search.ts";

/** One object per call, filled in at its end. Contains counts and lengths, never text of notes, queries or keys. */
export interface CallMessage {
  outcome?: CallOutcome | undefined;
  tookMs?: number | undefined;
  /** Code of the failure (`MemoryError`, `EmbeddingError`, system, `TIMEOUT`, `UNKNOWN`), never its message. */
  errorCode?: string | undefined;
}

type CallOutcome = "ok" | "failed" | "aborted";

/** `memslot:search`: a call of `memory.search`, whatever the backend. */
export interface SearchMessage extends CallMessage {
  agentId: string;
  backend: string;
  /** In UTF-16 units. The query itself is never published. */
  queryLength: number;
  sources?: readonly string[] | undefined;
  maxResults?: number | undefined;
  audience?: SessionAudience | undefined;
  results?: number | undefined;
  state?: string | undefined;
  /** Candidates of each retriever, if reported. Absent if the retriever did not run. */
  keywordCandidates?: number | undefined;
  vectorCandidates?: number | undefined;
}

/** `memslot:sync`: a call of `memory.sync`, or a scan started by the index itself. */
export interface SyncMessage extends CallMessage {
  agentId: string;
  backend: string;
  /** Reason given by the caller; `search`, `watch` and `interval` for a scan of the index itself. */
  reason?: string | undefined;
  force?: boolean | undefined;
  /** Files. */
  added?: number | undefined;
  changed?: number | undefined;
  removed?: number | undefined;
  unchanged?: number | undefined;
  failed?: number | undefined;
  pendingVectors?: number | undefined;
}

/** `memslot:embedding`: an embedding call of an index with all attempts; its requests are in `memslot:provider`. */
export interface EmbeddingMessage extends CallMessage {
  provider: string;
  model: string;
  operation: "embedQuery" | "embedBatch";
  texts: number;
  reason: string;
  dimensions?: number | undefined;
}

export interface StoreMessage extends CallMessage {
  agentId: string;
  backend: string;
  operation: string;
  given?: number | undefined;
  found?: number | undefined;
}

/** `memslot:provider`: one request to an embedding provider, sent once. Each attempt is one of its own. */
export interface ProviderMessage extends CallMessage {
  provider: string;
  model: string;
  operation: string;
  texts?: number | undefined;
  /** Counted from 1; absent if a request is sent once. */
  attempt?: number | undefined;
  tokens?: number | undefined;
}

export interface CallMessages {
  search: SearchMessage;
  sync: SyncMessage;
  embedding: EmbeddingMessage;
  store: StoreMessage;
  provider: ProviderMessage;
}

export type ChannelName = keyof CallMessages;
