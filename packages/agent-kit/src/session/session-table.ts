import { randomUUID } from "node:crypto";
import { readFile, readdir, rename } from "node:fs/promises";
import path from "node:path";
import { replaceFile, unlessMissing } from "@memslot/core/files";
import { isObject, jsonOf, textAt } from "@memslot/indexing/host";
import pLimit from "p-limit";
import { busyFor, orUnavailable, withStateLock } from "../state-locks.ts";
import type { SessionFacts } from "./session-types.ts";
import { readBeginning, readFileSafely } from "./transcript-file.ts";

export interface TableEntry {
  readonly sessionId: string;
  readonly sessionFile: string;
  readonly updatedAt: number;
  readonly compactionCount: number;
  readonly compactedBytes: number;
  readonly more: Readonly<Record<string, unknown>>;
}

type SessionTable = Map<string, TableEntry>;

const maxReadOnlyBytes = 64 * 1024 * 1024;
type RawTable = Map<string, unknown>;

/** Reads the list without changing anything. Empty if it is missing, damaged or a link. */
export async function readSessionTable(folder: string): Promise<SessionTable> {
  const text = await readFileSafely(path.join(folder, "sessions.json"), async (handle, { size }) =>
    size > maxReadOnlyBytes ? undefined : await handle.readFile("utf8"),
  );
  return tableOf(parse(text ?? "") ?? new Map(), folder);
}

/** The list of an agent's sessions by key: `sessions.json` next to the transcripts. */
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

  /** Changes the list under its lock. Returns the result of `change`. Throws `BUSY` after 5 s. */
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

  /** Waits in this process first, which is faster than waiting for the lock. */
  #locked<T>(run: () => Promise<T>): Promise<T> {
    const lockFile = `${this.#file}.lock`;
    const next = `try again, and if no process uses it, delete ${lockFile}`;
    return this.#inTurn(() =>
      withStateLock(lockFile, { waitMs: 5_000, busy: busyFor(`${this.#file} has been`, 5, next) }, run),
    );
  }

  async #load(): Promise<RawTable> {
    const file = this.#file;
    const text = await this.#using(() => readFile(file, "utf8").catch(unlessMissing));
    const raw = text === undefined ? undefined : parse(text);
    if (raw) return raw;
    if (text !== undefined) {
      const aside = `${file}.broken-${this.#clock().toISOString().replaceAll(":", "-")}`;
      await rename(file, aside);
      this.#notify(`${file} is not a list of sessions; it was set aside as ${path.basename(aside)}`);
    }
    const rebuilt = await rebuildTable(this.#folder);
    const made: RawTable = new Map([...rebuilt].map(([key, entry]) => [key, rawOf(entry)]));
    if (made.size === 0) return made;
    await this.#write(made);
    const count = `${made.size} ${made.size === 1 ? "session" : "sessions"}`;
    this.#notify(`${file} was rebuilt from the transcripts: ${count}. Notes of hosts about them are lost`);
    return made;
  }

  #write(raw: RawTable): Promise<void> {
    return this.#using(() => replaceFile(this.#file, `${JSON.stringify(Object.fromEntries(raw), undefined, 2)}\n`));
  }

  #using<T>(run: () => Promise<T>): Promise<T> {
    return orUnavailable(run, (why) => {
      return `${this.#file} cannot be used: ${why}; check the disk and the rights of the folder, then try again`;
    });
  }
}

function parse(text: string): RawTable | undefined {
  const value = jsonOf(text.replace(/^\uFEFF/, ""));
  return isObject(value) ? new Map(Object.entries(value)) : undefined;
}

function tableOf(raw: RawTable, folder: string): SessionTable {
  const table: SessionTable = new Map();
  for (const [key, value] of raw) {
    const entry = entryOf(value, folder);
    if (entry) table.set(key, entry);
  }
  return table;
}

/** Undefined for an entry without a transcript in this folder. Hosts also write whole paths. */
function entryOf(value: unknown, folder: string): TableEntry | undefined {
  if (!isObject(value)) return undefined;
  const { sessionId: _, sessionFile, updatedAt, compactionCount, compactedBytes, ...more } = value;
  const given = textAt(value, "sessionId")?.trim() ?? "";
  const id = /^(?!\.\.?$)[^/\\\0]{1,200}$/.test(given) ? given : undefined;
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

function timeOf(value: unknown): number {
  const timeMs = typeof value === "string" ? Date.parse(value) : typeof value === "number" ? value : 0;
  return timeMs > 0 && timeMs <= 8.64e15 ? timeMs : 0;
}

function countOf(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}

/** The list rebuilt from the first lines of the transcripts. Of several with one key the latest is current. */
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
    table.set(found.key, { ...noCounts, sessionId: found.id, sessionFile: name, updatedAt: found.changedMs, more: {} });
  }
  return table;
}

const noCounts = { compactionCount: 0, compactedBytes: 0 };

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

function isoOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "number" && value > 0 && value <= 8.64e15 ? new Date(value).toISOString() : undefined;
}

/** A session without a transcript. Fields of hosts stay with the key, except those of flushes. */
export function newEntry(now: Date, before?: TableEntry | undefined): TableEntry {
  const sessionId = randomUUID();
  const kept = Object.entries(before?.more ?? {}).filter(([name]) => !name.startsWith("memoryFlush"));
  const more = Object.fromEntries(kept);
  return { ...noCounts, sessionId, sessionFile: `${sessionId}.jsonl`, updatedAt: now.getTime(), more };
}
