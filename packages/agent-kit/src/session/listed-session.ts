import { MemoryError, messageOf } from "@memslot/core";
import pLimit from "p-limit";
import type { SessionPatch } from "./session.ts";
import type { SessionTableFile, TableEntry } from "./session-table.ts";
import type { TranscriptFile } from "./transcript/transcript-file.ts";

/** The time of the last message is noted in the list of sessions no more often than this. */
const noteEveryMs = 5_000;

interface SessionList {
  table: SessionTableFile;
  clock: () => Date;
  notify: (line: string) => void;
}

/** An open session as the list has it, which follows the transcript: that has what counts. */
export class ListedSession {
  readonly #key: string;
  readonly #file: TranscriptFile;
  readonly #list: SessionList;
  readonly #noting = pLimit(1);
  #entry: TableEntry;
  #notedAt = performance.now();
  #isNoted = true;

  constructor(key: string, entry: TableEntry, file: TranscriptFile, list: SessionList) {
    this.#key = key;
    this.#file = file;
    this.#list = list;
    this.#entry = this.#current(entry);
  }

  get entry(): TableEntry {
    return this.#entry;
  }

  /** Something was said or noted just now. */
  touch(): void {
    this.#entry = { ...this.#entry, updatedAt: this.#list.clock().getTime() };
  }

  /** The entry with what the transcript says. */
  #current(before: TableEntry): TableEntry {
    const { compactionCount, compactedBytes, lastAt } = this.#file.state;
    const updatedAt = Math.max(before.updatedAt, Date.parse(lastAt ?? "") || 0);
    return { ...before, updatedAt, compactionCount, compactedBytes };
  }

  async note(patch: SessionPatch): Promise<void> {
    this.#notedAt = performance.now();
    this.#entry = this.#current(this.#entry);
    const { sessionId } = this.#entry;
    const written = await this.#list.table.change((sessions) => {
      const there = sessions.get(this.#key);
      if (there !== undefined && there.sessionId !== sessionId) throw endedError(this.#key, sessionId);
      const more = { ...(there ?? this.#entry).more, ...patch };
      const next = { ...this.#current(this.#entry), more: withoutUndefined(more) };
      sessions.set(this.#key, next);
      return next;
    });
    // More may have been said meanwhile.
    this.#entry = { ...this.#current(this.#entry), more: written.more };
    this.#isNoted = this.#entry.updatedAt === written.updatedAt;
  }

  /** What fails is told: the list is brought in line the next time, or when the session is opened next. */
  async noteSafely(): Promise<void> {
    await this.note({}).catch((error: unknown) => this.#list.notify(messageOf(error)));
  }

  /** Behind the caller's back, and not each time. */
  noteSoon(): void {
    this.touch();
    this.#isNoted = false;
    if (performance.now() - this.#notedAt < noteEveryMs) return;
    this.#notedAt = performance.now();
    void this.#noting(() => this.noteSafely());
  }

  async noteRest(): Promise<void> {
    if (!this.#isNoted) await this.noteSafely();
  }

  /** Waits for what is noted behind. */
  async settle(): Promise<void> {
    await this.#noting(() => undefined);
  }
}

export function endedError(key: string, id: string): MemoryError {
  return new MemoryError("CLOSED", `session ${id} of ${JSON.stringify(key)} was closed; open the session key again`);
}

function withoutUndefined(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
