import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Database } from "better-sqlite3";
import { messageOf } from "@memslot/core";
import { stampOf } from "../../scan/file-state.ts";
import type { Finder } from "../finder.ts";
import {
  isObject,
  jsonOf,
  numbered,
  type NumberedRecords,
  objectAt,
  saidRecord,
  textAt,
  timeOf,
  type TranscriptRecord,
  unknownSize,
} from "../lines.ts";
import { absoluteFolder, type KnownAgent, readSmall, saidBy } from "./agent.ts";
import { fileURLToPath } from "node:url";

/** How long it waits for a program that is writing. */
const waitMs = 1_000;
/** How long a copy is kept for the next question. */
const copyMs = 5_000;
const copyAttempts = 3;

/** A conversation in a database. */
interface StoredConversation {
  /** Its name in the index. */
  readonly name: string;
  readonly mtimeMs: number;
  /** Changes with the conversation. */
  readonly stamp: string;
  readonly folder?: string | undefined;
  /** What was said in it, in order. */
  read(db: Database): Iterable<TranscriptRecord>;
}

/**
 * Takes the conversations that `find` finds in a database. A failure is reported by the name of the database. `folderOf`:
 * where a conversation was had, if the database does not say.
 */
async function takeConversations(
  finder: Finder,
  file: string,
  find: (db: Database) => StoredConversation[],
  folderOf?: (name: string) => Promise<string | undefined>,
): Promise<void> {
  try {
    for (const { name, read, mtimeMs, stamp, folder } of (await findInDatabase(file, find)) ?? []) {
      const records = (signal: AbortSignal): NumberedRecords => recordsIn(file, read, signal);
      const place = { absolutePath: file, folder: folder ?? (await folderOf?.(name)), size: unknownSize };
      finder.add(name, { ...place, kind: "whole", mtimeMs, stamp, records });
    }
  } catch (error) {
    finder.missed(file, `cannot be read: ${messageOf(error)}`);
  }
}

async function* recordsIn(file: string, read: StoredConversation["read"], signal: AbortSignal): NumberedRecords {
  yield* numbered(await withDatabase(file, read), signal);
}

interface Copy {
  readonly state: string | undefined;
  readonly db: Database;
  readonly drop: () => void;
}

/** Of databases that cannot be opened where they are. */
const copies = new Map<string, Copy>();
/** What was found in databases, with the state that they were in. */
const findings = new Map<string, { readonly state: string; readonly found: unknown }>();

/**
 * Runs something with the database of a program, which may go on writing to it. Nothing is changed there, and nothing is
 * left beside it: with a log that nobody has open SQLite would make files, so that a copy is opened then. Throws as SQLite does.
 */
async function withDatabase<T>(file: string, run: (db: Database) => T): Promise<T> {
  // A session that has no such source does not load it.
  const { default: Sqlite } = await import("better-sqlite3");
  const open = (place: string): Database => new Sqlite(place, { readonly: true, fileMustExist: true, timeout: waitMs });
  if (!leavesTraces(file)) {
    const db = open(file);
    try {
      return run(db);
    } finally {
      db.close();
    }
  }
  const known = copies.get(file);
  if (known !== undefined && known.state === stateOfDatabase(file)) return run(known.db);
  known?.drop();
  const copy = copyOf(file, open);
  copies.set(file, copy);
  setTimeout(copy.drop, copyMs).unref();
  return run(copy.db);
}

/**
 * What `run` finds in a database, as long as it is the same: found again only where it has changed. Undefined where there is
 * none. `run` is the same for the same file.
 */
async function findInDatabase<T>(file: string, run: (db: Database) => T): Promise<T | undefined> {
  const state = stateOfDatabase(file);
  if (state === undefined) return undefined;
  const before = findings.get(file);
  if (before?.state === state) return before.found as T;
  const found = await withDatabase(file, run);
  findings.set(file, { state, found });
  return found;
}

/** One text for the state of a database and of what was written to it last; undefined where there is none. */
function stateOfDatabase(file: string): string | undefined {
  const states = [file, `${file}-wal`].map((each) => {
    const stats = statSync(each, { bigint: true, throwIfNoEntry: false });
    return stats && stampOf(stats);
  });
  return states[0] === undefined ? undefined : states.join(" ");
}

/** Whether opening it would make files beside it: it has a log (the format says 2) that no program has open. */
function leavesTraces(file: string): boolean {
  // What is no file might keep whoever opens it waiting for ever.
  if (!statSync(file).isFile()) throw new Error("is not a file");
  const descriptor = openSync(file, constants.O_RDONLY);
  try {
    const format = Buffer.alloc(1);
    readSync(descriptor, format, 0, 1, 18);
    return format[0] === 2 && !(existsSync(`${file}-wal`) && existsSync(`${file}-shm`));
  } finally {
    closeSync(descriptor);
  }
}

/** A copy that is gone from the disk as soon as it is closed, however this process ends where the system can do that. */
function copyOf(file: string, open: (place: string) => Database): Copy {
  const folder = mkdtempSync(path.join(tmpdir(), "memslot-read-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 2 });
  try {
    const place = path.join(folder, "copy.db");
    let state: string | undefined;
    for (let attempt = 1; attempt === 1 || state !== stateOfDatabase(file); attempt++) {
      if (attempt > copyAttempts) throw new Error("it changes while it is copied");
      state = stateOfDatabase(file);
      for (const ending of ["", "-wal"])
        if (existsSync(file + ending)) copyFileSync(file + ending, place + ending, constants.COPYFILE_FICLONE);
    }
    const db = open(place);
    // Reads its header and its log: they are open from now on.
    db.pragma("schema_version");
    if (process.platform !== "win32") remove();
    let isDropped = false;
    const drop = (): void => {
      if (isDropped) return;
      isDropped = true;
      if (copies.get(file)?.db === db) copies.delete(file);
      db.close();
      remove();
    };
    return { state, db, drop };
  } catch (error) {
    remove();
    throw error;
  }
}

// A subagent has a parent.
const sessionsSql = `SELECT s.id, s.directory, s.time_updated AS updated,
  (SELECT count(*) FROM message m WHERE m.session_id = s.id) AS messages,
  (SELECT count(*) FROM message m JOIN part p ON p.message_id = m.id WHERE m.session_id = s.id) AS parts
  FROM session s WHERE s.parent_id IS NULL ORDER BY s.id`;
const partsSql = `SELECT m.id AS id, m.data AS message, p.data AS part
  FROM message m LEFT JOIN part p ON p.message_id = m.id
  WHERE m.session_id = ? ORDER BY m.time_created, m.id, p.id`;

/** `opencode.db`: sessions, their messages, and the parts of these. */
export const opencode: KnownAgent = {
  name: "OpenCode",
  find: async (finder, folder) => await takeConversations(finder, path.join(folder, "opencode.db"), sessionsIn),
};

function sessionsIn(db: Database): StoredConversation[] {
  type Row = { id: unknown; directory: unknown; updated: unknown; messages: number; parts: number };
  const rows = db.prepare<[], Row>(sessionsSql).all();
  return rows.flatMap(({ id, directory, updated, messages, parts }) => {
    if (typeof id !== "string") return [];
    const stamp = `${updated}:${messages}:${parts}`;
    const folder = absoluteFolder(directory);
    return { name: id, folder, mtimeMs: Number(updated) || 0, stamp, read: (each) => messagesIn(each, id) };
  });
}

/** A record for each message. */
function messagesIn(db: Database, session: string): Iterable<TranscriptRecord> {
  type Row = { id: string; message: string; part: string | null };
  const rows = db.prepare<[string], Row>(partsSql).all(session);
  return Map.groupBy(rows, ({ id }) => id)
    .values()
    .map((parts) => {
      const message = jsonOf(parts[0]?.message);
      const role = textAt(message, "role");
      const timeMs = timeOf(objectAt(message, "time")?.["created"]);
      if (role !== "user" && role !== "assistant") return { kind: "other", timeMs };
      return saidRecord({ role, text: parts.flatMap(({ part }) => textIn(jsonOf(part))).join("\n"), timeMs });
    });
}

/** What was said: no thoughts, no tools, nothing that the program itself has put in. */
function textIn(part: unknown): string[] {
  const { type, synthetic, ignored, text } = (part ?? {}) as Record<string, unknown>;
  return type === "text" && synthetic !== true && ignored !== true && typeof text === "string" ? [text] : [];
}

const composersSql = `SELECT substr(key, 14) AS id, json_extract(value, '$.lastUpdatedAt') AS updated,
  json_extract(value, '$.createdAt') AS created,
  json_array_length(value, '$.fullConversationHeadersOnly') AS bubbles
  FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;' AND json_valid(value) ORDER BY key`;
const valueSql = "SELECT value FROM cursorDiskKV WHERE key = ?";
const workspaceSql = "SELECT value FROM ItemTable WHERE key = 'composer.composerData'";

/**
 * The editor's `globalStorage/state.vscdb`, whose conversations have times, and `projects/<slug>/agent-transcripts/` of the
 * command line, which have none. A conversation that is in both is taken from the first.
 */
export const cursor: KnownAgent = {
  name: "Cursor",
  // `{role, message: {content: […]}}`, without ids and times.
  said(line) {
    const said = saidBy(line["role"], objectAt(line, "message")?.["content"]);
    // What stands around the query is Cursor's own.
    return said && { ...said, text: /<user_query>([^]*)<\/user_query>/u.exec(said.text)?.[1] ?? said.text };
  },
  async find(finder, folder) {
    for (const slug of await finder.folders(path.join(folder, "projects"))) {
      const transcripts = path.join(folder, "projects", slug, "agent-transcripts");
      for (const entry of await finder.list(transcripts)) {
        const { name } = entry;
        const place = path.join(transcripts, ...(entry.isDirectory() ? [name, `${name}.jsonl`] : [name]));
        if (/\.jsonl$/iu.test(place))
          await finder.take(path.basename(place), place, { kind: "lines", folder: `slug:${slug}` });
      }
    }
    let projects: Promise<Map<string, string>> | undefined;
    await takeConversations(finder, path.join(folder, "globalStorage", "state.vscdb"), composersIn, async (name) =>
      (await (projects ??= projectsOf(finder, path.join(folder, "workspaceStorage")))).get(name),
    );
  },
};

/** The folders of the workspaces, by the names of the conversations that were had in them. */
async function projectsOf(finder: Finder, storage: string): Promise<Map<string, string>> {
  const projects = new Map<string, string>();
  for (const { name } of await finder.list(storage)) {
    try {
      const folder = textAt(jsonOf(await readSmall(path.join(storage, name, "workspace.json"))), "folder");
      if (folder?.startsWith("file:") !== true) continue;
      const file = path.join(storage, name, "state.vscdb");
      const value = await findInDatabase(file, (db) => db.prepare<[], { value: unknown }>(workspaceSql).get()?.value);
      for (const composer of listAt(jsonOf(value), "allComposers")) {
        const id = textAt(composer, "composerId");
        if (id !== undefined) projects.set(nameOf(id), fileURLToPath(folder));
      }
    } catch {
      // Its project is not known then.
    }
  }
  return projects;
}

function composersIn(db: Database): StoredConversation[] {
  type Row = { id: unknown; updated: unknown; created: unknown; bubbles: unknown };
  const rows = db.prepare<[], Row>(composersSql).all();
  return rows.flatMap(({ id, updated, created, bubbles }) => {
    if (typeof id !== "string" || !(Number(bubbles ?? 0) > 0)) return [];
    const mtimeMs = timeOf(updated) ?? timeOf(created) ?? 0;
    const stamp = `${mtimeMs}:${bubbles}`;
    return { name: nameOf(id), mtimeMs, stamp, read: (each) => bubblesIn(each, id, timeOf(created)) };
  });
}

/** A record for each message. What has no time of its own has that of its conversation. */
function bubblesIn(db: Database, id: string, startedMs: number | undefined): TranscriptRecord[] {
  const valueOf = db.prepare<[string], { value: unknown }>(valueSql);
  const at = (key: string): unknown => jsonOf(valueOf.get(key)?.value);
  return listAt(at(`composerData:${id}`), "fullConversationHeadersOnly").map((header) => {
    const bubble = at(`bubbleId:${id}:${textAt(header, "bubbleId")}`);
    const { createdAt, type, text } = isObject(bubble) ? bubble : {};
    const timeMs = timeOf(createdAt) ?? startedMs;
    const role = type === 1 ? "user" : type === 2 ? "assistant" : undefined;
    if (role === undefined) return { kind: "other", timeMs };
    return saidRecord({ role, text: typeof text === "string" ? text : "", timeMs });
  });
}

function nameOf(id: string): string {
  return `${id}.jsonl`;
}

function listAt(value: unknown, name: string): unknown[] {
  const list = isObject(value) ? value[name] : undefined;
  return Array.isArray(list) ? list : [];
}
