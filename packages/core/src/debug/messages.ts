import type { SessionAudience } from "../contract/search.ts";

/**
 * What is told of every call: one object from its beginning to its end. What came of it is filled in at the end. There is
 * nothing of a note, of a query or of a key in any message, so that they may be written to any log: what was asked is told
 * as a count or a length.
 */
export interface CallMessage {
  /** Absent until the end. */
  outcome?: CallOutcome | undefined;
  /** Milliseconds from the beginning to the end. */
  tookMs?: number | undefined;
  /**
   * Set where the call failed: the code of a `MemoryError`, the kind of an `EmbeddingError` (`rate`, `auth`, …), the code of
   * the system or of a library (`ENOSPC`), `TIMEOUT`, or `UNKNOWN`. Never its message, which may quote what was sent.
   */
  errorCode?: string | undefined;
}

type CallOutcome = "ok" | "failed" | "aborted";

/** `memslot:search`: a call of `memory.search`, whatever the backend. */
export interface SearchMessage extends CallMessage {
  agentId: string;
  /** The id of the memory plugin that was asked. */
  backend: string;
  /** In UTF-16 units, as `length` counts. The query itself is the user's own words, and is told to nobody. */
  queryLength: number;
  /** What the call came to with the settings; these three are absent where its arguments were refused. */
  sources?: readonly string[] | undefined;
  maxResults?: number | undefined;
  audience?: SessionAudience | undefined;
  results?: number | undefined;
  /** Whether the answer can be taken at face value, as the search report says. */
  state?: string | undefined;
  /** What each leg gave, as far as the backend says. Absent where the leg did not run. */
  keywordCandidates?: number | undefined;
  vectorCandidates?: number | undefined;
}

/** `memslot:sync`: a call of `memory.sync`, or a look at the files that the index takes by itself. */
export interface SyncMessage extends CallMessage {
  agentId: string;
  backend: string;
  /** What asked for it, in the words of whoever did; `search`, `watch` and `interval` for a look of the index itself. */
  reason?: string | undefined;
  force?: boolean | undefined;
  /** Files. A look of the index itself counts as they come, and makes vectors behind it. */
  added?: number | undefined;
  changed?: number | undefined;
  removed?: number | undefined;
  unchanged?: number | undefined;
  failed?: number | undefined;
  /** Chunks whose vector is still to be made. */
  pendingVectors?: number | undefined;
}

/**
 * `memslot:embedding`: vectors that an index asks for, with all that is tried for them. What is sent for it is told by
 * `memslot:provider`; where nothing is, the vector was kept, the request was shared, or no request may be made now.
 */
export interface EmbeddingMessage extends CallMessage {
  provider: string;
  model: string;
  operation: "embedQuery" | "embedBatch";
  texts: number;
  /** Who wants the vectors: `search`, or the reason of a sync. */
  reason: string;
  /** Length of the vectors. */
  dimensions?: number | undefined;
}

/** `memslot:store`: a call to the store that keeps the chunks of an index. */
export interface StoreMessage extends CallMessage {
  agentId: string;
  backend: string;
  /** The name of the method, as `searchKeyword` or `startBuild`. */
  operation: string;
  /** How many files, hashes, vectors or terms it was given, where it was given a list. */
  given?: number | undefined;
  /** How many rows it gave back, where it gives back a list. */
  found?: number | undefined;
}

/** `memslot:provider`: one request to an embedding provider, sent once. Each attempt is one of its own. */
export interface ProviderMessage extends CallMessage {
  provider: string;
  model: string;
  /** The name of the method, as `embedBatch`, `prepare` or `batches.submit`. */
  operation: string;
  /** Absent where none are sent. */
  texts?: number | undefined;
  /** Counted from 1; absent where a request is sent once. */
  attempt?: number | undefined;
  /** As the provider says; absent where it does not. */
  tokens?: number | undefined;
}

/** The channels by name, without the `memslot:` before it, with what is published there. */
export interface CallMessages {
  search: SearchMessage;
  sync: SyncMessage;
  embedding: EmbeddingMessage;
  store: StoreMessage;
  provider: ProviderMessage;
}

export type ChannelName = keyof CallMessages;
