import { readFileSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { FileKey, FileRecord } from "@memslot/indexing";
import { keyOf } from "./chunk-listing.ts";

/**
 * The state in which files were read on this machine. Where several machines share an index, the same note has another
 * time and number on each; written into the index they would overwrite each other for ever.
 */
export interface LocalTouches {
  /** The file as it is known here. */
  apply(file: FileRecord): FileRecord;
  /** True: nothing but the state has changed, and it is noted. */
  note(file: FileRecord, known: FileRecord): boolean;
  /** The file has been written anew: its time stands in the index. */
  forget(file: FileKey): void;
  save(): Promise<void>;
  /** Goes up with each note. */
  count(): number;
}

type Touched = Record<string, { hash: string; mtimeMs: number; cursor?: string | undefined }>;

export function openLocalTouches(path: string): LocalTouches {
  const touched = readTouches(path);
  let count = 0;
  let saving: Promise<void> = Promise.resolve();

  async function write(): Promise<void> {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const draft = `${path}.${process.pid}.tmp`;
    await writeFile(draft, JSON.stringify(Object.fromEntries(touched)), { mode: 0o600 });
    await rename(draft, path);
  }

  return {
    apply(file) {
      const own = touched.get(keyOf(file));
      return own?.hash === file.hash ? { ...file, mtimeMs: own.mtimeMs, cursor: own.cursor } : file;
    },
    note(file, known) {
      if (!isSame(file, known)) return false;
      const { hash, mtimeMs, cursor } = file;
      touched.set(keyOf(file), { hash, mtimeMs, cursor });
      count++;
      return true;
    },
    forget: (file) => void touched.delete(keyOf(file)),
    async save() {
      // What cannot be kept is found out again by reading the file.
      saving = saving.then(() => write().catch(() => undefined));
      await saving;
    },
    count: () => count,
  };
}

/** With the same content, `cursor` tells of nothing but the state. */
function isSame(left: FileRecord, right: FileRecord): boolean {
  return left.hash === right.hash && left.size === right.size && left.recipe === right.recipe;
}

function readTouches(path: string): Map<string, Touched[string]> {
  try {
    return new Map(Object.entries(JSON.parse(readFileSync(path, "utf8")) as Touched));
  } catch {
    return new Map();
  }
}
