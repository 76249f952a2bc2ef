import { type CompactionSettings, MemoryError, messageOf, sessionKindOf, withDeadline } from "@memslot/core";
import { SerialQueue } from "@memslot/core/host";
import type { ConversationMessage } from "../conversation-messages.ts";
import type { Session } from "../session/session-types.ts";
import { openFlushJournal } from "./flush-journal.ts";
import {
  type FlushModel,
  type FlushReport,
  type SaveContext,
  saveEntry,
  saveInline,
  type SavedEntry,
} from "./save-messages.ts";

export type FlushSession = Pick<Session, "key" | "id" | "facts" | "update">;

export interface MemoryFlushOptions extends FlushModel {
  readonly stateDir: string;
  readonly session: FlushSession;
  readonly clock?: (() => Date) | undefined;
  readonly onReport?: ((report: FlushReport) => void) | undefined;
  /** Waits between the tries of one round; 1 s and 2 s if left out, which makes three tries. */
  readonly retryDelaysMs?: readonly number[] | undefined;
}

/** Saves to the notes what a conversation is about to lose, in the background of the user's turns. */
export interface MemoryFlush {
  /** After a turn, with the messages of the context: starts a flush if `shouldFlush` says so. Never throws. */
  afterTurn(state: FlushState, messages: readonly ConversationMessage[]): FlushDecision;
  /**
   * Before a host drops these messages: resolves as soon as they are safe. Throws `UNAVAILABLE` if neither the journal
   * nor the notes can be written (drop nothing then), `CLOSED`, and an `AbortError`.
   */
  beforeDrop(
    messages: readonly ConversationMessage[],
    options?: { signal?: AbortSignal | undefined },
  ): Promise<DropReceipt>;
  /** Starts what the journal of the agent holds. For the start of a session. */
  retry(): void;
  /** Waits for running work. Returns the report of the last flush; undefined if there was nothing to do. */
  settled(): Promise<FlushReport | undefined>;
  readonly status: {
    /** Entries of this session key in the journal. */
    readonly pending: number;
    readonly lastReport?: FlushReport | undefined;
    readonly notices: readonly string[];
  };
  /** Ends running work; the journal keeps what is not done. Can be called twice. */
  close(): Promise<void>;
}

export interface DropReceipt {
  /** `saved`: without the journal, so the model got them at once. `skipped`: nothing is kept, see `reason`. */
  readonly state: "journaled" | "nothing" | "saved" | "off" | "skipped";
  readonly reason?: string | undefined;
  readonly messages: number;
}

const journalDeadlineMs = 10_000;

/** The flush of one session; none for groups. Throws `INVALID_ARGUMENT` for the session of another agent. */
export async function createMemoryFlush(options: MemoryFlushOptions): Promise<MemoryFlush> {
  const { agent, stateDir, session } = options;
  const { retryDelaysMs = [1_000, 2_000], clock = () => new Date() } = options;
  if (sessionKindOf(session.key, agent.id, agent.ownerAllowFrom) === "group")
    return noFlush(
      "skipped",
      "skipped: the conversation of a group, or with a peer who is not the owner, is not written to private notes",
    );
  if (!agent.compaction.memoryFlush.enabled) return noFlush("off", flushIsOff);

  const { journalDays } = agent.compaction.memoryFlush;
  const journal = await openFlushJournal({ stateDir, agentId: agent.id, now: clock(), journalDays });
  const context: SaveContext = { ...options, journal, clock, retryDelaysMs };
  const notices: string[] = [];
  const closer = new AbortController();
  const closing = closer.signal;
  const queue = new SerialQueue();
  const additions = new SerialQueue();
  let lastReport: FlushReport | undefined;
  let currentReport: FlushReport | undefined;
  let busyCycle: number | undefined;

  function report(given: FlushReport): void {
    [lastReport, currentReport] = [given, given];
    try {
      options.onReport?.(given);
    } catch (error) {
      notices.push(`onReport failed: ${messageOf(error)}`);
    }
  }

  const reportError = (error: unknown): void =>
    report({ state: "failed", reason: messageOf(error), entries: [], messages: 0, tries: 0, days: [] });

  /** A record that cannot be written does not undo the flush. */
  async function noteInSession(patch: Parameters<FlushSession["update"]>[0]): Promise<void> {
    await session.update(patch).catch((error: unknown) => {
      notices.push(`the record of session ${session.key} could not be written: ${messageOf(error)}`);
    });
  }

  async function noteFlush(compactionCount: number): Promise<void> {
    // Entries of an earlier cycle do not undo that this one has had its flush.
    const before = session.facts.memoryFlushCompactionCount ?? 0;
    await noteInSession({
      memoryFlushAt: clock().toISOString(),
      memoryFlushCompactionCount: Math.max(before, compactionCount),
      memoryFlushError: undefined,
    });
  }

  async function noteEntry({ record, report: { state, reason } }: SavedEntry): Promise<void> {
    if (record.sessionId !== session.id) return;
    if (state === "failed" || state === "skipped") await noteInSession({ memoryFlushError: reason });
    else await noteFlush(record.compactionCount);
  }

  async function add(
    messages: readonly ConversationMessage[],
    compactionCount: number,
    signal?: AbortSignal | undefined,
  ): Promise<number> {
    const what = `the journal of the memory flush in ${journal.folder}`;
    const limits = { what, deadlineMs: journalDeadlineMs, signals: [signal, closing] };
    const run = async (): Promise<number> => {
      if (journal.unknownOf(session.id, messages).length === 0) return 0;
      await journal.refresh();
      const fresh = journal.unknownOf(session.id, messages);
      if (fresh.length === 0) return 0;
      signal?.throwIfAborted();
      const { key: sessionKey, id: sessionId } = session;
      await journal.add({ sessionKey, sessionId, compactionCount, createdAt: clock().toISOString(), messages: fresh });
      return fresh.length;
    };
    return await withDeadline(limits, () => additions.run(run));
  }

  async function saveEntries(sessionKey?: string): Promise<void> {
    await journal.refresh();
    for (const name of journal.entryNames(sessionKey)) {
      closing.throwIfAborted();
      try {
        const saved = await saveEntry(name, context, closing);
        if (saved === undefined) continue;
        await noteEntry(saved);
        report(saved.report);
      } catch (error) {
        closing.throwIfAborted();
        reportError(error);
      }
    }
  }

  function renew(): void {
    if (queue.isIdle) currentReport = undefined;
  }

  function start(run: () => Promise<void>): void {
    renew();
    void queue.run(async () => {
      try {
        if (!closing.aborted) await run();
      } catch (error) {
        if (!closing.aborted) reportError(error);
      }
    });
  }

  const pending = (): number => journal.entryNames(session.key).length;

  return {
    afterTurn(state, given) {
      if (closing.aborted) return no("the memory flush is closed");
      const decision = shouldFlush(state, agent.compaction);
      if (!decision.flush) return decision;
      if (busyCycle === state.compactionCount) return no("a flush of this cycle is running");
      busyCycle = state.compactionCount;
      // At once, so that a drop which follows finds them in the journal.
      const adding = add([...given], state.compactionCount);
      adding.catch(() => undefined); // The work below gets the error.
      start(async () => {
        try {
          const added = await adding;
          await saveEntries(session.key);
          // Everything was saved before: that was the flush of this cycle.
          if (added === 0 && pending() === 0) await noteFlush(state.compactionCount);
        } finally {
          if (busyCycle === state.compactionCount) busyCycle = undefined;
        }
      });
      return decision;
    },
    async beforeDrop(messages, { signal } = {}) {
      signal?.throwIfAborted();
      if (closing.aborted) throw closedError();
      renew();
      const { compactionCount } = session.facts;
      let added: number;
      try {
        added = await add(messages, compactionCount, signal);
      } catch (journalError) {
        if (closing.aborted) throw closedError();
        const fresh = journal.unknownOf(session.id, messages);
        const saved = await saveInline(fresh, session, context, journalError, [signal, closing]);
        await noteFlush(session.facts.compactionCount);
        report(saved);
        return { state: "saved", reason: saved.reason, messages: fresh.length };
      }
      if (added === 0)
        return { state: "nothing", reason: "each message was handed over before, or is in the journal", messages: 0 };
      start(() => saveEntries(session.key));
      return { state: "journaled", messages: added };
    },
    retry() {
      if (!closing.aborted) start(() => saveEntries());
    },
    async settled() {
      await queue.settled();
      return currentReport;
    },
    get status() {
      return { pending: pending(), lastReport, notices: [...journal.notices, ...notices] };
    },
    async close() {
      closer.abort();
      await queue.settled();
      await additions.settled();
    },
  };
}

function closedError(): MemoryError {
  return new MemoryError("CLOSED", "the memory flush is closed: drop nothing now; the next one takes the messages");
}

function noFlush(state: DropReceipt["state"], reason: string): MemoryFlush {
  return {
    afterTurn: () => no(reason),
    beforeDrop: async (_messages, { signal } = {}) => {
      signal?.throwIfAborted();
      return { state, reason, messages: 0 };
    },
    retry: () => undefined,
    settled: async () => undefined,
    status: { pending: 0, notices: [] },
    close: async () => undefined,
  };
}

/** What a host knows about a conversation after a turn. Tokens and bytes are whole numbers from 0. */
export interface FlushState {
  /** Tokens that the next request would have. */
  readonly contextTokens: number;
  /** Tokens that the model takes; 0 if unknown, and then tokens decide nothing. */
  readonly contextWindowTokens: number;
  /** Growth of the transcript since the last compaction. */
  readonly bytesSinceCompaction?: number | undefined;
  readonly compactionCount: number;
  readonly memoryFlushCompactionCount?: number | undefined;
}

export interface FlushDecision {
  readonly flush: boolean;
  readonly reason: string;
}

const flushIsOff = "off: compaction.memoryFlush.enabled is false";

/**
 * Whether a flush is due: once per compaction cycle, at window - `reserveTokensFloor` - `softThresholdTokens` or after
 * `forceFlushTranscriptBytes`. The two figures are scaled down to half of the window if they exceed it.
 */
export function shouldFlush(state: FlushState, settings: CompactionSettings): FlushDecision {
  const { enabled, forceFlushTranscriptBytes, softThresholdTokens } = settings.memoryFlush;
  const { contextTokens, contextWindowTokens: window, compactionCount, bytesSinceCompaction: bytes = 0 } = state;
  if (!enabled) return no(flushIsOff);
  if (state.memoryFlushCompactionCount === compactionCount)
    return no(`already flushed in this cycle (after compaction ${compactionCount})`);
  if (forceFlushTranscriptBytes > 0 && bytes >= forceFlushTranscriptBytes) {
    const grown = `the transcript has grown by ${count(bytes)} bytes since the last compaction`;
    return { flush: true, reason: `${grown}; forced from ${count(forceFlushTranscriptBytes)}` };
  }
  if (!(window > 0)) return no("the size of the context window is not known");
  const wanted = settings.reserveTokensFloor + softThresholdTokens;
  const total = Math.min(wanted, Math.floor(window / 2));
  const reserve = wanted === 0 ? 0 : Math.round((settings.reserveTokensFloor / wanted) * total);
  const threshold = window - total;
  const limits = `window ${count(window)} − ${count(reserve)} kept free − ${count(total - reserve)} before that`;
  const reason = `${count(contextTokens)} tokens, due from ${count(threshold)} (${limits})`;
  return { flush: contextTokens >= threshold, reason };
}

function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

function no(reason: string): FlushDecision {
  return { flush: false, reason };
}
