import { type FileKey, fileName, type StoredFile, spaceName, type VectorSpace } from "../../chunk-store.ts";
import { type HashKey, toHash, toKey, toVector, type VectorCache } from "./vector-cache.ts";
import { type Sql, sqlOf } from "../sql.ts";
import { metaKeys } from "../file/meta.ts";
import type { FileTables } from "../file-tables.ts";
import type { LedgerBase } from "../generations.ts";
import type { LedgerCalls, UnacknowledgedVectors, Reconciled } from "../ledger.ts";
import type { Spaces } from "./vector-spaces.ts";

interface PendingRow {
  hash: HashKey;
  embedding: Buffer | null;
}

interface Input extends LedgerBase {
  store: string;
  spaces: Spaces;
  cache: VectorCache;
  prepare: () => void;
}

/** In a generation of the store that is not dropped, the row `c` of `chunks`. */
const inStore = "JOIN files f ON f.id = c.file_id JOIN generations g ON g.id = f.generation";
const isLive = "g.store = :store AND g.state <> 'dropped'";

/** Vectors of a store that keeps its own: pending or imported. Runs inside transactions. */
export class StoreVectors {
  readonly calls: Pick<
    LedgerCalls,
    "requestVectors" | "unacknowledgedVectors" | "acknowledgeVectors" | "importVectors"
  > = {
    requestVectors: (space) => this.#request(space),
    unacknowledgedVectors: (limit) => this.#nextBatch(limit),
    acknowledgeVectors: (space, hashes) => {
      const { spaces, transactions } = this.#input;
      const spaceId = spaces.find(space);
      if (spaceId !== undefined && hashes.length > 0)
        transactions.write(() => this.#acknowledge(spaceId, hashes.map(toKey)));
    },
    importVectors: (space, files) => this.#importFiles(space, files),
  };
  readonly #input: Input;
  readonly #sql: Sql;
  readonly #store: string;
  /** Begins the keys in `meta` of the spaces whose vectors the store is to have. */
  readonly #prefix: string;

  constructor(input: Input) {
    this.#input = input;
    this.#sql = sqlOf(input.db);
    this.#store = input.store;
    this.#prefix = `${metaKeys.owes}${input.store}:`;
  }

  isImported(spaceId: number, hash: HashKey): boolean {
    const select = "SELECT 1 FROM adopted_vectors WHERE hash = ? AND store = ? AND space_id = ?";
    return this.#sql.value(select, hash, this.#store, spaceId) !== undefined;
  }

  /** The numbers of an imported vector are known now, to all stores. */
  replaced(spaceId: number, hash: HashKey): void {
    this.#sql.run("DELETE FROM adopted_vectors WHERE hash = ? AND space_id = ?", hash, spaceId);
  }

  forgetGone(hashes: readonly HashKey[]): void {
    const forget = `DELETE FROM adopted_vectors WHERE hash = :hash AND store = :store
      AND NOT EXISTS (SELECT 1 FROM chunks c ${inStore} WHERE c.hash = :hash AND ${isLive})`;
    for (const hash of hashes) this.#sql.run(forget, { hash, store: this.#store });
  }

  note(spaceId: number): void {
    const { meta } = this.#input;
    if (meta.get(this.#prefix + spaceId) !== undefined) return;
    this.#sql.run(
      `INSERT OR IGNORE INTO owed_vectors (store, space_id, hash)
       SELECT DISTINCT :store, :spaceId, c.hash FROM chunks c
       CROSS JOIN embedding_cache e ON e.hash = c.hash AND e.space_id = :spaceId
       WHERE c.file_id IN (SELECT f.id FROM files f JOIN generations g ON g.id = f.generation WHERE ${isLive})`,
      { store: this.#store, spaceId },
    );
    meta.set(this.#prefix + spaceId, "1");
  }

  added(hash: HashKey): void {
    this.#sql.run(
      `INSERT OR IGNORE INTO owed_vectors (store, space_id, hash)
       SELECT :store, e.space_id, e.hash FROM embedding_cache e
       WHERE e.hash = :hash AND EXISTS (SELECT 1 FROM meta WHERE key = :prefix || e.space_id)`,
      { store: this.#store, hash, prefix: this.#prefix },
    );
  }

  addPending(spaceId: number, hash: HashKey): void {
    const insert = "INSERT OR IGNORE INTO owed_vectors (store, space_id, hash) VALUES (?, ?, ?)";
    this.#sql.run(insert, this.#store, spaceId, hash);
  }

  /** Compares the files of a generation with those that the store holds. */
  reconcile(generation: number, table: FileTables, held: readonly StoredFile[]): Reconciled {
    const left = new Map(held.map((file) => [fileName(file), file]));
    const lost: FileKey[] = [];
    const unknown: StoredFile[] = [];
    const same: { hashes: HashKey[]; embedded: readonly VectorSpace[] }[] = [];
    const known = this.#sql.all<FileKey & { id: number; hash: string; recipe: string }>(
      "SELECT id, path, source, hash, recipe FROM files WHERE generation = ? ORDER BY id",
      generation,
    );
    const hashesOf = "SELECT DISTINCT hash FROM chunks WHERE file_id = ?";
    for (const { id, path, source, hash, recipe } of known) {
      const name = fileName({ path, source });
      const file = left.get(name);
      left.delete(name);
      if (file?.hash === hash && file.recipe === recipe) {
        if (file.embedded) same.push({ hashes: this.#sql.values(hashesOf, id), embedded: file.embedded });
        continue;
      }
      lost.push({ path, source });
      if (file) unknown.push(file);
    }
    unknown.push(...left.values());
    if (lost.length > 0) table.removeInside(lost);
    this.#compareVectors(same);
    return { lost, unknown };
  }

  /** What the store reports of the vectors of files that are the same on both sides. */
  #compareVectors(files: readonly { hashes: HashKey[]; embedded: readonly VectorSpace[] }[]): void {
    const reported = files.map((file) => ({ ...file, names: new Set(file.embedded.map(spaceName)) }));
    for (const spaceId of this.#notedSpaces()) {
      const space = this.#input.spaces.get(spaceId);
      if (space === undefined) continue;
      for (const { hashes, names } of reported) if (!names.has(spaceName(space))) this.#lacks(spaceId, hashes);
    }
    // Last: a text lost by one file may be complete in another.
    for (const { hashes, embedded } of reported) for (const space of embedded) this.#import(space, hashes);
  }

  #lacks(spaceId: number, hashes: readonly HashKey[]): void {
    const { cache } = this.#input;
    if (!hashes.every((hash) => cache.has(spaceId, hash) || this.isImported(spaceId, hash))) return;
    const withdraw = "DELETE FROM adopted_vectors WHERE hash = ? AND store = ? AND space_id = ?";
    for (const hash of hashes) {
      if (cache.has(spaceId, hash)) this.addPending(spaceId, hash);
      else this.#sql.run(withdraw, hash, this.#store, spaceId);
    }
  }

  #import(space: VectorSpace, hashes: readonly HashKey[]): void {
    if (hashes.length === 0) return;
    const { spaces } = this.#input;
    const spaceId = spaces.add(space);
    for (const hash of hashes) {
      const { changes } = this.#sql.run(
        `INSERT OR IGNORE INTO adopted_vectors (hash, store, space_id) SELECT :hash, :store, :spaceId
         WHERE NOT EXISTS (SELECT 1 FROM embedding_cache WHERE hash = :hash AND space_id = :spaceId)`,
        { hash, store: this.#store, spaceId },
      );
      if (changes > 0) spaces.release(spaceId, hash);
    }
  }

  #importFiles(space: VectorSpace, files: readonly FileKey[]): void {
    const { transactions, generations } = this.#input;
    if (files.length === 0) return;
    const hashesOf = `SELECT DISTINCT c.hash FROM files f JOIN chunks c ON c.file_id = f.id
      WHERE f.generation = :generation AND f.source = :source AND f.path = :path`;
    transactions.write(() => {
      const live = generations.live();
      for (const { path, source } of files)
        for (const generation of live) this.#import(space, this.#sql.values(hashesOf, { generation, path, source }));
    });
  }

  #notedSpaces(): number[] {
    return this.#input.meta.startingWith(this.#prefix).map(({ key }) => Number(key.slice(this.#prefix.length)));
  }

  #request(space: VectorSpace): void {
    const { spaces, transactions, cache, prepare } = this.#input;
    prepare();
    const known = spaces.find(space);
    const isNoted = known !== undefined && transactions.read(() => this.#notedSpaces()).includes(known);
    const add = (): number => {
      const spaceId = spaces.add(space);
      this.note(spaceId);
      return spaceId;
    };
    cache.spacesInUse.add(isNoted ? known : transactions.write(add));
  }

  #nextBatch(limit: number): UnacknowledgedVectors | undefined {
    const { transactions, spaces, prepare } = this.#input;
    prepare();
    for (;;) {
      const found = transactions.read(() => this.#nextPending(Math.max(1, limit)));
      if (found === undefined) return undefined;
      const { rows, spaceId } = found;
      if (rows.some(isGone)) transactions.write(() => this.#forgetGonePending(rows.length));
      const entries = rows.flatMap(({ hash, embedding }) =>
        // A copy: transfer would take the whole underlying buffer.
        embedding === null ? [] : [{ hash: toHash(hash), vector: toVector(embedding).slice() }],
      );
      const space = spaces.get(spaceId);
      if (space && entries.length > 0) return { space, entries };
    }
  }

  #forgetGonePending(limit: number): void {
    const batch = this.#nextPending(limit);
    if (batch)
      this.#acknowledge(
        batch.spaceId,
        batch.rows.filter(isGone).map(({ hash }) => hash),
      );
  }

  #nextPending(limit: number): { spaceId: number; rows: PendingRow[] } | undefined {
    const spaceId = this.#sql.value<number>(
      `SELECT s.id FROM spaces s WHERE EXISTS (SELECT 1 FROM owed_vectors o WHERE o.store = ? AND o.space_id = s.id)
       ORDER BY s.written_at DESC, s.id DESC LIMIT 1`,
      this.#store,
    );
    if (spaceId === undefined) return undefined;
    const rows = this.#sql.all<PendingRow>(
      `SELECT o.hash, CASE WHEN EXISTS (
         SELECT 1 FROM chunks c ${inStore} WHERE c.hash = o.hash AND ${isLive}) THEN v.embedding END AS embedding
       FROM owed_vectors o LEFT JOIN embedding_cache e ON e.hash = o.hash AND e.space_id = o.space_id
       LEFT JOIN vectors v ON v.id = e.vector_id WHERE o.store = :store AND o.space_id = :spaceId LIMIT :limit`,
      { store: this.#store, spaceId, limit },
    );
    return { spaceId, rows };
  }

  #acknowledge(spaceId: number, hashes: readonly HashKey[]): void {
    const pay = "DELETE FROM owed_vectors WHERE store = ? AND space_id = ? AND hash = ?";
    for (const hash of hashes) this.#sql.run(pay, this.#store, spaceId, hash);
  }
}

function isGone({ embedding }: PendingRow): boolean {
  return embedding === null;
}
