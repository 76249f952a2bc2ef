import { createHash, randomUUID } from "node:crypto";
import { chmod, mkdir, readFile, readdir, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import { checkAgentPlace, messageOf } from "@memslot/core";
import { journalFolder, sessionsFolder } from "@memslot/indexing/host";
import type { ConversationMessage } from "../../conversation.ts";
import { codeOf, replaceFile, syncFolder, unlessMissing } from "@memslot/core/files";
import { keepMessages, keptFile } from "./kept-messages.ts";
import { type FlushRecord, isDoneRecord, isFlushRecord } from "./flush-record.ts";

/**
 * What was dropped and not yet handed over, in files of the state folder: `agents/<agentId>/flush/`. Beside it, in
 * `journal/`, all that was dropped is kept where searches find it, whatever a model makes of it.
 */
export interface FlushJournal {
  readonly folder: string;
  /** What was found wrong with the files, one line each. */
  readonly notices: readonly string[];
  /** Looks at files that came since the last look. A folder that is not there holds nothing. */
  refresh(): Promise<void>;
  /** Names of the entries, oldest first. */
  entryNames(): readonly string[];
  /** The session key of an entry. */
  keyOf(name: string): string | undefined;
  /** How many entries belong to a session key. */
  pendingOf(sessionKey: string): number;
  /** Whether a message of the session was handed over, or waits here for it. */
  isKnown(sessionId: string, messageId: string): boolean;
  isDone(sessionId: string, messageId: string): boolean;
  /** Adds messages. They are on disk when it resolves. */
  add(record: NewFlushRecord): Promise<void>;
  /** An entry as it is on disk now; undefined where it is gone, or was broken and set aside. */
  read(name: string): Promise<FlushRecord | undefined>;
  /** Replaces an entry, on disk when it resolves. */
  save(name: string, record: FlushRecord): Promise<void>;
  /** Remembers messages as handed over, on disk when it resolves. */
  markDone(sessionId: string, messageIds: readonly string[], at: Date): Promise<void>;
  /** The same where the disk takes nothing: until this process ends. */
  markDoneHere(sessionId: string, messageIds: readonly string[]): void;
  remove(name: string): Promise<void>;
}

type NewFlushRecord = Pick<FlushRecord, "sessionKey" | "sessionId" | "compactionCount" | "createdAt"> & {
  readonly messages: readonly ConversationMessage[];
};

const doneEnding = ".done.json";
const entryEnding = ".json";
/** Of drafts and locks that a crash may leave behind. Nobody was told that a draft was written. */
const leftoverEnding = /\.(?:tmp|lock|takeover)$/;
/** Older marks can go: a conversation has long dropped what they name. */
const doneDays = 90;
/** Of the marks of an agent as many stay, the latest ones. */
const maxMarks = 500;
/** The leftovers of a process that is still at work are younger. */
const leftoverMinutes = 10;

export async function openFlushJournal(place: {
  stateDir: string;
  agentId: string;
  now: Date;
  journalDays: number;
}): Promise<FlushJournal> {
  checkAgentPlace(place);
  const folder = path.join(path.dirname(sessionsFolder(place)), "flush");
  const keptFolder = journalFolder(place);
  /** Message ids by session id. */
  const done = new Map<string, Set<string>>();
  /** Entries by file name, with the messages that wait in them. */
  const entries = new Map<
    string,
    { sessionId: string; sessionKey: string; createdAt: string; ids: ReadonlySet<string> }
  >();
  /** Times of the marks that were read, by file name. */
  const marks = new Map<string, number>();
  const seen = new Set<string>();
  const notices = new Set<string>();

  const note = (line: string): void => void notices.add(line);

  const noteDone = (sessionId: string, ids: readonly string[]): void => {
    const known = done.get(sessionId) ?? new Set();
    for (const id of ids) known.add(id);
    done.set(sessionId, known);
  };
  const noteEntry = (name: string, { sessionId, sessionKey, createdAt, messages }: FlushRecord): void => {
    entries.set(name, { sessionId, sessionKey, createdAt, ids: new Set(messages.map(({ id }) => id)) });
  };

  async function readRecord<R>(name: string, fits: (value: unknown) => value is R): Promise<R | undefined> {
    const file = path.join(folder, name);
    let text: string;
    try {
      text = await readFile(file, "utf8");
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      note(`${file} cannot be read (${messageOf(error)}): what is in it waits until it can`);
      return undefined;
    }
    try {
      const value: unknown = JSON.parse(text);
      if (fits(value)) return value;
    } catch {
      // Not JSON: set aside like a record of another shape.
    }
    const isMark = name.endsWith(doneEnding);
    await setAside(
      file,
      isMark ? "messages may be handed over a second time" : "its messages were not saved to the notes",
    );
    return undefined;
  }

  /** Somebody may still get the messages out of it by hand. */
  async function setAside(file: string, so: string): Promise<void> {
    const aside = `${file}.${randomUUID().slice(0, 8)}.broken`;
    try {
      await rename(file, aside);
      note(`${file} is damaged and was set aside as ${path.basename(aside)}: ${so}`);
    } catch (error) {
      note(`${file} is damaged and cannot be renamed (${messageOf(error)}): ${so}`);
    }
  }

  async function look(name: string): Promise<void> {
    if (name.endsWith(doneEnding)) {
      const record = await readRecord(name, isDoneRecord);
      if (record === undefined) return;
      noteDone(record.sessionId, record.ids);
      marks.set(name, Date.parse(record.at));
    } else if (name.endsWith(entryEnding)) {
      const record = await readRecord(name, isFlushRecord);
      if (record === undefined) return;
      noteEntry(name, record);
      await keepAgain(record);
    } else if (leftoverEnding.test(name)) {
      const file = path.join(folder, name);
      const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: Date.now() }));
      if (Date.now() - mtimeMs > leftoverMinutes * 60_000) await tidy(file);
    }
  }

  function keptOf({ sessionId, messages }: Pick<FlushRecord, "sessionId" | "messages">): string {
    return keptFile(keptFolder, nameOf(sessionId), hashOf(messages.map(({ id }) => id)));
  }

  async function keep(record: FlushRecord): Promise<void> {
    await makeFolder(keptFolder);
    await keepMessages(keptOf(record), record, place.journalDays);
  }

  /** The process that took the messages may have ended before they could be found. */
  async function keepAgain(record: FlushRecord): Promise<void> {
    const file = keptOf(record);
    try {
      if ((await stat(file).catch(unlessMissing)) === undefined) await keep(record);
    } catch (error) {
      note(`${file} cannot be written (${messageOf(error)}): searches do not find what is in it`);
    }
  }

  const journal: FlushJournal = {
    folder,
    get notices() {
      return [...notices];
    },
    async refresh() {
      let names: string[];
      try {
        names = await readdir(folder);
      } catch (error) {
        if (codeOf(error) === "ENOENT") return;
        throw error;
      }
      const there = new Set(names);
      for (const name of entries.keys()) if (!there.has(name)) entries.delete(name);
      for (const name of names.filter(
        (each) => !seen.has(each) || (each.endsWith(entryEnding) && !each.endsWith(doneEnding) && !entries.has(each)),
      )) {
        seen.add(name);
        await look(name);
      }
    },
    entryNames: () =>
      [...entries].toSorted(([, a], [, b]) => (a.createdAt < b.createdAt ? -1 : 1)).map(([name]) => name),
    keyOf: (name) => entries.get(name)?.sessionKey,
    pendingOf: (sessionKey) => [...entries.values()].filter((entry) => entry.sessionKey === sessionKey).length,
    isDone: (sessionId, messageId) => done.get(sessionId)?.has(messageId) === true,
    isKnown: (sessionId, messageId) =>
      journal.isDone(sessionId, messageId) ||
      [...entries.values()].some((entry) => entry.sessionId === sessionId && entry.ids.has(messageId)),
    async add(given) {
      const record: FlushRecord = { version: 1, ...given, rounds: 0, tries: 0 };
      const name = `${nameOf(record.sessionId)}-${hashOf(record.messages.map(({ id }) => id))}${entryEnding}`;
      await makeFolder(folder);
      await replaceFile(path.join(folder, name), `${JSON.stringify(record)}\n`);
      try {
        await keep(record);
      } catch (error) {
        // Whoever asked saves the messages in another way, and they must not be taken up here as well.
        await rm(path.join(folder, name), { force: true });
        throw error;
      }
      seen.add(name);
      noteEntry(name, record);
    },
    async read(name) {
      const record = await readRecord(name, isFlushRecord);
      if (record === undefined) entries.delete(name);
      return record;
    },
    async save(name, record) {
      await replaceFile(path.join(folder, name), `${JSON.stringify(record)}\n`);
      noteEntry(name, record);
    },
    async markDone(sessionId, ids, at) {
      if (ids.length === 0) return;
      noteDone(sessionId, ids);
      const name = `${nameOf(sessionId)}-${hashOf(ids)}${doneEnding}`;
      await makeFolder(folder);
      await replaceFile(
        path.join(folder, name),
        `${JSON.stringify({ version: 1, sessionId, ids, at: at.toISOString() })}\n`,
      );
      seen.add(name);
    },
    markDoneHere: noteDone,
    async remove(name) {
      await rm(path.join(folder, name), { force: true });
      await syncFolder(folder);
      entries.delete(name);
    },
  };
  async function tidyMarks(): Promise<void> {
    const oldest = place.now.getTime() - doneDays * 86_400_000;
    const latest = [...marks].toSorted(([, a], [, b]) => b - a);
    const kept = latest.slice(0, maxMarks).filter(([, at]) => at >= oldest).length;
    for (const [name] of latest.slice(kept)) await tidy(path.join(folder, name));
  }

  // Whoever adds to it learns it too, and can do something about it.
  await journal.refresh().catch((error: unknown) => note(`the journal ${folder} cannot be read: ${messageOf(error)}`));
  await tidyMarks();
  return journal;
}

/** Takes away what nobody needs. A disk that cannot be written keeps it. */
async function tidy(file: string): Promise<void> {
  await rm(file, { force: true }).catch(() => undefined);
}

/** For the owner alone, whatever the umask is and whoever made it, and there after a power cut. */
async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (process.platform !== "win32" && ((await stat(folder)).mode & 0o077) !== 0) await chmod(folder, 0o700);
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = path.dirname(made)) await syncFolder(path.dirname(made));
}

/** A session id names the file where it can; otherwise its hash does. */
function nameOf(sessionId: string): string {
  return /^[\w-]{1,80}$/.test(sessionId) ? sessionId : hashOf([sessionId]);
}

function hashOf(ids: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(ids)).digest("hex").slice(0, 16);
}
