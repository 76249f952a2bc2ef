import { type AgentConfig, type Memory, MemoryError, messageOf, sessionKindOf, withDeadline } from "@memslot/core";
import type { ConversationMessage } from "../conversation.ts";
import { type FlushJournal, openFlushJournal } from "./journal/flush-journal.ts";
import type { DropReceipt, FlushReport } from "./turn/flush-report.ts";
import { type FlushSession, createFlushStateKeeper } from "./flush-state.ts";
import type { FlushTurn } from "./turn/flush-turn.ts";
import { createMessageSaver } from "./journal/message-saver.ts";

import { saveEntry } from "./journal/save-entry.ts";
import { saveInline } from "./journal/save-inline.ts";
import { type FlushDecision, type FlushState, shouldFlush } from "./should-flush.ts";
import pLimit from "p-limit";

export interface MemoryFlushOptions {
  readonly agent: AgentConfig;
  readonly stateDir: string;
  readonly session: FlushSession;
  /** With it the model can look into the notes. Left out, it can only add to them. */
  readonly memory?: Memory | undefined;
  /** Left out: a plain digest is written, and the messages wait in the journal for a model. */
  readonly runTurn?: FlushTurn | undefined;
  /** What the model takes; messages that need more than half of it are handed over in several turns. */
  readonly contextWindowTokens?: number | undefined;
  readonly clock?: (() => Date) | undefined;
  /** Takes what came of each flush. */
  readonly onReport?: ((report: FlushReport) => void) | undefined;
  /** Waits between the tries of one round; 1 s and 2 s if left out, which makes three tries. */
  readonly retryDelaysMs?: readonly number[] | undefined;
  /** The time limit of one turn; 120 s if left out. */
  readonly turnDeadlineMs?: number | undefined;
}

/** Saves to the notes what a conversation is about to lose. Nothing of it is on the way of the user's turn. */
export interface MemoryFlush {
  /**
   * After a turn, with what stands in the context: starts a flush behind the reply when `shouldFlush` says so. Never
   * throws.
   */
  afterTurn(state: FlushState, messages: readonly ConversationMessage[]): FlushDecision;
  /**
   * Before a host drops exactly these messages: resolves as soon as they are safe, and the flush turn goes on behind. A
   * message that was handed over before, or is in the journal, is not taken again.
   *
   * Throws `UNAVAILABLE` where neither the journal nor the notes can be written: then nothing may be dropped. Throws
   * `CLOSED` after `close()`, and an `AbortError`.
   */
  beforeDrop(
    messages: readonly ConversationMessage[],
    options?: { signal?: AbortSignal | undefined },
  ): Promise<DropReceipt>;
  /** Starts what the journal of the agent holds. For the start of a session. */
  retry(): void;
  /**
   * Waits for what is running. Gives the last report since the last call that could start a flush; undefined where that
   * call had nothing to do.
   */
  settled(): Promise<FlushReport | undefined>;
  readonly status: {
    /** Entries of this session key in the journal. */
    readonly pending: number;
    readonly lastReport?: FlushReport | undefined;
    /** What is wrong with the journal, one line each. */
    readonly notices: readonly string[];
  };
  /** Ends what is running; the journal keeps what is not done. Can be called twice. */
  close(): Promise<void>;
}

const journalDeadlineMs = 10_000;

/**
 * The flush of one session. A session where others read along, or with somebody who is not the owner, has none: what is
 * said there does not go into private notes. Throws `INVALID_ARGUMENT` for a session of another agent.
 */
export async function createMemoryFlush(options: MemoryFlushOptions): Promise<MemoryFlush> {
  const { agent, stateDir, session, memory, runTurn, contextWindowTokens, turnDeadlineMs = 120_000 } = options;
  const { retryDelaysMs = [1_000, 2_000], clock = () => new Date() } = options;
  if (sessionKindOf(session.key, agent.id, agent.ownerAllowFrom) === "group")
    return noFlush(
      "skipped",
      "skipped: the conversation of a group, or with somebody who is not the owner, is not written to private notes",
    );
  if (!agent.compaction.memoryFlush.enabled) return noFlush("off", "off: compaction.memoryFlush.enabled is false");

  const { journalDays } = agent.compaction.memoryFlush;
  const notices: string[] = [];
  const journal = await openFlushJournal({ stateDir, agentId: agent.id, now: clock(), journalDays });
  const saver = createMessageSaver({ agent, memory, runTurn, contextWindowTokens, turnDeadlineMs, clock });
  const keeper = createFlushStateKeeper({ session, clock, onError: (line) => notices.push(line) });
  const closing = new AbortController();
  const queue = pLimit(1);
  let lastReport: FlushReport | undefined;
  /** The last report since a call found nothing running. */
  let currentReport: FlushReport | undefined;
  /** The cycle that a flush after a turn is at work on. */
  let busyCycle: number | undefined;
  let lastAdding: Promise<unknown> = Promise.resolve();

  function report(given: FlushReport): void {
    lastReport = given;
    currentReport = given;
    try {
      options.onReport?.(given);
    } catch (error) {
      notices.push(`onReport failed: ${messageOf(error)}`);
    }
  }

  function reportError(error: unknown): void {
    report({ state: "failed", reason: messageOf(error), entries: [], messages: 0, tries: 0, days: [] });
  }

  /** Puts messages that are not known yet into the journal. Gives how many there were. */
  async function addToJournal(
    messages: readonly ConversationMessage[],
    compactionCount: number,
    signal?: AbortSignal | undefined,
  ): Promise<number> {
    const add = async (): Promise<number> => {
      if (unknownOf(messages, session.id, journal).length === 0) return 0;
      await journal.refresh();
      const fresh = unknownOf(messages, session.id, journal);
      if (fresh.length === 0) return 0;
      signal?.throwIfAborted();
      const { key: sessionKey, id: sessionId } = session;
      await journal.add({ sessionKey, sessionId, compactionCount, createdAt: clock().toISOString(), messages: fresh });
      return fresh.length;
    };
    const what = `the journal of the memory flush in ${journal.folder}`;
    const limits = { what, deadlineMs: journalDeadlineMs, signals: [signal, closing.signal] };
    return await withDeadline(limits, async () => {
      const inTurn = lastAdding.then(add, add);
      lastAdding = inTurn.catch(() => undefined); // Whoever awaits `inTurn` has the error.
      return await inTurn;
    });
  }

  async function saveEntries(whose: (name: string) => boolean): Promise<void> {
    await journal.refresh();
    for (const name of journal.entryNames().filter(whose)) {
      closing.signal.throwIfAborted();
      try {
        const saved = await saveEntry(name, {
          journal,
          saver,
          retryDelaysMs,
          journalDays,
          clock,
          signal: closing.signal,
        });
        if (saved === undefined) continue;
        await keeper.noteEntry(saved);
        report(saved.report);
      } catch (error) {
        closing.signal.throwIfAborted();
        // One that cannot be worked on does not keep the others back.
        reportError(error);
      }
    }
  }

  const isIdle = (): boolean => queue.activeCount + queue.pendingCount === 0;

  /** Work goes on behind, one piece after another. */
  function start(run: () => Promise<void>): void {
    if (isIdle()) currentReport = undefined;
    void queue(async () => {
      try {
        if (!closing.signal.aborted) await run();
      } catch (error) {
        if (!closing.signal.aborted) reportError(error);
      }
    });
  }

  /** Waits until nothing is left, also of what is started meanwhile. */
  async function settled(): Promise<void> {
    while (!isIdle()) await queue(() => undefined);
  }

  const isOfSession = (name: string): boolean => journal.keyOf(name) === session.key;

  return {
    afterTurn(state, given) {
      if (closing.signal.aborted) return { flush: false, reason: "the memory flush is closed" };
      const decision = shouldFlush(state, agent.compaction);
      if (!decision.flush) return decision;
      if (busyCycle === state.compactionCount) return { flush: false, reason: "a flush of this cycle is running" };
      busyCycle = state.compactionCount;
      // Now, so that a drop which follows finds them there.
      const adding = addToJournal([...given], state.compactionCount);
      adding.catch(() => undefined); // The work behind has the error.
      start(async () => {
        try {
          const added = await adding;
          await saveEntries(isOfSession);
          // Everything was saved before: then that was the flush of this cycle.
          if (added === 0 && journal.pendingOf(session.key) === 0) await keeper.noteFlush(state.compactionCount);
        } finally {
          if (busyCycle === state.compactionCount) busyCycle = undefined;
        }
      });
      return decision;
    },
    async beforeDrop(messages, { signal } = {}) {
      signal?.throwIfAborted();
      if (closing.signal.aborted) throw closedError();
      if (isIdle()) currentReport = undefined;
      let added: number;
      try {
        added = await addToJournal(messages, session.facts.compactionCount, signal);
      } catch (journalError) {
        if (closing.signal.aborted) throw closedError();
        const fresh = unknownOf(messages, session.id, journal);
        const signals = [signal, closing.signal];
        const saved = await saveInline({ messages: fresh, session, journal, saver, journalError, signals, clock });
        await keeper.noteFlush(session.facts.compactionCount);
        report(saved);
        return { state: "saved", reason: saved.reason, messages: fresh.length };
      }
      if (added === 0)
        return { state: "nothing", reason: "each message was handed over before, or is in the journal", messages: 0 };
      start(() => saveEntries(isOfSession));
      return { state: "journaled", messages: added };
    },
    retry() {
      if (!closing.signal.aborted) start(() => saveEntries(() => true));
    },
    async settled() {
      await settled();
      return currentReport;
    },
    get status() {
      const pending = journal.pendingOf(session.key);
      return { pending, lastReport, notices: [...journal.notices, ...notices] };
    },
    async close() {
      closing.abort();
      await settled();
      await lastAdding;
    },
  };
}

/** Each message once, without those that were handed over or wait in the journal. */
function unknownOf(
  messages: readonly ConversationMessage[],
  sessionId: string,
  journal: FlushJournal,
): ConversationMessage[] {
  const seen = new Set<string>();
  return messages.filter(({ id }) => !journal.isKnown(sessionId, id) && !seen.has(id) && seen.add(id));
}

function closedError(): MemoryError {
  return new MemoryError("CLOSED", "the memory flush is closed: drop nothing now; the next one takes the messages");
}

/** The flush of a session in which nothing is saved, and which says why. */
function noFlush(state: DropReceipt["state"], reason: string): MemoryFlush {
  return {
    afterTurn: () => ({ flush: false, reason }),
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
