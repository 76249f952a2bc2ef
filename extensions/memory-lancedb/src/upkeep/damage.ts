import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { crc32 } from "node:zlib";
import { MatchQuery, type Table } from "@lancedb/lancedb";
import { MemoryError } from "@memslot/core";
import { rowsOf } from "../lance/rows.ts";
import { isConflict, reasonOf, type Run, type Within } from "../place/failures.ts";
import { layoutOf, layoutVersion, partOf, retryConflicts, type Tables } from "../tables/tables.ts";

/** Reads all tables of the index and returns the names of those that cannot be read. Throws if the place does not answer. */
async function unreadableTables(tables: Tables, within: Within): Promise<string[]> {
  const ask = <T>(call: () => Promise<T>): Promise<T> =>
    within("checking the index for damage", 600_000, undefined, call);
  const unreadable: string[] = [];
  tables.forget();
  for (const name of await ask(() => tables.list())) {
    if (!name.startsWith(`v${layoutVersion}_`)) continue;
    try {
      const table = await ask(() => tables.open(name, true));
      if (table) await ask(() => readAll(table));
      else unreadable.push(name);
    } catch (error) {
      if (MemoryError.is(error)) throw error;
      if (!isConflict(error)) unreadable.push(name);
    }
  }
  return unreadable;
}

async function readAll(table: Table): Promise<void> {
  let word: string | undefined;
  for await (const row of rowsOf<{ terms?: string | null; row?: string }>(table.query())) {
    word ??= row.terms?.trim().split(" ")[0];
    if (row.row !== undefined) JSON.parse(row.row);
  }
  if (word === undefined || word === "") return;
  await table.query().fullTextSearch(new MatchQuery(word, "terms")).select(["_score"]).limit(1).toArray();
}

/** Deletes the tables of a shared index that cannot be read, with the table of leases, and returns their names. */
export async function dropUnreadable(tables: Tables, within: Within): Promise<string[]> {
  const unreadable = await unreadableTables(tables, within);
  for (const name of unreadable)
    await within("deleting damaged tables", 60_000, undefined, () => retryConflicts(() => tables.drop(name)));
  return unreadable;
}

/** After so long without a write the folder is recorded. */
const quietMs = 500;
/** Checksums are compared up to this many bytes: opening must not take long. */
const readAtMostBytes = 256 * 1024 * 1024;
/** Files that LanceDB never changes, and whose names are unique. */
const immutableFile = /\.lance[\\/](?:data|_deletions|_indices)[\\/]/;

/** What was written to a folder, as the last process recorded it. */
interface Recorded {
  /** The version and the rows of each table. */
  tables: Record<string, [version: number, rows: number]>;
  /** Bytes and checksum of each file that LanceDB does not change. */
  files: Record<string, [bytes: number, sum: number]>;
}

/**
 * Rebuilds an index in a folder if its files are damaged: drops its tables, to be filled again from the ledger. LanceDB
 * reports missing and truncated files when it reads them. Two faults it does not report: a lost newest version (an older
 * one would answer) and changed bytes. Those are found when the index is opened, by version numbers, counts and checksums.
 */
export class FolderRepair {
  readonly #folder: string;
  readonly #tables: Tables;
  readonly #within: Within;
  readonly #notices: string[];
  #repairing: Promise<string | undefined> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #hasWritten = false;

  /** Adds a line to `notices` for each repair. */
  constructor(input: { folder: string; tables: Tables; within: Within; notices: string[] }) {
    this.#folder = input.folder;
    this.#tables = input.tables;
    this.#within = input.within;
    this.#notices = input.notices;
  }

  /** Drops all tables if they are not what was recorded. Returns whether it did. */
  async checkAtOpen(): Promise<boolean> {
    const isDamaged = await this.#differs().catch(() => true);
    if (isDamaged) await this.#drop("its files are not those that were written");
    return isDamaged;
  }

  /** Runs calls. One that fails on damage drops all tables: a listing is then answered by the empty index, others throw. */
  guard(run: Run): Run {
    return async (task) => {
      try {
        return await run(task);
      } catch (error) {
        if (!MemoryError.is(error, "UNAVAILABLE")) throw error;
        const reason = await this.#repair(error);
        if (reason === undefined) throw error;
        task.forget();
        if (task.isListing === true) return await run(task);
        throw new MemoryError(
          "UNAVAILABLE",
          `the index ${this.#folder} was damaged (${reason}) and is rebuilt; it is complete again after \`memslot memory index\``,
          { cause: error },
        );
      }
    };
  }

  wrote(): void {
    this.#hasWritten = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.record(), quietMs).unref();
  }

  /** Records the folder after writes. A folder that cannot be recorded is not checked. */
  async record(): Promise<void> {
    clearTimeout(this.#timer);
    if (!this.#hasWritten) return;
    this.#hasWritten = false;
    const path = join(this.#folder, "files.json");
    const draft = `${path}.${randomUUID()}`;
    try {
      const { files: before } = await this.#recorded();
      const recorded: Recorded = { tables: {}, files: {} };
      for (const name of await filesBelow(this.#folder))
        if (immutableFile.test(name)) recorded.files[name] = before[name] ?? (await factsOf(join(this.#folder, name)));
      for (const name of this.#tables.own()) {
        const table = await this.#tables.open(name, false);
        if (table) recorded.tables[name] = [await table.version(), await table.countRows()];
      }
      await writeFile(draft, JSON.stringify(recorded), { mode: 0o600 });
      await rename(draft, path);
    } catch {
      // A file that was deleted meanwhile, or a full disk: the next record has it.
    }
  }

  /** One repair for all calls that fail at once. Returns what was wrong, or undefined. */
  #repair(error: Error): Promise<string | undefined> {
    this.#repairing ??= (async () => {
      const unreadable = await unreadableTables(this.#tables, this.#within);
      if (unreadable.length === 0) return undefined;
      const reason = reasonOf(error.cause ?? error);
      await this.#drop(reason);
      return reason;
    })().finally(() => (this.#repairing = undefined));
    return this.#repairing;
  }

  async #drop(reason: string): Promise<void> {
    for (const name of await this.#tables.list()) if (layoutOf(name) !== undefined) await this.#tables.drop(name);
    this.#notices.push(`the index ${this.#folder} was damaged (${reason}) and is rebuilt from the notes`);
  }

  async #differs(): Promise<boolean> {
    const { tables, files } = await this.#recorded();
    for (const [name, [version, rows]] of Object.entries(tables)) {
      const table = await this.#tables.open(name, true);
      const now = await table?.version();
      // The table of a build may have been deleted by the next one.
      if (now === undefined && partOf(name, "files") !== undefined) continue;
      if (now === undefined || now < version) return true;
      if (now === version && (await table?.countRows()) !== rows) return true;
    }
    let bytesLeft = readAtMostBytes;
    for (const [name, [bytes, sum]] of Object.entries(files)) {
      const path = join(this.#folder, name);
      // Of another size, it was still being written, and LanceDB notices.
      if ((await stat(path).catch(() => undefined))?.size !== bytes || (bytesLeft -= bytes) < 0) continue;
      if ((await factsOf(path))[1] !== sum) return true;
    }
    return false;
  }

  async #recorded(): Promise<Recorded> {
    try {
      const { tables, files } = JSON.parse(await readFile(join(this.#folder, "files.json"), "utf8")) as Recorded;
      return { tables: { ...tables }, files: { ...files } };
    } catch {
      return { tables: {}, files: {} };
    }
  }
}

async function factsOf(path: string): Promise<[bytes: number, sum: number]> {
  let [bytes, sum] = [0, 0];
  for await (const block of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    bytes += (block as Buffer).length;
    sum = crc32(block as Buffer, sum);
  }
  return [bytes, sum];
}

/** The paths of all files below a folder, relative to it. */
async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
  return entries.filter((each) => each.isFile()).map((each) => relative(folder, join(each.parentPath, each.name)));
}

/** Bytes of all files below a folder. */
export async function folderBytes(folder: string): Promise<number> {
  const sizes = (await filesBelow(folder)).map(
    async (name) => (await stat(join(folder, name)).catch(() => undefined))?.size,
  );
  return (await Promise.all(sizes)).reduce<number>((sum, size = 0) => sum + size, 0);
}
