import { randomUUID } from "node:crypto";
import { stat, chmod, mkdir, readFile, readdir, rename, rm } from "node:fs/promises";
import path from "node:path";
import { messageOf } from "@memslot/core";
import { checkAgentPlace } from "@memslot/core/host";
import { syncFolder, unlessMissing, codeOf, replaceFile } from "@memslot/core/files";
import {
  isObject,
  journalFileName,
  journalFolder,
  jsonOf,
  redactSecrets,
  sessionsFolder,
  stripInjected,
} from "@memslot/indexing/host";
import { type ConversationMessage, resultAsText } from "../conversation-messages.ts";
import { hashOf } from "../edit/safe-writes.ts";
import { messageLine } from "../session/transcript-entry.ts";

export interface FlushRecord {
  readonly version: 1;
  readonly sessionKey: string;
  readonly sessionId: string;
  readonly compactionCount: number;
  readonly createdAt: string;
  readonly messages: readonly ConversationMessage[];
  readonly rounds: number;
  readonly tries: number;
  readonly lastTriedAt?: string | undefined;
  readonly lastError?: string | undefined;
  /** What this flush has written, or was about to write when the process ended. */
  readonly notes?: readonly FlushNote[] | undefined;
  readonly digest?: { readonly at: string; readonly citations: readonly string[] } | undefined;
}

/** One note of a flush, or one line of its digest. */
export interface FlushNote {
  readonly text: string;
  readonly kind: "daily" | "longterm";
  readonly day: string;
  readonly citation?: string | undefined;
}

export interface DoneRecord {
  readonly sessionId: string;
  readonly ids: readonly string[];
  readonly at: string;
}

function areTexts(value: unknown, names: readonly string[], mayMiss = false): value is Record<string, unknown> {
  if (!isObject(value)) return false;
  return names.every((name) => typeof value[name] === "string" || (mayMiss && value[name] === undefined));
}

function isListOf(value: unknown, fits: (item: unknown) => boolean, mayMiss = false): boolean {
  return (mayMiss && value === undefined) || (Array.isArray(value) && value.every((item) => fits(item)));
}

const isText = (value: unknown): boolean => typeof value === "string";

export function isFlushRecord(value: unknown): value is FlushRecord {
  return (
    areTexts(value, ["sessionKey", "sessionId", "createdAt"]) &&
    areTexts(value, ["lastError"], true) &&
    value["version"] === 1 &&
    ["compactionCount", "rounds", "tries"].every((name) => Number.isInteger(value[name])) &&
    isListOf(value["messages"], isMessage) &&
    isListOf(value["notes"], isNote, true) &&
    (value["digest"] === undefined ||
      (areTexts(value["digest"], ["at"]) && isListOf(value["digest"]["citations"], isText)))
  );
}

export function isDoneRecord(value: unknown): value is DoneRecord {
  return areTexts(value, ["sessionId", "at"]) && isListOf(value["ids"], isText);
}

function isMessage(value: unknown): boolean {
  if (!areTexts(value, ["id", "at", "text"])) return false;
  if (value["role"] === "tool") return areTexts(value, ["toolCallId", "toolName"]);
  const isCall = (call: unknown): boolean => areTexts(call, ["id", "name", "arguments"]);
  return value["role"] === "user" || (value["role"] === "assistant" && isListOf(value["toolCalls"], isCall, true));
}

function isNote(value: unknown): boolean {
  const isOfKind = areTexts(value, ["text", "day"]) && (value["kind"] === "daily" || value["kind"] === "longterm");
  return isOfKind && areTexts(value, ["citation"], true);
}

type NewFlushRecord = Pick<FlushRecord, "sessionKey" | "sessionId" | "compactionCount" | "createdAt" | "messages">;

type WaitingEntry = Pick<FlushRecord, "sessionId" | "sessionKey" | "createdAt"> & { ids: ReadonlySet<string> };

interface JournalPlace {
  stateDir: string;
  agentId: string;
  now: Date;
  journalDays: number;
}

const doneEnding = ".done.json";
const entryEnding = ".json";
const leftoverEnding = /\.(?:tmp|lock|takeover)$/;
const leftoverMinutes = 10;
const doneDays = 90;
const maxMarks = 500;

/** Dropped messages not yet handed over, as files in `agents/<agentId>/flush/` of the state folder. */
export class FlushJournal {
  readonly folder: string;
  readonly #notices = new Set<string>();
  readonly #keptFolder: string;
  readonly #journalDays: number;
  readonly #done = new Map<string, Set<string>>();
  readonly #entries = new Map<string, WaitingEntry>();
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

  /** The first scan. A folder that cannot be read fails again when messages are added, where the caller can react. */
  async begin(now: Date): Promise<void> {
    await this.refresh().catch((error: unknown) => {
      this.#notices.add(`the journal ${this.folder} cannot be read: ${messageOf(error)}`);
    });
    const oldest = now.getTime() - doneDays * 86_400_000;
    const latest = [...this.#marks].toSorted(([, a], [, b]) => b - a);
    const kept = latest.slice(0, maxMarks).filter(([, at]) => at >= oldest).length;
    for (const [name] of latest.slice(kept)) await this.#tidy(name);
  }

  async refresh(): Promise<void> {
    const names = await readdir(this.folder).catch(unlessMissing);
    if (names === undefined) return;
    const there = new Set(names);
    for (const name of this.#entries.keys()) if (!there.has(name)) this.#entries.delete(name);
    const isUnread = (name: string): boolean =>
      name.endsWith(entryEnding) && !name.endsWith(doneEnding) && !this.#entries.has(name);
    for (const name of names.filter((each) => !this.#seen.has(each) || isUnread(each))) {
      this.#seen.add(name);
      await this.#scan(name);
    }
  }

  async #scan(name: string): Promise<void> {
    if (name.endsWith(doneEnding)) {
      const record = await this.#readFile(name, isDoneRecord, "messages may be handed over a second time");
      if (record === undefined) return;
      this.markDoneHere(record.sessionId, record.ids);
      this.#marks.set(name, Date.parse(record.at));
    } else if (name.endsWith(entryEnding)) {
      const record = await this.#readEntry(name);
      if (record === undefined) return;
      this.#noteEntry(name, record);
      await this.#keepAgain(record);
    } else if (leftoverEnding.test(name)) {
      const { mtimeMs } = await stat(path.join(this.folder, name)).catch(() => ({ mtimeMs: Date.now() }));
      if (Date.now() - mtimeMs > leftoverMinutes * 60_000) await this.#tidy(name);
    }
  }

  #readEntry(name: string): Promise<FlushRecord | undefined> {
    return this.#readFile(name, isFlushRecord, "its messages were not saved to the notes");
  }

  #noteEntry(name: string, { sessionId, sessionKey, createdAt, messages }: FlushRecord): void {
    this.#entries.set(name, { sessionId, sessionKey, createdAt, ids: new Set(messages.map(({ id }) => id)) });
  }

  #keptOf({ sessionId, messages }: FlushRecord): string {
    const name = journalFileName(nameOf(sessionId), hashOfIds(messages.map(({ id }) => id)));
    return path.join(this.#keptFolder, name);
  }

  async #keep(record: FlushRecord): Promise<void> {
    await makeFolder(this.#keptFolder);
    const { sessionId: id, sessionKey, createdAt: timestamp, messages } = record;
    const until = new Date(Date.parse(timestamp) + this.#journalDays * 86_400_000);
    const keptUntil = Number.isNaN(until.getTime()) ? undefined : until.toISOString();
    const header = { type: "session", version: 3, id, timestamp, sessionKey, keptUntil };
    const lines = messages.map((message, index) => messageLine(findable(message), messages[index - 1]?.id));
    await replaceFile(this.#keptOf(record), `${JSON.stringify(header)}\n${lines.join("")}`);
  }

  async #keepAgain(record: FlushRecord): Promise<void> {
    const file = this.#keptOf(record);
    try {
      if ((await stat(file).catch(unlessMissing)) === undefined) await this.#keep(record);
    } catch (error) {
      this.#notices.add(`${file} cannot be written (${messageOf(error)}): searches do not find what is in it`);
    }
  }

  entryNames(sessionKey?: string): readonly string[] {
    return [...this.#entries]
      .filter(([, entry]) => sessionKey === undefined || entry.sessionKey === sessionKey)
      .toSorted(([, a], [, b]) => (a.createdAt < b.createdAt ? -1 : 1))
      .map(([name]) => name);
  }

  isDone(sessionId: string, messageId: string): boolean {
    return this.#done.get(sessionId)?.has(messageId) === true;
  }

  /** Each message once, without injected text and without those that were handed over or wait in the journal. */
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

  async add(given: NewFlushRecord): Promise<void> {
    const record: FlushRecord = { version: 1, ...given, rounds: 0, tries: 0 };
    const name = `${nameOf(record.sessionId)}-${hashOfIds(record.messages.map(({ id }) => id))}${entryEnding}`;
    await makeFolder(this.folder);
    await this.#write(name, record);
    try {
      await this.#keep(record);
    } catch (error) {
      // The caller saves the messages in another way, and the journal must not save them as well.
      await rm(path.join(this.folder, name), { force: true });
      throw error;
    }
    this.#seen.add(name);
    this.#noteEntry(name, record);
  }

  async read(name: string): Promise<FlushRecord | undefined> {
    const record = await this.#readEntry(name);
    if (record === undefined) this.#entries.delete(name);
    return record;
  }

  async save(name: string, record: FlushRecord): Promise<void> {
    await this.#write(name, record);
    this.#noteEntry(name, record);
  }

  /** Records messages as handed over, on disk when it resolves. */
  async markDone(sessionId: string, ids: readonly string[], at: Date): Promise<void> {
    if (ids.length === 0) return;
    this.markDoneHere(sessionId, ids);
    const name = `${nameOf(sessionId)}-${hashOfIds(ids)}${doneEnding}`;
    await makeFolder(this.folder);
    await this.#write(name, { version: 1, sessionId, ids, at: at.toISOString() });
    this.#seen.add(name);
  }

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

  async #readFile<R>(name: string, fits: (value: unknown) => value is R, lost: string): Promise<R | undefined> {
    const file = path.join(this.folder, name);
    const text = await readFile(file, "utf8").catch((error: unknown) => {
      if (codeOf(error) !== "ENOENT")
        this.#notices.add(`${file} cannot be read (${messageOf(error)}): what is in it waits until it can`);
    });
    if (text === undefined) return undefined;
    const value = jsonOf(text);
    if (fits(value)) return value;
    // Set aside, so that a user can still get the messages out of it.
    const aside = `${file}.${randomUUID().slice(0, 8)}.broken`;
    this.#notices.add(
      await rename(file, aside).then(
        () => `${file} is damaged and was set aside as ${path.basename(aside)}: ${lost}`,
        (error: unknown) => `${file} is damaged and cannot be renamed (${messageOf(error)}): ${lost}`,
      ),
    );
    return undefined;
  }

  async #write(name: string, record: object): Promise<void> {
    await replaceFile(path.join(this.folder, name), `${JSON.stringify(record)}\n`);
  }

  async #tidy(name: string): Promise<void> {
    await rm(path.join(this.folder, name), { force: true }).catch(() => undefined);
  }
}

export async function openFlushJournal(place: JournalPlace): Promise<FlushJournal> {
  checkAgentPlace(place);
  const journal = new FlushJournal(place);
  await journal.begin(place.now);
  return journal;
}

/** Results of these tools were notes before: the file has them, and searches skip them. */
const memoryTools = /^memory_/;

/** Other tool results become text of the assistant, complete, as a model gets only a part of them. */
function findable(message: ConversationMessage): ConversationMessage {
  const text = redactSecrets(message.text);
  if (message.role === "assistant" && message.toolCalls !== undefined) {
    const toolCalls = message.toolCalls.map((call) => ({ ...call, arguments: redactSecrets(call.arguments) }));
    return { ...message, text, toolCalls };
  }
  if (message.role !== "tool" || memoryTools.test(message.toolName)) return { ...message, text };
  return resultAsText({ ...message, text });
}

async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (process.platform !== "win32" && ((await stat(folder)).mode & 0o077) !== 0) await chmod(folder, 0o700);
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = path.dirname(made)) await syncFolder(path.dirname(made));
}

export function nameOf(sessionId: string): string {
  return /^[\w-]{1,80}$/.test(sessionId) ? sessionId : hashOfIds([sessionId]);
}

function hashOfIds(ids: readonly string[]): string {
  return hashOf(JSON.stringify(ids)).slice(0, 16);
}
