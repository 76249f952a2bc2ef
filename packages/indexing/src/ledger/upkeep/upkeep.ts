import type { IndexFinding, CompactReport } from "@memslot/core";
import type { ChunkRow } from "../../index-row-types.ts";
import type Database from "better-sqlite3";
import type { Companion } from "../store-search-tables.ts";
import { type HashKey, toHash } from "../vectors/vector-cache.ts";
import type { Builds } from "../builds.ts";
import type { FileTables } from "../file-tables.ts";
import { freePages, sizeOf } from "./disk-space.ts";
import type { LedgerBase } from "../generations.ts";
import { type IndexPart, indexParts, type Look } from "./check-index-parts.ts";
import { type Pieces, reasonOf } from "../thread/remote-calls.ts";
import { Damage, isCorrupt } from "../file/store-errors.ts";
import type { LedgerCalls } from "../ledger.ts";
import type { Vectors } from "../vectors/vectors.ts";

interface UpkeepParts extends LedgerBase {
  filesOf: (generation: () => number) => Pick<FileTables, "removeFiles">;
  vectors: Pick<Vectors, "cache">;
  companion: Pick<Companion, "parts" | "compact">;
  builds: Pick<Builds, "deleteDropped">;
  path: string | undefined;
}

export function createUpkeep(
  input: UpkeepParts,
): Pick<LedgerCalls, "check" | "repair" | "compact" | "tables" | "sample"> {
  const { db, transactions, generations } = input;
  const parts = indexParts(input);
  const sample = db.prepare<[number, number], ChunkRow & { hash: HashKey }>(`
    SELECT c.id, f.path, f.source, c.start_line AS startLine, c.end_line AS endLine, c.text, c.context, c.hash
    FROM chunks c JOIN files f ON f.id = c.file_id WHERE c.id IN (
      SELECT c.id FROM files f JOIN chunks c ON c.file_id = f.id WHERE f.generation = ? ORDER BY random() LIMIT ?)
  `);

  /** A check never repairs: an unreadable page is reported. */
  function lookClosely(part: IndexPart): Look {
    try {
      return transactions.read(() => part.look());
    } catch (error) {
      if (!isCorrupt(error)) throw error;
      return { ok: false, message: `it cannot be read: ${reasonOf(error)}` };
    }
  }

  async function* repairPart(part: IndexPart): Pieces<IndexFinding> {
    const { name } = part;
    const before = transactions.read(() => part.look());
    if (before.ok) return { name, ...before };
    // The pages are damaged; this file has nothing to repair them from.
    if (!part.repair) throw new Damage(before.message);
    const fixed = `${before.message}: ${yield* part.repair()}`;
    return { name, ...transactions.read(() => part.look()), fixed };
  }

  return {
    async *check() {
      const findings: IndexFinding[] = [];
      for (const part of parts) {
        findings.push({ name: part.name, ...lookClosely(part) });
        yield;
      }
      return findings;
    },
    async *repair() {
      const findings: IndexFinding[] = [];
      for (const part of parts) {
        findings.push(yield* repairPart(part));
        yield;
      }
      return findings;
    },
    compact: () => compact(input),
    async *tables() {
      const tables = transactions.read(() => tableBytes(db));
      yield;
      return tables;
    },
    sample: (count) =>
      transactions.read(() =>
        sample.all(generations.active().id, count).map((row) => ({ ...row, hash: toHash(row.hash) })),
      ),
  };
}

function tableBytes(db: Database.Database): { name: string; bytes: number }[] {
  const owners = new Map(
    db
      .prepare<[], [string, string]>("SELECT name, tbl_name FROM sqlite_schema WHERE type IN ('table', 'index')")
      .raw()
      .all(),
  );
  const virtual = db
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL%'")
    .pluck()
    .all();
  const sums = new Map<string, number>();
  const pages = db.prepare<[], { name: string; bytes: number }>(
    "SELECT name, pgsize AS bytes FROM dbstat WHERE aggregate = TRUE",
  );
  for (const { name, bytes } of pages.all()) {
    const table = owners.get(name) ?? name;
    const owner = virtual.find((one) => table.startsWith(`${one}_`)) ?? table;
    sums.set(owner, (sums.get(owner) ?? 0) + bytes);
  }
  return [...sums].map(([name, bytes]) => ({ name, bytes })).toSorted((one, other) => other.bytes - one.bytes);
}

/** Frees the space of deleted and changed notes. Ends early if another process writes. */
async function* compact(input: UpkeepParts): Pieces<CompactReport> {
  const { db, path, transactions, generations, builds, vectors, companion } = input;
  const beforeBytes = sizeOf(db, path);
  while (builds.deleteDropped()) yield;
  vectors.cache.forgetPast();
  while (vectors.cache.trimUnused()) yield;
  for (const generation of transactions.read(() => generations.live())) {
    yield* companion.compact(generation);
    yield;
  }
  while (freePages(input)) yield;
  yield;
  if (path !== undefined) db.pragma("wal_checkpoint(TRUNCATE)");
  return { beforeBytes, afterBytes: sizeOf(db, path) };
}
