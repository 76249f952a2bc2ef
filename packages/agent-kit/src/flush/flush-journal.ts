import { randomUUID } from "node:crypto";
import { stat, chmod, mkdir, readFile, readdir, rename, rm } from "node:fs/promises";
import path from "node:path";
import { checkAgentPlace, messageOf } from "@memslot/core";
import { syncFolder, unlessMissing, codeOf, replaceFile } from "@memslot/core/files";
import { journalFolder, sessionsFolder, stripInjected } from "@memslot/indexing/host";
import type { ConversationMessage } from "../conversation.ts";
import { hashOf } from "../edit/safe-writes.ts";
import { keepMessages, keptFile, type FlushRecord, isDoneRecord, isFlushRecord } from "./flush-record.ts";

type NewFlushRecord = Pick<FlushRecord, "sessionKey" | "sessionId" | "compactionCount" | "createdAt"> & {
  readonly messages: readonly ConversationMessage[];
};

/** An entry that waits, with the ids of its messages. */
type WaitingEntry = Pick<FlushRecord, "sessionId" | "sessionKey" | "createdAt"> & { ids: ReadonlySet<string> };

interface JournalPlace {
  stateDir: string;
  agentId: string;
  now: Date;
  journalDays: number;
}

const doneEnding = ".done.json";
const entryEnding = ".json";
/** Of drafts and locks that a crash may leave behind. Nobody was told that a draft was written. */
const leftoverEnding = /\.(?:tmp|lock|takeover)$/;
/** The leftovers of a process that is still at work are younger. */
const leftoverMinutes = 10;
/** Older marks can go: a conversation has long dropped what they name. */
const doneDays = 90;
/** Of the marks of an agent as many stay, the latest ones. */
const maxMarks = 500;

/**
 * What was dropped and not yet handed over, in files of the state folder: `agents/<agentId>/flush/`. Beside it, in
 * `journal/`, all that was dropped is kept where searches find it, whatever a model makes of it.
 */
export class FlushJournal {
  readonly folder: string;
  /** What was found wrong with the files, one line each. */
  readonly #notices = new Set<string>();
  readonly #keptFolder: string;
  readonly #journalDays: number;
  /** Message ids by session id. */
  readonly #done = new Map<string, Set<string>>();
  readonly #entries = new Map<string, WaitingEntry>();
  /** Times of the marks that were read, by file name. */
  readonly #marks = new Map<string, number>();
  readonly #seen = new Set<string>();

  constructor(place: JournalPlace) {
    this.folder = path.join(path.dirname(sessionsFolder(place)), "flush");
    this.#keptFolder = journalFolder(place);
    this.#journalDays = place.journalDays;
  }

  get notices(): readonly string[] {
    return [...this.#notices];
  }

  /** The first look. Whoever adds to a folder that cannot be read learns it too, and can do something about it. */
  async begin(now: Date): Promise<void> {
    await this.refresh().catch((error: unknown) => {
      this.#notices.add(`the journal ${this.folder} cannot be read: ${messageOf(error)}`);
    });
    const oldest = now.getTime() - doneDays * 86_400_000;
    const latest = [...this.#marks].toSorted(([, a], [, b]) => b - a);
    const kept = latest.slice(0, maxMarks).filter(([, at]) => at >= oldest).length;
    for (const [name] of latest.slice(kept)) await this.#tidy(name);
  }

  /** Looks at files that came since the last look. A folder that is not there holds nothing. */
  async refresh(): Promise<void> {
    const names = await readdir(this.folder).catch(unlessMissing);
    if (names === undefined) return;
    const there = new Set(names);
    for (const name of this.#entries.keys()) if (!there.has(name)) this.#entries.delete(name);
    const isUnread = (name: string): boolean =>
      name.endsWith(entryEnding) && !name.endsWith(doneEnding) && !this.#entries.has(name);
    for (const name of names.filter((each) => !this.#seen.has(each) || isUnread(each))) {
      this.#seen.add(name);
      await this.#look(name);
    }
  }

  async #look(name: string): Promise<void> {
    if (name.endsWith(doneEnding)) {
      const record = await this.#read(name, isDoneRecord, "messages may be handed over a second time");
      if (record === undefined) return;
      this.markDoneHere(record.sessionId, record.ids);
      this.#marks.set(name, Date.parse(record.at));
    } else if (name.endsWith(entryEnding)) {
      const record = await this.#readEntry(name);
      if (record === undefined) return;
      this.#noteEntry(name, record);
      await this.#keepAgain(record);
    } else if (leftoverEnding.test(name)) await this.#tidyLeftover(name);
  }

  #readEntry(name: string): Promise<FlushRecord | undefined> {
    return this.#read(name, isFlushRecord, "its messages were not saved to the notes");
  }

  #noteEntry(name: string, { sessionId, sessionKey, createdAt, messages }: FlushRecord): void {
    this.#entries.set(name, { sessionId, sessionKey, createdAt, ids: new Set(messages.map(({ id }) => id)) });
  }

  #keptOf({ sessionId, messages }: FlushRecord): string {
    return keptFile(this.#keptFolder, nameOf(sessionId), hashOfIds(messages.map(({ id }) => id)));
  }

  async #keep(record: FlushRecord): Promise<void> {
    await makeFolder(this.#keptFolder);
    await keepMessages(this.#keptOf(record), record, this.#journalDays);
  }

  /** The process that took the messages may have ended before they could be found. */
  async #keepAgain(record: FlushRecord): Promise<void> {
    const file = this.#keptOf(record);
    try {
      if ((await stat(file).catch(unlessMissing)) === undefined) await this.#keep(record);
    } catch (error) {
      this.#notices.add(`${file} cannot be written (${messageOf(error)}): searches do not find what is in it`);
    }
  }

  /** Names of the entries, oldest first. */
  entryNames(): readonly string[] {
    return [...this.#entries].toSorted(([, a], [, b]) => (a.createdAt < b.createdAt ? -1 : 1)).map(([name]) => name);
  }

  /** The session key of an entry. */
  keyOf(name: string): string | undefined {
    return this.#entries.get(name)?.sessionKey;
  }

  /** How many entries belong to a session key. */
  pendingOf(sessionKey: string): number {
    return [...this.#entries.values()].filter((entry) => entry.sessionKey === sessionKey).length;
  }

  isDone(sessionId: string, messageId: string): boolean {
    return this.#done.get(sessionId)?.has(messageId) === true;
  }

  /**
   * Each message once, without what memslot or a program has put into it, and without those that were handed over or wait
   * here for it.
   */
  unknownOf(sessionId: string, messages: readonly ConversationMessage[]): ConversationMessage[] {
    const waiting = [...this.#entries.values()].filter((entry) => entry.sessionId === sessionId);
    const isKnown = (id: string): boolean => this.isDone(sessionId, id) || waiting.some(({ ids }) => ids.has(id));
    const seen = new Set<string>();
    return messages
      .filter(({ id }) => !isKnown(id) && !seen.has(id) && seen.add(id))
      .map((message) =>
        message.role === "tool" ? message : { ...message, text: stripInjected(message.text, message.role) },
      );
  }

  /** Adds messages. They are on disk when it resolves. */
  async add(given: NewFlushRecord): Promise<void> {
    const record: FlushRecord = { version: 1, ...given, rounds: 0, tries: 0 };
    const name = `${nameOf(record.sessionId)}-${hashOfIds(record.messages.map(({ id }) => id))}${entryEnding}`;
    await makeFolder(this.folder);
    await this.#write(name, record);
    try {
      await this.#keep(record);
    } catch (error) {
      // Whoever asked saves the messages in another way, and they must not be taken up here as well.
      await rm(path.join(this.folder, name), { force: true });
      throw error;
    }
    this.#seen.add(name);
    this.#noteEntry(name, record);
  }

  /** An entry as it is on disk now; undefined where it is gone, or was broken and set aside. */
  async read(name: string): Promise<FlushRecord | undefined> {
    const record = await this.#readEntry(name);
    if (record === undefined) this.#entries.delete(name);
    return record;
  }

  /** Replaces an entry, on disk when it resolves. */
  async save(name: string, record: FlushRecord): Promise<void> {
    await this.#write(name, record);
    this.#noteEntry(name, record);
  }

  /** Remembers messages as handed over, on disk when it resolves. */
  async markDone(sessionId: string, ids: readonly string[], at: Date): Promise<void> {
    if (ids.length === 0) return;
    this.markDoneHere(sessionId, ids);
    const name = `${nameOf(sessionId)}-${hashOfIds(ids)}${doneEnding}`;
    await makeFolder(this.folder);
    await this.#write(name, { version: 1, sessionId, ids, at: at.toISOString() });
    this.#seen.add(name);
  }

  /** The same where the disk takes nothing: until this process ends. */
  markDoneHere(sessionId: string, ids: readonly string[]): void {
    const known = this.#done.get(sessionId) ?? new Set();
    for (const id of ids) known.add(id);
    this.#done.set(sessionId, known);
  }

  async remove(name: string): Promise<void> {
    await rm(path.join(this.folder, name), { force: true });
    await syncFolder(this.folder);
    this.#entries.delete(name);
  }

  /** Undefined where it is gone, cannot be read, or was damaged and set aside; `lost` says what that means then. */
  async #read<R>(name: string, fits: (value: unknown) => value is R, lost: string): Promise<R | undefined> {
    const file = path.join(this.folder, name);
    const text = await readFile(file, "utf8").catch((error: unknown) => {
      if (codeOf(error) !== "ENOENT")
        this.#notices.add(`${file} cannot be read (${messageOf(error)}): what is in it waits until it can`);
    });
    if (text === undefined) return undefined;
    try {
      const value: unknown = JSON.parse(text);
      if (fits(value)) return value;
    } catch {
      // Not JSON: set aside like a record of another shape.
    }
    await this.#setAside(file, lost);
    return undefined;
  }

  /** Somebody may still get the messages out of it by hand. */
  async #setAside(file: string, lost: string): Promise<void> {
    const aside = `${file}.${randomUUID().slice(0, 8)}.broken`;
    try {
      await rename(file, aside);
      this.#notices.add(`${file} is damaged and was set aside as ${path.basename(aside)}: ${lost}`);
    } catch (error) {
      this.#notices.add(`${file} is damaged and cannot be renamed (${messageOf(error)}): ${lost}`);
    }
  }

  async #write(name: string, record: object): Promise<void> {
    await replaceFile(path.join(this.folder, name), `${JSON.stringify(record)}\n`);
  }

  /** Takes away what nobody needs. A disk that cannot be written keeps it. */
  async #tidy(name: string): Promise<void> {
    await rm(path.join(this.folder, name), { force: true }).catch(() => undefined);
  }

  async #tidyLeftover(name: string): Promise<void> {
    const { mtimeMs } = await stat(path.join(this.folder, name)).catch(() => ({ mtimeMs: Date.now() }));
    if (Date.now() - mtimeMs > leftoverMinutes * 60_000) await this.#tidy(name);
  }
}

export async function openFlushJournal(place: JournalPlace): Promise<FlushJournal> {
  checkAgentPlace(place);
  const journal = new FlushJournal(place);
  await journal.begin(place.now);
  return journal;
}

/** For the owner alone, whatever the umask is and whoever made it, and there after a power cut. */
async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (process.platform !== "win32" && ((await stat(folder)).mode & 0o077) !== 0) await chmod(folder, 0o700);
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = path.dirname(made)) await syncFolder(path.dirname(made));
}

/** A session id names the file where it can; otherwise its hash does. */
export function nameOf(sessionId: string): string {
  return /^[\w-]{1,80}$/.test(sessionId) ? sessionId : hashOfIds([sessionId]);
}

function hashOfIds(ids: readonly string[]): string {
  return hashOf(JSON.stringify(ids)).slice(0, 16);
}
