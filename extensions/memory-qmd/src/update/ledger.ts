import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type IndexedFile, type FileKey, stampOf as stampIn, type FileRecord } from "@memslot/indexing";
import { replaceFileSync } from "@memslot/core/files";

/** A memory file that is there, and whether the index of qmd has it as it is. */
export interface LedgerFile extends FileRecord {
  chunks: number;
  /** Bytes of the texts of its chunks. */
  chunkBytes: number;
  /** The hash that it had when qmd read it last. */
  seen?: string | undefined;
}

/** The state of the index of qmd, as far as it is known from what qmd was told to do. */
export interface LedgerFacts {
  /** When the last update ended well (ISO 8601). */
  updatedAt?: string | undefined;
  updateMs?: number | undefined;
  /** Files that qmd has read and that are gone since. */
  gone: readonly string[];
  /** Collections that qmd has found nothing in. */
  empty: readonly string[];
}

/**
 * The record of this plugin: which memory files there are, and what of them the index of qmd has seen. It is a cache in
 * one file of JSON: what is lost of it is found out again.
 */
export interface Ledger {
  files(): readonly LedgerFile[];
  get(key: FileKey): LedgerFile | undefined;
  /** With all of its chunks. */
  put(file: IndexedFile): void;
  /** A new time of a file whose content is the same. */
  touch(file: FileRecord): void;
  remove(key: FileKey): void;
  facts(): LedgerFacts;
  /** Takes down that qmd has read everything as it was when the snapshot was made. */
  markSeen(
    snapshot: ReadonlyMap<string, string>,
    took: { updatedAt: string; updateMs: number; empty: readonly string[] },
  ): void;
  /** The hash of each file now, by key. */
  snapshot(): ReadonlyMap<string, string>;
  /** The index of qmd is gone, or no longer to be relied on. */
  forgetSeen(): void;
  /** Changes with every change, also with one of another process. */
  revision(): string;
  save(): void;
}

interface Written {
  version: 1;
  files: LedgerFile[];
  gone: string[];
  empty?: readonly string[] | undefined;
  updatedAt?: string | undefined;
  updateMs?: number | undefined;
}

/** How long changes may be lost by a crash, so that many of them are written once. */
const saveEveryMs = 1000;

/** `readOnly`: nothing is written, for somebody who only looks. */
export function openLedger(folder: string, readOnly: boolean): Ledger {
  const path = join(folder, "files.json");
  let files = new Map<string, LedgerFile>();
  let gone = new Set<string>();
  let empty: readonly string[] = [];
  let updatedAt: string | undefined;
  let updateMs: number | undefined;
  let changes = 0;
  let unsaved = false;
  let savedAt = 0;
  let stamp = stampOf(path);
  load();

  function load(): void {
    const written = read(path);
    files = new Map(written.files.map((file) => [keyOf(file), file]));
    gone = new Set(written.gone);
    ({ updatedAt, updateMs, empty = [] } = written);
  }

  /** Another process has written it. What this one has not saved yet is found out again. */
  function follow(): void {
    const now = stampOf(path);
    if (unsaved || now === stamp) return;
    stamp = now;
    load();
    changes++;
  }

  function save(): void {
    if (!unsaved || readOnly) return;
    const written: Written = { version: 1, files: [...files.values()], gone: [...gone], empty, updatedAt, updateMs };
    replaceFileSync(path, JSON.stringify(written));
    unsaved = false;
    savedAt = Date.now();
    stamp = stampOf(path);
  }

  function changed(): void {
    changes++;
    unsaved = true;
    if (Date.now() - savedAt > saveEveryMs) save();
  }

  return {
    files: () => [...files.values()],
    get: (key) => files.get(keyOf(key)),

    put({ path, source, hash, mtimeMs, size, recipe, cursor, chunks }) {
      const key = keyOf({ path, source });
      const file: FileRecord = { path, source, hash, mtimeMs, size, recipe, cursor };
      const chunkBytes = chunks.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
      files.set(key, { ...file, chunks: chunks.length, chunkBytes, seen: files.get(key)?.seen });
      gone.delete(key);
      changed();
    },
    touch(file) {
      const before = files.get(keyOf(file));
      if (before === undefined) return;
      files.set(keyOf(file), { ...before, ...file });
      changed();
    },
    remove(key) {
      const before = files.get(keyOf(key));
      if (before === undefined) return;
      files.delete(keyOf(key));
      if (before.seen !== undefined) gone.add(keyOf(key));
      changed();
    },

    facts: () => ({ updatedAt, updateMs, empty, gone: [...gone].map(pathOf) }),
    snapshot: () => new Map([...files].map(([key, { hash }]) => [key, hash])),
    markSeen(snapshot, took) {
      for (const [key, hash] of snapshot) {
        const file = files.get(key);
        if (file) files.set(key, { ...file, seen: hash });
        else gone.add(key);
      }
      // Those that were gone before it began are out of the index now.
      gone = new Set([...gone].filter((key) => snapshot.has(key)));
      ({ updatedAt, updateMs, empty } = took);
      changed();
    },
    forgetSeen() {
      for (const [key, file] of files) files.set(key, { ...file, seen: undefined });
      gone.clear();
      updatedAt = undefined;
      empty = [];
      changed();
    },
    revision() {
      follow();
      return `${stamp} ${changes}`;
    },
    save,
  };
}

export function keyOf({ source, path }: FileKey): string {
  return `${source}\n${path}`;
}

function pathOf(key: string): string {
  return key.slice(key.indexOf("\n") + 1);
}

function read(path: string): Written {
  const nothing: Written = { version: 1, files: [], gone: [] };
  try {
    const written = JSON.parse(readFileSync(path, "utf8")) as Partial<Written> | null;
    return written?.version === 1 && Array.isArray(written.files) && Array.isArray(written.gone)
      ? (written as Written)
      : nothing;
  } catch {
    // Missing or torn: everything is looked at again.
    return nothing;
  }
}

function stampOf(path: string): string {
  try {
    return stampIn(statSync(path, { bigint: true }));
  } catch {
    return "none";
  }
}
