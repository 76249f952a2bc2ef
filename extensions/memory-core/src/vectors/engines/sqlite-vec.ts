import { createRequire } from "node:module";
import type { VectorQuery } from "@memslot/indexing";
import { filterParameters, isAsked, reasonOf } from "@memslot/indexing/ledger-tables";
import type Database from "better-sqlite3";

type VecOutcome = { ok: true; path: string } | { ok: false; path: string | undefined; error: string };

const probeRows: readonly (readonly number[])[] = [
  [1, 0, 0, 0],
  [0, 1, 0, 0],
  [0.6, 0.8, 0, 0],
];
const probeDistances = [0, 0.2, 1];

/** Loads sqlite-vec and tests it with a small table. */
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

/** Nearest chunks of a generation by sqlite-vec's distance, in single precision. */
export type CompareInSqlite = (
  generation: number,
  query: Pick<VectorQuery, "vector" | "sources" | "scope">,
  spaceId: number,
  limit: number,
) => number[];

export function openCompareInSqlite(db: Database.Database): CompareInSqlite {
  // Zero vectors and vectors of another length cannot be compared.
  const nearest = (scoped: boolean): Database.Statement<[Record<string, unknown>], number> =>
    db
      .prepare<[Record<string, unknown>], number>(`
        SELECT c.id FROM chunks c INDEXED BY chunks_by_hash
        CROSS JOIN embedding_cache e ON e.hash = c.hash AND e.space_id = :spaceId
        CROSS JOIN vectors v ON v.id = e.vector_id
        WHERE c.file_id IN (SELECT f.id FROM files f WHERE ${isAsked(scoped)}) AND length(v.embedding) = length(:question)
        ORDER BY coalesce(vec_distance_cosine(v.embedding, :question), 1), c.id LIMIT :limit
      `)
      .pluck();
  const prepared = new Map<boolean, ReturnType<typeof nearest>>();
  return (generation, query, spaceId, limit) => {
    const { vector } = query;
    const question = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
    const isScoped = query.scope !== undefined;
    const statement = prepared.get(isScoped) ?? nearest(isScoped);
    prepared.set(isScoped, statement);
    return statement.all({
      ...filterParameters(generation, query),
      spaceId,
      question,
      limit,
    });
  };
}
