import { isObject } from "./transcript/transcript-entry.ts";
import { constants } from "node:fs";
import { open, readFile, readdir, rename } from "node:fs/promises";
import path from "node:path";
import { MemoryError, messageOf } from "@memslot/core";
import { codeOf, noSurprises, replaceFile } from "@memslot/core/files";
import pLimit from "p-limit";
import { withStateLock } from "../state-lock.ts";
import { readFirstEntry } from "./transcript/read-transcript.ts";

/** What `sessions.json` says of one session. Fields of other hosts are kept as they are. */
export interface TableEntry {
  readonly sessionId: string;
  /** A file name of the folder. Hosts also write whole paths. */
  readonly sessionFile: string;
  /** Milliseconds since 1970. */
  readonly updatedAt: number;
  readonly compactionCount: number;
  /** Bytes of the transcript up to its last compaction. */
  readonly compactedBytes: number;
  readonly more: Readonly<Record<string, unknown>>;
}

export type SessionTable = Map<string, TableEntry>;

/** The list of an agent's sessions by their keys: `sessions.json` beside the transcripts. */
export interface SessionTableFile {
  read(): Promise<SessionTable>;
  /**
   * Reads the list and writes it with the entries that `change` put there, while no other process does. Gives what
   * `change` gives. Throws `BUSY` where another process holds the list for longer than 5 s.
   */
  change<T>(change: (table: SessionTable) => T): Promise<T>;
}

const waitMs = 5_000;
const mostLookedAtBytes = 64 * 1024 * 1024;
/** Another host keeps more than entries of sessions there; what cannot be understood is kept. */
type RawTable = Map<string, unknown>;

/** The list as it stands there, for somebody who only looks: what is missing, damaged or a link gives an empty one. */
export async function lookAtSessionTable(folder: string): Promise<SessionTable> {
  try {
    const handle = await open(path.join(folder, "sessions.json"), constants.O_RDONLY | noSurprises);
    try {
      const stats = await handle.stat();
      if (!stats.isFile() || stats.size > mostLookedAtBytes) return new Map();
      return tableOf(parse(await handle.readFile("utf8")) ?? new Map(), folder);
    } finally {
      await handle.close();
    }
  } catch {
    return new Map(); // What is not there names no session.
  }
}

export function openSessionTable(input: {
  folder: string;
  clock: () => Date;
  notify: (line: string) => void;
}): SessionTableFile {
  const { folder, clock, notify } = input;
  const file = path.join(folder, "sessions.json");
  const lockFile = `${file}.lock`;
  const inTurn = pLimit(1);

  /** Takes its turn in this process first: waiting for a file is slower. */
  function locked<T>(run: () => Promise<T>): Promise<T> {
    const busy = (holder: { pid: number } | undefined): string =>
      `${file} is being changed by ${holder ? `process ${holder.pid}` : "another process"} for more than 5 s; ` +
      `try again, and if nothing is at work there, delete ${lockFile}`;
    return inTurn(() => withStateLock(lockFile, { waitMs, busy }, run));
  }

  async function load(): Promise<RawTable> {
    const text = await textOf(file);
    const raw = text === undefined ? undefined : parse(text);
    if (raw) return raw;
    if (text !== undefined) {
      const aside = `${file}.broken-${clock().toISOString().replaceAll(":", "-")}`;
      await rename(file, aside);
      notify(`${file} is no list of sessions; it was set aside as ${path.basename(aside)}`);
    }
    const rebuilt = await rebuildTable(folder);
    const made: RawTable = new Map([...rebuilt].map(([key, entry]) => [key, rawOf(entry)]));
    if (made.size === 0) return made;
    await write(made);
    const count = `${made.size} ${made.size === 1 ? "session" : "sessions"}`;
    notify(`${file} was made anew from the transcripts: ${count}. What hosts noted about them is lost`);
    return made;
  }

  async function write(raw: RawTable): Promise<void> {
    try {
      await replaceFile(file, `${JSON.stringify(Object.fromEntries(raw), undefined, 2)}\n`);
    } catch (error) {
      throw cannotUse(file, error);
    }
  }

  return {
    read: () => locked(async () => tableOf(await load(), folder)),
    change: (change) =>
      locked(async () => {
        const raw = await load();
        const before = tableOf(raw, folder);
        const table = new Map(before);
        const result = change(table);
        const changed = [...table].filter(([key, entry]) => entry !== before.get(key));
        for (const [key, entry] of changed) raw.set(key, rawOf(entry));
        if (changed.length > 0) await write(raw);
        return result;
      }),
  };
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw cannotUse(file, error);
  }
}

function parse(text: string): RawTable | undefined {
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ""));
    return isObject(value) ? new Map(Object.entries(value)) : undefined;
  } catch {
    return undefined;
  }
}

function tableOf(raw: RawTable, folder: string): SessionTable {
  const table: SessionTable = new Map();
  for (const [key, value] of raw) {
    const entry = entryOf(value, folder);
    if (entry) table.set(key, entry);
  }
  return table;
}

/** Undefined for what names no transcript of this folder. */
function entryOf(value: unknown, folder: string): TableEntry | undefined {
  if (!isObject(value)) return undefined;
  const { sessionId, sessionFile, updatedAt, compactionCount, compactedBytes, ...more } = value;
  const id = typeof sessionId === "string" && isFileName(sessionId.trim()) ? sessionId.trim() : undefined;
  const fileName = fileNameOf(sessionFile, folder) ?? (id === undefined ? undefined : `${id}.jsonl`);
  if (fileName === undefined) return undefined;
  return {
    sessionId: id ?? fileName.replace(/\.jsonl$/i, ""),
    sessionFile: fileName,
    updatedAt: timeOf(updatedAt),
    compactionCount: countOf(compactionCount),
    compactedBytes: countOf(compactedBytes),
    more,
  };
}

function rawOf({ more, ...entry }: TableEntry): Record<string, unknown> {
  return { ...more, ...entry };
}

function fileNameOf(sessionFile: unknown, folder: string): string | undefined {
  if (typeof sessionFile !== "string" || sessionFile.trim() === "" || sessionFile.includes("\0")) return undefined;
  const file = path.resolve(folder, sessionFile.trim());
  const name = path.basename(file);
  return path.dirname(file) === path.resolve(folder) && /\.jsonl$/i.test(name) ? name : undefined;
}

function isFileName(name: string): boolean {
  return /^[^/\\\0]{1,200}$/.test(name) && name !== "." && name !== "..";
}

function timeOf(value: unknown): number {
  const timeMs = typeof value === "string" ? Date.parse(value) : typeof value === "number" ? value : 0;
  return timeMs > 0 && timeMs <= 8.64e15 ? timeMs : 0;
}

function countOf(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}

function cannotUse(file: string, error: unknown): MemoryError {
  return new MemoryError(
    "UNAVAILABLE",
    `${file} cannot be used: ${messageOf(error)}; see to the disk and the rights of the folder, then try again`,
    { cause: error },
  );
}

/**
 * The list of sessions as far as the transcripts know it: each begins with the key that it was opened under. Of several
 * with one key the one that began last is the current one. Transcripts of other hosts do not have the key.
 */
async function rebuildTable(folder: string): Promise<SessionTable> {
  const began = new Map<string, number>();
  const table: SessionTable = new Map();
  for (const name of (await readdir(folder)).toSorted()) {
    if (!/\.jsonl$/i.test(name)) continue;
    const found = await beginningOf(path.join(folder, name));
    if (!found || found.beganMs < (began.get(found.key) ?? -1)) continue;
    began.set(found.key, found.beganMs);
    table.set(found.key, {
      sessionId: found.id,
      sessionFile: name,
      updatedAt: found.changedMs,
      compactionCount: 0,
      compactedBytes: 0,
      more: {},
    });
  }
  return table;
}

async function beginningOf(
  file: string,
): Promise<{ id: string; key: string; beganMs: number; changedMs: number } | undefined> {
  try {
    const handle = await open(file, constants.O_RDONLY | noSurprises);
    try {
      const stats = await handle.stat();
      const entry = stats.isFile() ? await readFirstEntry(handle) : undefined;
      if (entry?.kind !== "session" || entry.id === undefined || entry.key === undefined) return undefined;
      return { id: entry.id, key: entry.key, beganMs: Date.parse(entry.at ?? "") || 0, changedMs: stats.mtimeMs };
    } finally {
      await handle.close();
    }
  } catch {
    // A link, or a file that is gone or not for us to read: what it begins with cannot be said.
    return undefined;
  }
}
