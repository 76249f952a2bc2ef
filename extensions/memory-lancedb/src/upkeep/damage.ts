import { createReadStream } from "node:fs";
import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import { crc32 } from "node:zlib";
import { MatchQuery, type Table } from "@lancedb/lancedb";
import { MemoryError } from "@memslot/core";
import { replaceFile } from "@memslot/core/files";
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

/** Then the disk is to blame. */
const maxRepairs = 3;
const readAtMostBytes = 256 * 1024 * 1024;
/** Files that LanceDB never changes, and whose names are unique. */
const immutableFile = /\.lance[\\/](?:data|_deletions|_indices)[\\/]/;

interface Recorded {
  versions: Record<string, [version: number, rows: number]>;
  /** Bytes and checksum of each file that LanceDB does not change. */
  files: Record<string, [bytes: number, sum: number]>;
}

const nothing: Recorded = { versions: {}, files: {} };

export interface FolderRepair {
  checkAtOpen(): Promise<boolean>;
  /** Runs calls. One that fails on damage drops all tables: a listing is then answered by the empty index, others throw. */
  run: Run;
  /** Records the folder, if it has changed. A folder that cannot be recorded is not checked. */
  record(): Promise<void>;
}

/**
 * Repairs drop all tables, which the ledger refills. LanceDB reports missing and truncated files; a lost newest version
 * and changed bytes are found at opening by versions, counts and checksums.
 */
export function createFolderRepair(input: {
  folder: string;
  tables: Tables;
  within: Within;
  run: Run;
  notices: string[];
}): FolderRepair {
  const { folder, tables } = input;
  const path = join(folder, "files.json");
  let repairing: Promise<string | undefined> | undefined;
  let repairs = 0;

  async function dropAll(reason: string): Promise<string> {
    await rm(path, { force: true });
    for (const name of await tables.list()) if (layoutOf(name) !== undefined) await tables.drop(name);
    input.notices.push(`the index ${folder} was damaged (${reason}) and is rebuilt from the notes`);
    return reason;
  }

  function repair(failure: Error): Promise<string | undefined> {
    repairing ??= unreadableTables(tables, input.within)
      .then(({ length }) => {
        const reason = reasonOf(failure.cause ?? failure);
        if (length === 0) return undefined;
        if (repairs++ < maxRepairs) return dropAll(reason);
        throw new MemoryError(
          "UNAVAILABLE",
          `the index ${folder} was damaged again after ${maxRepairs} repairs (${reason}); check its disk, then start again`,
          { cause: failure },
        );
      })
      .finally(() => (repairing = undefined));
    return repairing;
  }

  async function recorded(): Promise<Recorded> {
    const text = await readFile(path, "utf8").catch(() => "{}");
    return { ...nothing, ...(JSON.parse(text) as Partial<Recorded>) };
  }

  // A process that is killed records nothing more: a table that it deleted, or created again, is no damage.
  tables.beforeDrop = async (name) => {
    const { versions, files } = await recorded().catch(() => nothing);
    if (versions[name] === undefined) return;
    delete versions[name];
    await replaceFile(path, JSON.stringify({ versions, files }), { mode: 0o600 });
  };

  async function differs(): Promise<boolean> {
    const { versions, files } = await recorded().catch(() => nothing);
    for (const [name, [version, rows]] of Object.entries(versions)) {
      const table = await tables.open(name, true);
      // The table of a build may have been deleted by the next one.
      if (table === undefined && partOf(name, "files") !== undefined) continue;
      const now = (await table?.version()) ?? 0;
      if (now < version || (now === version && (await table?.countRows()) !== rows)) return true;
    }
    let bytesLeft = readAtMostBytes;
    for (const [name, [bytes, sum]] of Object.entries(files)) {
      // A file of another size was recorded while it was written, or is truncated, which LanceDB reports.
      if ((await stat(join(folder, name)).catch(() => undefined))?.size !== bytes || (bytesLeft -= bytes) < 0) continue;
      // LanceDB reports a file that cannot be read. Another process may have deleted it since.
      const facts = await factsOf(join(folder, name)).catch(() => undefined);
      if (facts && facts[1] !== sum) return true;
    }
    return false;
  }

  return {
    async checkAtOpen() {
      const isDamaged = await differs().catch(() => true);
      if (isDamaged) await dropAll("its files are not those that were written");
      return isDamaged;
    },
    async run(task) {
      try {
        return await input.run(task);
      } catch (error) {
        const reason = MemoryError.is(error, "UNAVAILABLE") ? await repair(error) : undefined;
        if (reason === undefined) throw error;
        task.forget();
        if (task.isListing === true) return await input.run(task);
        throw new MemoryError(
          "UNAVAILABLE",
          `the index ${folder} was damaged (${reason}) and is rebuilt; it is complete again after \`memslot memory index\``,
          { cause: error },
        );
      }
    },
    async record() {
      const before = await recorded().catch(() => nothing);
      const now: Recorded = { versions: {}, files: {} };
      for (const name of await filesBelow(folder))
        if (immutableFile.test(name)) now.files[name] = before.files[name] ?? (await factsOf(join(folder, name)));
      for (const name of tables.own()) {
        // Newest version: the index may have been deleted meanwhile.
        const table = await tables.open(name, true);
        if (table) now.versions[name] = [await table.version(), await table.countRows()];
      }
      if (JSON.stringify(now) !== JSON.stringify(before)) await replaceFile(path, JSON.stringify(now), { mode: 0o600 });
    },
  };
}

async function factsOf(path: string): Promise<[bytes: number, sum: number]> {
  let [bytes, sum] = [0, 0];
  for await (const block of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    bytes += (block as Buffer).length;
    sum = crc32(block as Buffer, sum);
  }
  return [bytes, sum];
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
  const files = entries.filter((each) => each.isFile());
  return files.map((each) => relative(folder, join(each.parentPath, each.name))).toSorted();
}

export async function folderBytes(folder: string): Promise<number> {
  const sizes = (await filesBelow(folder)).map(
    async (name) => (await stat(join(folder, name)).catch(() => undefined))?.size,
  );
  return (await Promise.all(sizes)).reduce<number>((sum, size = 0) => sum + size, 0);
}
