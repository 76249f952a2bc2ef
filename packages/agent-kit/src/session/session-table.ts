import { randomUUID } from "node:crypto";
import { readFile, readdir, rename } from "node:fs/promises";
import path from "node:path";
import { replaceFile, unlessMissing } from "@memslot/core/files";
import pLimit from "p-limit";
import { orUnavailable, withStateLock } from "../failures.ts";
import type { SessionFacts } from "./session.ts";
import { isObject } from "./transcript-entry.ts";
import { lookInto, readBeginning } from "./transcript-file.ts";

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

type SessionTable = Map<string, TableEntry>;

const waitMs = 5_000;
const mostLookedAtBytes = 64 * 1024 * 1024;
/** Another host keeps more than entries of sessions there; what cannot be understood is kept. */
type RawTable = Map<string, unknown>;

/** The list as it stands there, for somebody who only looks: what is missing, damaged or a link gives an empty one. */
export async function lookAtSessionTable(folder: string): Promise<SessionTable> {
  const text = await lookInto(path.join(folder, "sessions.json"), async (handle, { size }) =>
    size > mostLookedAtBytes ? undefined : await handle.readFile("utf8"),
  );
  return tableOf(parse(text ?? "") ?? new Map(), folder);
}

/** The list of an agent's sessions by their keys: `sessions.json` beside the transcripts. */
export class SessionTableFile {
  readonly #folder: string;
  readonly #file: string;
  readonly #clock: () => Date;
  readonly #notify: (line: string) => void;
  readonly #inTurn = pLimit(1);

  constructor(folder: string, clock: () => Date, notify: (line: string) => void) {
    this.#folder = folder;
    this.#file = path.join(folder, "sessions.json");
    this.#clock = clock;
    this.#notify = notify;
  }

  async read(): Promise<SessionTable> {
    return await this.#locked(async () => tableOf(await this.#load(), this.#folder));
  }

  /**
   * Reads the list and writes it with the entries that `change` put there, while no other process does. Gives what
   * `change` gives. Throws `BUSY` where another process holds the list for longer than 5 s.
   */
  async change<T>(change: (table: SessionTable) => T): Promise<T> {
    return await this.#locked(async () => {
      const raw = await this.#load();
      const before = tableOf(raw, this.#folder);
      const table = new Map(before);
      const result = change(table);
      const changed = [...table].filter(([key, entry]) => entry !== before.get(key));
      for (const [key, entry] of changed) raw.set(key, rawOf(entry));
      if (changed.length > 0) await this.#write(raw);
      return result;
    });
  }

  /** Takes its turn in this process first: waiting for a file is slower. */
  #locked<T>(run: () => Promise<T>): Promise<T> {
    const lockFile = `${this.#file}.lock`;
    const busy = (holder: { pid: number } | undefined): string =>
      `${this.#file} is being changed by ${holder ? `process ${holder.pid}` : "another process"} for more than 5 s; ` +
      `try again, and if nothing is at work there, delete ${lockFile}`;
    return this.#inTurn(() => withStateLock(lockFile, { waitMs, busy }, run));
  }

  async #load(): Promise<RawTable> {
    const file = this.#file;
    const text = await this.#using(() => readFile(file, "utf8").catch(unlessMissing));
    const raw = text === undefined ? undefined : parse(text);
    if (raw) return raw;
    if (text !== undefined) {
      const aside = `${file}.broken-${this.#clock().toISOString().replaceAll(":", "-")}`;
      await rename(file, aside);
      this.#notify(`${file} is no list of sessions; it was set aside as ${path.basename(aside)}`);
    }
    const rebuilt = await rebuildTable(this.#folder);
    const made: RawTable = new Map([...rebuilt].map(([key, entry]) => [key, rawOf(entry)]));
    if (made.size === 0) return made;
    await this.#write(made);
    const count = `${made.size} ${made.size === 1 ? "session" : "sessions"}`;
    this.#notify(`${file} was made anew from the transcripts: ${count}. What hosts noted about them is lost`);
    return made;
  }

  #write(raw: RawTable): Promise<void> {
    return this.#using(() => replaceFile(this.#file, `${JSON.stringify(Object.fromEntries(raw), undefined, 2)}\n`));
  }

  #using<T>(run: () => Promise<T>): Promise<T> {
    return orUnavailable(run, (why) => {
      return `${this.#file} cannot be used: ${why}; see to the disk and the rights of the folder, then try again`;
    });
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

/**
 * The list of sessions as far as the transcripts know it: each begins with the key that it was opened under. Of several
 * with one key the one that began last is the current one. Transcripts of other hosts do not have the key.
 */
async function rebuildTable(folder: string): Promise<SessionTable> {
  const began = new Map<string, number>();
  const table: SessionTable = new Map();
  for (const name of (await readdir(folder)).toSorted()) {
    if (!/\.jsonl$/i.test(name)) continue;
    const found = await readBeginning(path.join(folder, name));
    if (found?.id === undefined || found.key === undefined) continue;
    const beganMs = Date.parse(found.at ?? "") || 0;
    if (beganMs < (began.get(found.key) ?? -1)) continue;
    began.set(found.key, beganMs);
    const counts = { compactionCount: 0, compactedBytes: 0 };
    table.set(found.key, { sessionId: found.id, sessionFile: name, updatedAt: found.changedMs, ...counts, more: {} });
  }
  return table;
}

/** What the list says of a session, and the size of its transcript. */
export function factsOf(key: string, folder: string, entry: TableEntry, transcriptBytes: number): SessionFacts {
  const { memoryFlushAt, memoryFlushCompactionCount } = entry.more;
  return {
    key,
    id: entry.sessionId,
    file: path.join(folder, entry.sessionFile),
    updatedAt: new Date(entry.updatedAt).toISOString(),
    compactionCount: entry.compactionCount,
    memoryFlushAt: isoOf(memoryFlushAt),
    memoryFlushCompactionCount: typeof memoryFlushCompactionCount === "number" ? memoryFlushCompactionCount : undefined,
    transcriptBytes,
    bytesSinceCompaction: Math.max(0, transcriptBytes - entry.compactedBytes),
  };
}

/** Hosts also write milliseconds. */
function isoOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "number" && value > 0 && value <= 8.64e15 ? new Date(value).toISOString() : undefined;
}

/** A session that has a key and no transcript yet. What hosts note stays with the key, but for what flushes noted. */
export function newEntry(now: Date, before?: TableEntry | undefined): TableEntry {
  const sessionId = randomUUID();
  const kept = Object.entries(before?.more ?? {}).filter(([name]) => !name.startsWith("memoryFlush"));
  const more = Object.fromEntries(kept);
  const counts = { compactionCount: 0, compactedBytes: 0 };
  return { sessionId, sessionFile: `${sessionId}.jsonl`, updatedAt: now.getTime(), ...counts, more };
}
