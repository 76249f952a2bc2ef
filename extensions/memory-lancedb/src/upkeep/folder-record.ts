import { randomUUID } from "node:crypto";
import { statSync } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, join, sep } from "node:path";
import { crc32 } from "node:zlib";
import { isRunning, processMark } from "@memslot/core/process-mark";
import { layoutOf } from "../tables/tables.ts";

const blockBytes = 1024 * 1024;
/** Reading more than this takes longer than somebody who asks may wait: of the rest sizes and times have to do. */
const readAtMostBytes = 256 * 1024 * 1024;

interface FileFacts {
  bytes: number;
  mtimeMs: number;
  /** Absent for what there was too much of to be read each time. */
  sum?: number | undefined;
}

type Facts = Readonly<Record<string, FileFacts>>;

interface Recorded {
  /** Which change of the folder came before. Another one since, and the record says nothing any more. */
  change: string | undefined;
  files: Facts;
}

/**
 * What the files of an index are, written down while nobody writes to it. LanceDB never changes a file that is there,
 * and reads what it finds: a file that is missing or was spoilt is missing from every answer. Whoever is about to write
 * or delete takes the record away first, leaves a mark for as long as that takes and gives the change a name; so where
 * a record is there, is from after the last change and differs, the index was damaged.
 */
export interface FolderRecord {
  /** `unknown`: nothing is written down. With `contents` every file is read, otherwise only those with another time. */
  compare(contents: boolean): Promise<"same" | "differs" | "unknown">;
  /** True where sizes and times are those that are known. Costs a look at each file and no more. */
  looksSame(): boolean;
  /** Runs what writes or deletes files: what they were does not count any more. */
  changing<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Writes down what the files are, unless somebody writes just now: whoever ends last does it. */
  write(): Promise<void>;
}

export function createFolderRecord(folder: string): FolderRecord {
  const path = join(folder, "files.json");
  const changePath = join(folder, "files.change");
  let known: Facts | undefined;

  async function load(): Promise<(Recorded & { text: string }) | undefined> {
    try {
      const text = await readFile(path, "utf8");
      const recorded = JSON.parse(text) as Partial<Recorded> | null;
      const files = recorded?.files;
      if (typeof files !== "object" || files === null || recorded?.change !== (await lastChange())) return undefined;
      return { change: recorded?.change, files, text };
    } catch {
      return undefined;
    }
  }

  async function lastChange(): Promise<string | undefined> {
    return await readFile(changePath, "utf8").catch(() => undefined);
  }

  async function forget(): Promise<void> {
    known = undefined;
    await writeFile(changePath, randomUUID(), { mode: 0o600 });
    await rm(path, { force: true });
  }

  /** Whether somebody writes or deletes files just now. The mark of a process that has died counts for nothing. */
  async function isChanging(): Promise<boolean> {
    for (const name of await readdir(folder)) {
      const pid = markName.exec(name)?.[1];
      if (pid === undefined) continue;
      const mark = join(folder, name);
      const text = await readFile(mark, "utf8").catch(() => "");
      // A process of another container cannot be seen.
      const isYoung = Date.now() - (statSync(mark, { throwIfNoEntry: false })?.mtimeMs ?? 0) < unseenMs;
      if (isRunning(text || pid) ?? isYoung) return true;
      await rm(mark, { force: true });
    }
    return false;
  }

  async function isSame(name: string, { bytes, mtimeMs, sum }: FileFacts, contents: boolean): Promise<boolean> {
    const stats = statSync(join(folder, name), { throwIfNoEntry: false });
    if (stats?.size !== bytes) return false;
    if (stats.mtimeMs === mtimeMs && (!contents || sum === undefined)) return true;
    return sum !== undefined && (await sumOf(join(folder, name)).catch(() => undefined)) === sum;
  }

  return {
    async compare(contents) {
      const record = await load();
      known = record?.files;
      if (!record) return "unknown";
      for (const [name, facts] of Object.entries(record.files)) {
        if (await isSame(name, facts, contents)) continue;
        // Another process may have begun to write meanwhile.
        return (await load())?.text === record.text ? "differs" : "unknown";
      }
      return "same";
    },
    looksSame: () =>
      known === undefined ||
      Object.entries(known).every(([name, { bytes, mtimeMs }]) => {
        const stats = statSync(join(folder, name), { throwIfNoEntry: false });
        return stats?.size === bytes && stats.mtimeMs === mtimeMs;
      }),
    async changing(work) {
      const mark = join(folder, `writing-${process.pid}-${randomUUID()}`);
      // Where no mark can be made nothing can be written either, and the write says why.
      await mkdir(folder, { recursive: true, mode: 0o700 }).catch(() => undefined);
      await writeFile(mark, processMark(), { mode: 0o600 }).catch(() => undefined);
      try {
        await forget().catch(() => undefined);
        return await work();
      } finally {
        // Another process may have recorded the folder meanwhile.
        await forget().catch(() => undefined);
        await rm(mark, { force: true }).catch(() => undefined);
      }
    },
    async write() {
      // Asked first: a change that begins later has another name, and one that has begun has left its mark.
      const change = await lastChange();
      if (await isChanging()) return;
      const files = await factsOf(folder, (await load())?.files ?? {});
      const recorded: Recorded = { change, files };
      const draft = `${path}.${randomUUID()}`;
      await writeFile(draft, JSON.stringify(recorded), { mode: 0o600 });
      await rename(draft, path);
      known = (await lastChange()) === change ? files : undefined;
    },
  };
}

const markName = /^writing-(\d+)-/;

/** How long a process that cannot be seen counts as writing. */
const unseenMs = 600_000;

/** Puts the tables of a damaged index where nothing looks for them. Only the last damaged one is kept. Gives the place. */
export async function setTablesAside(folder: string): Promise<string> {
  const aside = join(folder, "damaged");
  await rm(aside, { recursive: true, force: true });
  await mkdir(aside, { recursive: true, mode: 0o700 });
  await rm(join(folder, "files.json"), { force: true });
  for (const name of await tablesIn(folder)) await rename(join(folder, name), join(aside, name));
  return aside;
}

async function tablesIn(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter(
    (name) => layoutOf(basename(name, ".lance")) !== undefined && name.endsWith(".lance"),
  );
}

/** What the files are now. One that has the size and the time of `before` has its sum, too. */
async function factsOf(folder: string, before: Facts): Promise<Facts> {
  const files: Record<string, FileFacts> = {};
  let bytesLeft = readAtMostBytes;
  for (const name of await filesBelow(folder)) {
    const stats = statSync(join(folder, name), { throwIfNoEntry: false });
    if (!stats) continue;
    const { size: bytes, mtimeMs } = stats;
    bytesLeft -= bytes;
    const earlier = before[name];
    const isKnown = earlier?.bytes === bytes && earlier.mtimeMs === mtimeMs;
    const sum = bytesLeft < 0 ? undefined : isKnown ? earlier.sum : await sumOf(join(folder, name));
    files[name] = { bytes, mtimeMs, ...(sum !== undefined && { sum }) };
  }
  return files;
}

async function filesBelow(folder: string): Promise<string[]> {
  const names: string[] = [];
  for (const table of await tablesIn(folder)) {
    const entries = await readdir(join(folder, table), { recursive: true, withFileTypes: true });
    for (const entry of entries)
      if (entry.isFile()) names.push(join(entry.parentPath, entry.name).slice(folder.length + sep.length));
  }
  return names.toSorted();
}

async function sumOf(path: string): Promise<number> {
  const file = await open(path, "r");
  try {
    const block = Buffer.allocUnsafe(blockBytes);
    let sum = 0;
    for (;;) {
      const { bytesRead } = await file.read(block, 0, blockBytes, null);
      if (bytesRead === 0) return sum;
      sum = crc32(block.subarray(0, bytesRead), sum);
    }
  } finally {
    await file.close();
  }
}
