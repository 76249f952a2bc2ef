import { createRequire } from "node:module";
import { reasonOf } from "@memslot/indexing/ledger-tables";
import type Database from "better-sqlite3";

export type VecOutcome = { ok: true; path: string } | { ok: false; path: string | undefined; error: string };

const probeRows: readonly (readonly number[])[] = [
  [1, 0, 0, 0],
  [0, 1, 0, 0],
  [0.6, 0.8, 0, 0],
];
const probeDistances = [0, 0.2, 1];

/** Loads sqlite-vec into a connection and proves that it does what it is for: makes a table, fills it, and asks it. */
export function loadSqliteVec(db: Database.Database, extensionPath: string | undefined): VecOutcome {
  let path = extensionPath;
  try {
    path ??= bundledPath();
    db.loadExtension(path);
    prove(db);
    return { ok: true, path };
  } catch (error) {
    return { ok: false, path, error: reasonOf(error) };
  }
}

/** Required when it is wanted, not imported: most processes never search by vector. */
function bundledPath(): string {
  const require = createRequire(import.meta.url);
  const { getLoadablePath } = require("sqlite-vec") as { getLoadablePath(): string };
  return getLoadablePath();
}

function prove(db: Database.Database): void {
  db.prepare("SELECT vec_version()").get();
  db.exec("DROP TABLE IF EXISTS temp.vec_probe");
  db.exec("CREATE VIRTUAL TABLE temp.vec_probe USING vec0(part TEXT PARTITION KEY, v FLOAT[4] distance_metric=cosine)");
  const insert = db.prepare("INSERT INTO temp.vec_probe (rowid, part, v) VALUES (?, 'a', ?)");
  probeRows.forEach((row, index) => void insert.run(BigInt(index + 1), bytesOf(row)));
  const found = db
    .prepare<[Buffer], number>("SELECT distance FROM temp.vec_probe WHERE v MATCH ? AND k = 3 AND part = 'a'")
    .pluck()
    .all(bytesOf([0, 1, 0, 0]));
  db.exec("DROP TABLE temp.vec_probe");
  const right = probeDistances.every((distance, index) => Math.abs((found[index] ?? Number.NaN) - distance) < 1e-6);
  if (!right)
    throw new Error(`sqlite-vec answers wrongly: distances ${found.join(", ")} for ${probeDistances.join(", ")}`);
}

function bytesOf(numbers: readonly number[]): Buffer {
  return Buffer.from(Float32Array.from(numbers).buffer);
}
