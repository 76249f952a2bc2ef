import { messageOf, SerialQueue, withDeadline } from "@memslot/core";
import type { ConversationMessage } from "../conversation.ts";
import { type SaveContext, type SavedEntry, saveEntry } from "./save-entry.ts";
import type { FlushReport } from "./flush-record.ts";
import type { Session } from "../session/session.ts";

const journalDeadlineMs = 10_000;

/** What a flush has to know of a session, and to tell it. */
export type FlushSession = Pick<Session, "key" | "id" | "facts" | "update">;

interface FlushParts extends SaveContext {
  session: FlushSession;
  onReport?: ((report: FlushReport) => void) | undefined;
}

/** What a flush is at work on behind the reply, one piece after another, and what came of it. */
export class FlushWork {
  readonly notices: string[] = [];
  lastReport: FlushReport | undefined;
  /** The last report since a call found nothing running. */
  currentReport: FlushReport | undefined;
  readonly #parts: FlushParts;
  readonly #closing = new AbortController();
  readonly #queue = new SerialQueue();
  readonly #additions = new SerialQueue();

  constructor(parts: FlushParts) {
    this.#parts = parts;
  }

  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  report(given: FlushReport): void {
    this.lastReport = given;
    this.currentReport = given;
    try {
      this.#parts.onReport?.(given);
    } catch (error) {
      this.notices.push(`onReport failed: ${messageOf(error)}`);
    }
  }

  #reportError(error: unknown): void {
    this.report({ state: "failed", reason: messageOf(error), entries: [], messages: 0, tries: 0, days: [] });
  }

  /** Keeps in the record of the session when it was last flushed. */
  async noteFlush(compactionCount: number): Promise<void> {
    const { session, clock } = this.#parts;
    // What an earlier cycle left in the journal does not undo that this one has had its flush.
    const before = session.facts.memoryFlushCompactionCount ?? 0;
    await this.#noteInSession({
      memoryFlushAt: clock().toISOString(),
      memoryFlushCompactionCount: Math.max(before, compactionCount),
      memoryFlushError: undefined,
    });
  }

  /** What came of an entry, where the entry is this session's. */
  async #noteEntry({ record, report: { state, reason } }: SavedEntry): Promise<void> {
    if (record.sessionId !== this.#parts.session.id) return;
    if (state === "failed" || state === "skipped") await this.#noteInSession({ memoryFlushError: reason });
    else await this.noteFlush(record.compactionCount);
  }

  /** That the record cannot be written undoes no flush. */
  async #noteInSession(patch: Parameters<FlushSession["update"]>[0]): Promise<void> {
    const { session } = this.#parts;
    try {
      await session.update(patch);
    } catch (error) {
      this.notices.push(`the record of session ${session.key} could not be written: ${messageOf(error)}`);
    }
  }

  /** Puts messages that are not known yet into the journal. Gives how many there were. */
  async add(
    messages: readonly ConversationMessage[],
    compactionCount: number,
    signal?: AbortSignal | undefined,
  ): Promise<number> {
    const { session, journal, clock } = this.#parts;
    const add = async (): Promise<number> => {
      if (journal.unknownOf(session.id, messages).length === 0) return 0;
      await journal.refresh();
      const fresh = journal.unknownOf(session.id, messages);
      if (fresh.length === 0) return 0;
      signal?.throwIfAborted();
      const { key: sessionKey, id: sessionId } = session;
      await journal.add({ sessionKey, sessionId, compactionCount, createdAt: clock().toISOString(), messages: fresh });
      return fresh.length;
    };
    const what = `the journal of the memory flush in ${journal.folder}`;
    const limits = { what, deadlineMs: journalDeadlineMs, signals: [signal, this.closing] };
    return await withDeadline(limits, () => this.#additions.run(add));
  }

  /** Goes through what waits in the journal, of this session or of all. */
  async saveEntries(whose: "session" | "all"): Promise<void> {
    const { journal, session } = this.#parts;
    await journal.refresh();
    const names = journal.entryNames().filter((name) => whose === "all" || journal.keyOf(name) === session.key);
    for (const name of names) {
      this.closing.throwIfAborted();
      try {
        const saved = await saveEntry(name, this.#parts, this.closing);
        if (saved === undefined) continue;
        await this.#noteEntry(saved);
        this.report(saved.report);
      } catch (error) {
        this.closing.throwIfAborted();
        // One that cannot be worked on does not keep the others back.
        this.#reportError(error);
      }
    }
  }

  /** A call that finds nothing running asks for a report of its own. */
  renew(): void {
    if (this.#queue.isIdle) this.currentReport = undefined;
  }

  start(run: () => Promise<void>): void {
    this.renew();
    void this.#queue.run(async () => {
      try {
        if (!this.closing.aborted) await run();
      } catch (error) {
        if (!this.closing.aborted) this.#reportError(error);
      }
    });
  }

  /** Waits until no work is left, including work that is started meanwhile. */
  settled(): Promise<void> {
    return this.#queue.settled();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.settled();
    await this.#additions.settled();
  }
}
