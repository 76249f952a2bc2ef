import { randomUUID } from "node:crypto";
import path from "node:path";
import { MemoryError, messageOf } from "@memslot/core";
import type { ProcessLock } from "@memslot/core/files";
import pLimit from "p-limit";
import { type ConversationMessage, modelContext } from "../conversation-messages.ts";
import { acquireStateLock, invalid } from "../state-locks.ts";
import { checkMessage, compactionLine, messageLine, sessionLine } from "./transcript-entry.ts";
import { factsOf, newEntry, type SessionTableFile, type TableEntry } from "./session-table.ts";
import type { Session, SessionCompaction, SessionContext, SessionPatch } from "./session-types.ts";
import { maxLineBytes, openTranscript, type TranscriptFile } from "./transcript-file.ts";

const ownFields = ["sessionId", "sessionFile", "updatedAt", "compactionCount", "compactedBytes"];

export interface SessionPlace {
  folder: string;
  table: SessionTableFile;
  clock: () => Date;
  notify: (line: string) => void;
  cwd: string;
}

export interface OwnedSession {
  readonly session: Session;
  readonly spoken: boolean;
  /** Refuses new calls, waits for running ones, runs `before`, and releases the session. */
  end(before: () => Promise<void>): Promise<void>;
}

/** Opens the session of a key, or begins one. Throws `BUSY` if another process has it open. */
export async function openSession(key: string, place: SessionPlace): Promise<OwnedSession> {
  for (;;) {
    const entry = await place.table.change((table) => {
      const known = table.get(key) ?? newEntry(place.clock());
      table.set(key, known);
      return known;
    });
    const lock = await acquireWriter(key, path.join(place.folder, entry.sessionFile));
    try {
      // Before this process had the lock, another one may have ended the session and begun the next.
      const current = (await place.table.read()).get(key);
      if (current?.sessionId === entry.sessionId) return await sessionOf(key, current, lock, place);
    } catch (error) {
      await lock.release();
      throw error;
    }
    await lock.release();
  }
}

async function acquireWriter(key: string, file: string): Promise<ProcessLock> {
  const lockFile = `${file}.lock`;
  return await acquireStateLock(lockFile, {
    waitMs: 0,
    busy: (owner) => {
      const who = owner ? `process ${owner.pid} (${owner.host}, since ${owner.since})` : "another process";
      return `session ${JSON.stringify(key)} is open in ${who}; use another session key, or end that process. If it is gone, delete ${lockFile}`;
    },
  });
}

async function sessionOf(
  key: string,
  entry: TableEntry,
  lock: ProcessLock,
  place: SessionPlace,
): Promise<OwnedSession> {
  const { clock, cwd } = place;
  const { sessionId: id, sessionFile, compactionCount } = entry;
  const filePath = path.join(place.folder, sessionFile);
  const file = await openTranscript(filePath);
  const listed = new ListedSession(key, entry, file, place);
  const inTurn = pLimit(1);
  let ending: Promise<void> | undefined;
  const said = contentOf(file);

  try {
    if (!file.state.begun) await file.write([sessionLine({ id, key, at: clock().toISOString(), cwd })]);
    // A process may have ended between the transcript and the list.
    if (listed.entry.compactionCount !== compactionCount) await listed.note({});
  } catch (error) {
    await file.close();
    throw error;
  }

  async function act<T>(run: () => Promise<T>): Promise<T> {
    if (ending) throw endedError(key, id);
    return await inTurn(async () => {
      await file.settle();
      return await run();
    });
  }

  function end(before: () => Promise<void>): Promise<void> {
    return (ending ??= inTurn(async () => {
      try {
        await listed.settle();
        await before();
      } finally {
        await file.close();
        await lock.release();
      }
    }));
  }

  const session: Session = {
    key,
    id,
    file: filePath,
    get context() {
      return said().context;
    },
    get recorded() {
      return said().recorded;
    },
    get facts() {
      const { bytes, brokenLines } = file.state;
      return { ...factsOf(key, place.folder, listed.entry, bytes), brokenLines };
    },
    get unanswered() {
      return file.state.unanswered;
    },
    get closed() {
      return ending !== undefined;
    },
    async append(...given) {
      const messages = given.map((message) => checkMessage(message, clock));
      return await act(async () => {
        const written = await writeMessages(file, messages);
        listed.noteSoon();
        return written;
      });
    },
    async compact(compaction) {
      await act(async () => {
        await writeCompaction(file, id, { ...compaction, at: clock().toISOString() });
        listed.touch();
        // The transcript has it already; the list follows now or when the session is opened next.
        await listed.noteSafely();
      });
    },
    async update(patch) {
      const own = ownFields.find((name) => Object.hasOwn(patch, name));
      if (own !== undefined) throw invalid(`a host cannot set ${own} of a session`);
      await act(async () => {
        listed.touch();
        await listed.note(patch);
      });
    },
    close: () => end(() => listed.noteRest()),
  };
  return {
    session,
    get spoken() {
      return file.state.spoken;
    },
    end,
  };
}

function contentOf(file: TranscriptFile): () => Pick<Session, "context" | "recorded"> {
  let known: { at: string; context: SessionContext; recorded: readonly ConversationMessage[] } | undefined;
  return () => {
    const { state } = file;
    const at = `${state.bytes}:${state.messages.length}`;
    if (known?.at !== at) {
      const recorded = [...state.messages];
      known = { at, recorded, context: { summary: state.summary, messages: modelContext(recorded) } };
    }
    return known;
  };
}

/** Writes messages with new ids. Returns each as the transcript has it. */
async function writeMessages(
  file: TranscriptFile,
  messages: readonly ConversationMessage[],
): Promise<ConversationMessage[]> {
  const fresh = new Map<string, ConversationMessage>();
  const lines: string[] = [];
  let parentId = file.state.lastId;
  const result = messages.map((message) => {
    const there = fresh.get(message.id) ?? file.state.find(message.id);
    if (there !== undefined) return there === "before" ? message : there;
    const line = messageLine(message, parentId);
    checkLength(line);
    lines.push(line);
    fresh.set(message.id, message);
    parentId = message.id;
    return message;
  });
  if (lines.length > 0) await file.write(lines);
  return result;
}

async function writeCompaction(
  file: TranscriptFile,
  id: string,
  { firstKeptId, firstDroppedId, ...compaction }: SessionCompaction & { at: string },
): Promise<void> {
  const { messages, lastId } = file.state;
  if (firstDroppedId !== undefined && messages[0]?.id !== firstDroppedId)
    throw new MemoryError("BUSY", `session ${id} was compacted meanwhile; read its context again`);
  if (firstKeptId !== undefined && !messages.some((message) => message.id === firstKeptId))
    throw invalid(`message ${firstKeptId} is not in the context of session ${id}`);
  const line = compactionLine({ id: randomUUID(), firstKeptId, ...compaction }, lastId);
  checkLength(line);
  await file.write([line]);
}

function checkLength(line: string): void {
  if (Buffer.byteLength(line) <= maxLineBytes) return;
  throw invalid(
    `a message of more than ${maxLineBytes / 1024 / 1024} MiB cannot be written to a transcript; keep it in a file and name the file`,
  );
}

const noteEveryMs = 5_000;

class ListedSession {
  readonly #key: string;
  readonly #file: TranscriptFile;
  readonly #list: SessionPlace;
  readonly #noting = pLimit(1);
  #entry: TableEntry;
  #notedAt = performance.now();
  #isNoted = true;

  constructor(key: string, entry: TableEntry, file: TranscriptFile, list: SessionPlace) {
    this.#key = key;
    this.#file = file;
    this.#list = list;
    this.#entry = this.#current(entry);
  }

  get entry(): TableEntry {
    return this.#entry;
  }

  touch(): void {
    this.#entry = { ...this.#entry, updatedAt: this.#list.clock().getTime() };
  }

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
      const more = Object.entries({ ...(there ?? this.#entry).more, ...patch });
      const set = Object.fromEntries(more.filter(([, value]) => value !== undefined));
      const next = { ...this.#current(this.#entry), more: set };
      sessions.set(this.#key, next);
      return next;
    });
    this.#entry = { ...this.#current(this.#entry), more: written.more };
    this.#isNoted = this.#entry.updatedAt === written.updatedAt;
  }

  async noteSafely(): Promise<void> {
    await this.note({}).catch((error: unknown) => this.#list.notify(messageOf(error)));
  }

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

  async settle(): Promise<void> {
    await this.#noting(() => undefined);
  }
}

function endedError(key: string, id: string): MemoryError {
  return new MemoryError("CLOSED", `session ${id} of ${JSON.stringify(key)} was closed; open the session key again`);
}
