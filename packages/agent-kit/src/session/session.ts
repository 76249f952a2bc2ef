import type { ConversationMessage, NewMessage, UserMessage } from "../conversation.ts";

/** What is known of a session without reading its messages. */
export interface SessionFacts {
  /** As the host names it: `agent:main:main`. */
  readonly key: string;
  readonly id: string;
  /** The transcript, absolute. */
  readonly file: string;
  /** When something was last said or noted, as ISO text. */
  readonly updatedAt: string;
  /** How often the conversation was compacted, by the transcript. */
  readonly compactionCount: number;
  /** When the last flush ran, as ISO text. */
  readonly memoryFlushAt?: string | undefined;
  /** The `compactionCount` at that time. */
  readonly memoryFlushCompactionCount?: number | undefined;
  readonly transcriptBytes: number;
  /** Bytes of the transcript behind its last compaction, all of it where there was none. */
  readonly bytesSinceCompaction: number;
  /** Lines that could not be read and were passed over. Undefined while the session is not open. */
  readonly brokenLines?: number | undefined;
}

/** What a model is given of a session: everything since the last compaction. */
export interface SessionContext {
  /** Of what was compacted; it holds the summaries before it too. */
  readonly summary?: string | undefined;
  /** Every tool call in it has exactly one result, right behind it: model APIs refuse anything else. */
  readonly messages: readonly ConversationMessage[];
}

export interface SessionCompaction {
  readonly summary: string;
  /** The first message that stays in the context. Undefined: none does. */
  readonly firstKeptId: string | undefined;
  /** Estimated tokens of the context before. */
  readonly tokensBefore: number;
  /**
   * The message that the context began with when the summary was made. Where it begins with another one by now, the
   * session was compacted meanwhile: `BUSY`, and nothing is written.
   */
  readonly firstDroppedId?: string | undefined;
}

export interface SessionPatch {
  readonly memoryFlushAt?: string | undefined;
  readonly memoryFlushCompactionCount?: number | undefined;
  /** Anything that a host keeps with the session, as plain JSON. `undefined` takes a field away. */
  readonly [more: string]: unknown;
}

/** An open conversation. One process at a time has it. Every call throws `CLOSED` after `close` and after a reset. */
export interface Session {
  readonly key: string;
  readonly id: string;
  /** The transcript, absolute. */
  readonly file: string;
  readonly context: SessionContext;
  /**
   * The messages since the last compaction as the transcript has them, with tool calls that were never answered.
   * `context` leaves those out.
   */
  readonly recorded: readonly ConversationMessage[];
  readonly facts: SessionFacts;
  /** The last user message, while no final text of the assistant came after it. A host that starts answers it. */
  readonly unanswered: UserMessage | undefined;
  /** True after `close`, and after a reset of its key. */
  readonly closed: boolean;
  /**
   * Writes messages down: they are on the disk when this resolves. Gives them with id and time. A message whose id is
   * there already (since the last compaction, or among the last 1,000 before) is not written again, and what is there is
   * given back: with ids of its own a host can say a message twice after a failure. Throws `INVALID_ARGUMENT` for what
   * is no message, and then writes none of them; `UNAVAILABLE` where the file cannot be written.
   */
  append(...messages: readonly NewMessage[]): Promise<ConversationMessage[]>;
  /** Writes one line that says what the context begins with from now on. The messages before stay in the transcript. */
  compact(compaction: SessionCompaction): Promise<void>;
  /** Notes something about the session in `sessions.json`. */
  update(patch: SessionPatch): Promise<void>;
  /** Gives the session free for another process. Twice is fine. */
  close(): Promise<void>;
}

/** The sessions of one agent: `<stateDir>/agents/<agentId>/sessions`. */
export interface Sessions {
  /** Where the transcripts and `sessions.json` are, absolute. */
  readonly folder: string;
  /**
   * Opens the session of a key, or begins one. The same key gives the same session until that is closed. Throws `BUSY`
   * where another process has it.
   */
  open(sessionKey: string): Promise<Session>;
  /**
   * Ends the session of a key and begins another under the key. The transcript of the one that ended stays, an open
   * `Session` of it is closed. Where nothing was said yet, the session stays the one that it is.
   */
  reset(sessionKey: string): Promise<Session>;
  /** Every session that has a key, the last used first. */
  list(): Promise<SessionFacts[]>;
  /** Closes all open sessions. */
  close(): Promise<void>;
}

export interface OpenSessionsOptions {
  stateDir: string;
  agentId: string;
  clock?: (() => Date) | undefined;
  /** Takes what a person should know: a damaged `sessions.json` that was set aside, a note that could not be written. */
  notify?: ((line: string) => void) | undefined;
  /** Noted in new transcripts; the folder of this process if left out. */
  cwd?: string | undefined;
}
