import type { ConversationMessage, NewMessage, UserMessage } from "../conversation-messages.ts";

export interface SessionFacts {
  /** As the host names it: `agent:main:main`. */
  readonly key: string;
  readonly id: string;
  readonly file: string;
  /** Time of the last message or note, as ISO text. */
  readonly updatedAt: string;
  readonly compactionCount: number;
  readonly memoryFlushAt?: string | undefined;
  readonly memoryFlushCompactionCount?: number | undefined;
  readonly transcriptBytes: number;
  /** Bytes of the transcript behind its last compaction. */
  readonly bytesSinceCompaction: number;
  readonly brokenLines?: number | undefined;
}

export interface SessionContext {
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

export interface Session {
  readonly key: string;
  readonly id: string;
  readonly file: string;
  readonly context: SessionContext;
  /** The messages since the last compaction, with tool calls that were never answered, unlike `context`. */
  readonly recorded: readonly ConversationMessage[];
  readonly facts: SessionFacts;
  /** The last message of the user if it has no answer yet. A host that starts answers it. */
  readonly unanswered: UserMessage | undefined;
  readonly closed: boolean;
  /**
   * Writes messages, on disk when it resolves, and returns them with id and time; known ids are not written again.
   * Throws `INVALID_ARGUMENT` if one is invalid, and writes none; `UNAVAILABLE`.
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
  readonly folder: string;
  open(sessionKey: string): Promise<Session>;
  /** Closes the session of a key and begins another under the key. Keeps the transcript, and a session without messages. */
  reset(sessionKey: string): Promise<Session>;
  /** Every session with a key, the last used first. */
  list(): Promise<SessionFacts[]>;
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
