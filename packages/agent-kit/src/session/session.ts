import type { ConversationMessage, NewMessage, UserMessage } from "../conversation.ts";

/** A session without its messages. */
export interface SessionFacts {
  /** As the host names it: `agent:main:main`. */
  readonly key: string;
  readonly id: string;
  /** The transcript, absolute. */
  readonly file: string;
  /** Time of the last message or note, as ISO text. */
  readonly updatedAt: string;
  readonly compactionCount: number;
  readonly memoryFlushAt?: string | undefined;
  readonly memoryFlushCompactionCount?: number | undefined;
  readonly transcriptBytes: number;
  /** Bytes of the transcript behind its last compaction. */
  readonly bytesSinceCompaction: number;
  /** Lines that cannot be read. Undefined while the session is not open. */
  readonly brokenLines?: number | undefined;
}

/** The context of a model: everything since the last compaction. */
export interface SessionContext {
  /** Of all compacted messages. */
  readonly summary?: string | undefined;
  /** Every tool call has exactly one result, directly behind it: model APIs refuse anything else. */
  readonly messages: readonly ConversationMessage[];
}

export interface SessionCompaction {
  readonly summary: string;
  /** The first message that stays in the context. Undefined: none. */
  readonly firstKeptId: string | undefined;
  readonly tokensBefore: number;
  /** The first message of the summarised context. If it is another one now: `BUSY`, and nothing is written. */
  readonly firstDroppedId?: string | undefined;
}

export interface SessionPatch {
  readonly memoryFlushAt?: string | undefined;
  readonly memoryFlushCompactionCount?: number | undefined;
  /** Fields of the host, as plain JSON. `undefined` removes a field. */
  readonly [more: string]: unknown;
}

/** A conversation that this process has open. Every call throws `CLOSED` after `close` and after a reset. */
export interface Session {
  readonly key: string;
  readonly id: string;
  /** The transcript, absolute. */
  readonly file: string;
  readonly context: SessionContext;
  /** The messages since the last compaction, with tool calls that were never answered, unlike `context`. */
  readonly recorded: readonly ConversationMessage[];
  readonly facts: SessionFacts;
  /** The last message of the user if it has no answer yet. A host that starts answers it. */
  readonly unanswered: UserMessage | undefined;
  readonly closed: boolean;
  /**
   * Writes messages, on disk when it resolves, and returns them with id and time. A message with a known id (since the last
   * compaction, or among the last 1,000 before) is not written again, and the known one is returned. Throws
   * `INVALID_ARGUMENT` if one of them is invalid, and writes none; `UNAVAILABLE` if the file cannot be written.
   */
  append(...messages: readonly NewMessage[]): Promise<ConversationMessage[]>;
  /** Writes the new begin of the context. The messages before stay in the transcript. */
  compact(compaction: SessionCompaction): Promise<void>;
  /** Sets fields of the session in `sessions.json`. */
  update(patch: SessionPatch): Promise<void>;
  /** Releases the session for another process. Can be called twice. */
  close(): Promise<void>;
}

/** The sessions of one agent: `<stateDir>/agents/<agentId>/sessions`. */
export interface Sessions {
  /** Of the transcripts and `sessions.json`, absolute. */
  readonly folder: string;
  /** Opens the session of a key, or begins one. Throws `BUSY` if another process has it open. */
  open(sessionKey: string): Promise<Session>;
  /** Closes the session of a key and begins another under the key. Keeps the transcript, and a session without messages. */
  reset(sessionKey: string): Promise<Session>;
  /** Every session with a key, the last used first. */
  list(): Promise<SessionFacts[]>;
  /** Closes all open sessions. */
  close(): Promise<void>;
}

export interface OpenSessionsOptions {
  stateDir: string;
  agentId: string;
  clock?: (() => Date) | undefined;
  /** Gets messages for the user: a damaged `sessions.json` that was set aside, a note that could not be written. */
  notify?: ((line: string) => void) | undefined;
  /** For new transcripts; the folder of this process if left out. */
  cwd?: string | undefined;
}
