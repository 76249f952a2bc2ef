import { type AgentConfig, type Memory, MemoryError, sessionKindOf } from "@memslot/core";
import type { ConversationMessage } from "../conversation.ts";
import { openFlushJournal } from "./flush-journal.ts";
import type { FlushReport } from "./flush-record.ts";
import { type FlushSession, FlushWork } from "./flush-work.ts";
import { MessageSaver } from "./message-saver.ts";
import { saveInline } from "./save-entry.ts";
import { type FlushDecision, type FlushState, shouldFlush } from "./should-flush.ts";
import type { FlushTurn } from "./flush-turn.ts";

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

/**
 * The flush of one session. A session where others read along, or with somebody who is not the owner, has none: what is
 * said there does not go into private notes. Throws `INVALID_ARGUMENT` for a session of another agent.
 */
export async function createMemoryFlush(options: MemoryFlushOptions): Promise<MemoryFlush> {
  const { agent, stateDir, session } = options;
  const { retryDelaysMs = [1_000, 2_000], clock = () => new Date() } = options;
  if (sessionKindOf(session.key, agent.id, agent.ownerAllowFrom) === "group")
    return noFlush(
      "skipped",
      "skipped: the conversation of a group, or with somebody who is not the owner, is not written to private notes",
    );
  if (!agent.compaction.memoryFlush.enabled) return noFlush("off", "off: compaction.memoryFlush.enabled is false");

  const { journalDays } = agent.compaction.memoryFlush;
  const journal = await openFlushJournal({ stateDir, agentId: agent.id, now: clock(), journalDays });
  const context = { agent, journal, saver: new MessageSaver(options, clock), clock, retryDelaysMs };
  const work = new FlushWork({ ...options, ...context });
  const { closing } = work;
  /** The cycle that a flush after a turn is at work on. */
  let busyCycle: number | undefined;

  return {
    afterTurn(state, given) {
      if (closing.aborted) return { flush: false, reason: "the memory flush is closed" };
      const decision = shouldFlush(state, agent.compaction);
      if (!decision.flush) return decision;
      if (busyCycle === state.compactionCount) return { flush: false, reason: "a flush of this cycle is running" };
      busyCycle = state.compactionCount;
      // Now, so that a drop which follows finds them there.
      const adding = work.add([...given], state.compactionCount);
      adding.catch(() => undefined); // The work behind has the error.
      work.start(async () => {
        try {
          const added = await adding;
          await work.saveEntries("session");
          // Everything was saved before: then that was the flush of this cycle.
          if (added === 0 && journal.pendingOf(session.key) === 0) await work.noteFlush(state.compactionCount);
        } finally {
          if (busyCycle === state.compactionCount) busyCycle = undefined;
        }
      });
      return decision;
    },
    async beforeDrop(messages, { signal } = {}) {
      signal?.throwIfAborted();
      if (closing.aborted) throw closedError();
      work.renew();
      let added: number;
      try {
        added = await work.add(messages, session.facts.compactionCount, signal);
      } catch (journalError) {
        if (closing.aborted) throw closedError();
        const fresh = journal.unknownOf(session.id, messages);
        const saved = await saveInline(fresh, session, context, journalError, [signal, closing]);
        await work.noteFlush(session.facts.compactionCount);
        work.report(saved);
        return { state: "saved", reason: saved.reason, messages: fresh.length };
      }
      if (added === 0)
        return { state: "nothing", reason: "each message was handed over before, or is in the journal", messages: 0 };
      work.start(() => work.saveEntries("session"));
      return { state: "journaled", messages: added };
    },
    retry() {
      if (!closing.aborted) work.start(() => work.saveEntries("all"));
    },
    async settled() {
      await work.settled();
      return work.currentReport;
    },
    get status() {
      const pending = journal.pendingOf(session.key);
      return { pending, lastReport: work.lastReport, notices: [...journal.notices, ...work.notices] };
    },
    close: () => work.close(),
  };
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

/** What became of messages that a host is about to drop. */
export interface DropReceipt {
  /**
   * `journaled`: on disk, and handed over behind. `nothing`: each of them was handed over before, or is in the journal.
   * `saved`: the journal cannot be written, so they were handed over before this resolved. `off`: the flush is off.
   * `skipped`: nothing is kept of them, see `reason`.
   */
  readonly state: "journaled" | "nothing" | "saved" | "off" | "skipped";
  readonly reason?: string | undefined;
  /** How many messages this call has put into the journal or handed over. */
  readonly messages: number;
}
