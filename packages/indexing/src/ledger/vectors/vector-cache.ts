import type { VectorSpace } from "../../chunk-store.ts";
import { StoreFailure } from "../thread/remote-calls.ts";
import type { LedgerBase } from "../generations.ts";
import { type Sql, sqlOf } from "../sql.ts";
import { metaKeys } from "../file/meta.ts";
import { isBusy } from "../file/store-errors.ts";

/** The hash of a chunk as it is stored: the 32 bytes of a SHA-256, or a hash of another kind as it was given. */
export type HashKey = Buffer | string;

const sha256 = /^[0-9a-f]{64}$/u;

export function toKey(hash: string): HashKey {
  return sha256.test(hash) ? Buffer.from(hash, "hex") : hash;
}

export function toHash(key: HashKey): string {
  return typeof key === "string" ? key : key.toString("hex");
}

const bytesPerNumber = 4;

export function lengthOf(vector: Float32Array): number {
  let squares = 0;
  for (const value of vector) squares += value * value;
  return Math.sqrt(squares);
}

/** The bytes of a vector as they are stored: float32, in the byte order of the machine, which is little-endian. */
function toBytes(vector: Float32Array): Buffer {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
}

export function toVector(bytes: Buffer): Float32Array {
  // A small buffer is cut out of a shared pool and may begin at any byte.
  const aligned = bytes.byteOffset % bytesPerNumber === 0 ? bytes : new Uint8Array(bytes);
  return new Float32Array(aligned.buffer, aligned.byteOffset, bytes.byteLength / bytesPerNumber);
}

/** Throws `INVALID_ARGUMENT` for a vector that is not of this space, or that cannot be compared with any. */
export function checkVector(vector: Float32Array, space: VectorSpace): void {
  if (vector.length !== space.dimensions) {
    throw new StoreFailure(
      "INVALID_ARGUMENT",
      `a vector has ${vector.length} numbers, the space ${space.provider}/${space.model} has ${space.dimensions}`,
    );
  }
  const length = lengthOf(vector);
  if (length === 0 || !Number.isFinite(length)) {
    throw new StoreFailure(
      "INVALID_ARGUMENT",
      `a vector of ${space.provider}/${space.model} is all zero or not finite`,
    );
  }
}

const batchVectors = 500;
/** Vectors queued for eviction by one scan of the cache. */
const queueVectors = 4096;
/** Minimum number of unused vectors that are kept. */
const fewestKept = 64;
/** Share of surplus vectors that justifies a scan. */
const worthwhileShare = 1 / 8;
const growthNoted = 1.1;

const deleteVector = "DELETE FROM vectors WHERE id = ?";
const isInUse =
  "space_id IN (SELECT value FROM json_each(:inUse)) AND EXISTS (SELECT 1 FROM chunks c WHERE c.hash = embedding_cache.hash)";

interface Entry {
  hash: HashKey;
  spaceId: number;
  usedAt: number;
  vectorId: number;
}

interface CacheOptions extends Omit<LedgerBase, "generations"> {
  maxEntries: number;
  prepare: () => void;
}

/** Vectors, stored once per space and text hash, and their eviction. */
export class VectorCache {
  /** Spaces in use: vectors of their chunks are not evicted. If empty, nothing is. */
  readonly spacesInUse: Set<number> = new Set<number>();
  readonly #options: CacheOptions;
  readonly #sql: Sql;
  #queue: Entry[] = [];
  #nothingLeft = false;

  constructor(options: CacheOptions) {
    this.#options = options;
    this.#sql = sqlOf(options.db);
  }

  get(spaceId: number, hash: HashKey): Buffer | undefined {
    const id = this.#find(spaceId, hash);
    return id === undefined ? undefined : this.#sql.value("SELECT embedding FROM vectors WHERE id = ?", id);
  }

  has(spaceId: number, hash: HashKey): boolean {
    return this.#find(spaceId, hash) !== undefined;
  }

  put(spaceId: number, hash: HashKey, vector: Float32Array, at: number): void {
    const id = this.#find(spaceId, hash);
    if (id === undefined) {
      const { lastInsertRowid } = this.#sql.run("INSERT INTO vectors (embedding) VALUES (?)", toBytes(vector));
      const insert = "INSERT INTO embedding_cache (hash, space_id, used_at, vector_id) VALUES (?, ?, ?, ?)";
      this.#sql.run(insert, hash, spaceId, at, Number(lastInsertRowid));
    } else {
      this.#sql.run("UPDATE vectors SET embedding = ? WHERE id = ?", toBytes(vector), id);
      this.#use(spaceId, hash, at);
    }
  }

  /** Moves the vectors of a hash, in all spaces, to the end of the queue for eviction. */
  use(hash: HashKey, at: number): void {
    // One row at a time: a multi-row update costs as much as indexing the words of a chunk.
    for (const spaceId of this.#sql.values<number>("SELECT space_id FROM embedding_cache WHERE hash = ?", hash))
      this.#use(spaceId, hash, at);
  }

  trim(): boolean {
    try {
      return this.#trim();
    } catch (error) {
      if (!isBusy(error)) throw error;
      return false;
    }
  }

  wake(): void {
    this.#nothingLeft = false;
  }

  /** Remembers how many chunks there are, before they may become fewer. */
  noteChunks(): void {
    const { meta, transactions } = this.#options;
    if (transactions.read(() => this.#answeringChunks() <= growthNoted * this.#notedChunks())) return;
    transactions.writeIfFree(() => {
      meta.set(metaKeys.mostChunks, String(Math.max(this.#notedChunks(), this.#answeringChunks())));
    });
  }

  /** How many chunks the index once had does not count any more. */
  forgetPast(): void {
    const { meta, transactions } = this.#options;
    transactions.write(() => {
      const chunks = this.#answeringChunks();
      if (chunks > 0) meta.set(metaKeys.mostChunks, String(chunks));
    });
  }

  /** Deletes a batch of least recently used vectors without a note. True: more remain. */
  trimUnused(): boolean {
    const { transactions, prepare } = this.#options;
    if (transactions.read(() => this.#overfull()) === undefined) return false;
    prepare();
    const deleted = transactions.writeIfFree(() => {
      const space = this.#overfull();
      if (space === undefined) return 0;
      const entries = this.#sql.all<Entry>(
        `SELECT hash, vector_id AS vectorId FROM embedding_cache e
         WHERE space_id = ? AND NOT EXISTS (SELECT 1 FROM chunks c WHERE c.hash = e.hash)
         ORDER BY used_at, vector_id LIMIT ?`,
        space.spaceId,
        Math.min(space.surplus, batchVectors),
      );
      for (const { hash, vectorId } of entries) {
        this.#sql.run("DELETE FROM embedding_cache WHERE hash = ? AND space_id = ?", hash, space.spaceId);
        this.#sql.run(deleteVector, vectorId);
      }
      return entries.length;
    });
    return deleted === batchVectors;
  }

  #find(spaceId: number, hash: HashKey): number | undefined {
    return this.#sql.value("SELECT vector_id FROM embedding_cache WHERE hash = ? AND space_id = ?", hash, spaceId);
  }

  #use(spaceId: number, hash: HashKey, at: number): void {
    this.#sql.run("UPDATE embedding_cache SET used_at = ? WHERE hash = ? AND space_id = ?", at, hash, spaceId);
  }

  #trim(): boolean {
    if (this.spacesInUse.size === 0 || this.#nothingLeft) return false;
    let surplus = (this.#sql.value<number>("SELECT count(*) FROM embedding_cache") ?? 0) - this.#options.maxEntries;
    if (surplus <= 0) return false;
    const inUse = JSON.stringify([...this.spacesInUse]);
    const { transactions } = this.#options;
    if (this.#queue.length === 0) this.#queue = transactions.read(() => this.#oldest(inUse));
    this.#nothingLeft = this.#queue.length === 0;
    if (this.#nothingLeft) return false;
    const taken = transactions.write(() => {
      let looked = 0;
      for (const entry of this.#queue.slice(0, batchVectors)) {
        if (surplus === 0) break;
        looked++;
        const { changes } = this.#sql.run(
          `DELETE FROM embedding_cache
           WHERE hash = :hash AND space_id = :spaceId AND used_at = :usedAt AND NOT (${isInUse})`,
          { ...entry, inUse },
        );
        if (changes === 0) continue;
        this.#sql.run(deleteVector, entry.vectorId);
        surplus--;
      }
      return looked;
    });
    this.#queue = this.#queue.slice(taken);
    return surplus > 0;
  }

  #oldest(inUse: string): Entry[] {
    return this.#sql.all(
      `SELECT hash, space_id AS spaceId, used_at AS usedAt, vector_id AS vectorId FROM embedding_cache
       WHERE NOT (${isInUse}) ORDER BY used_at, vector_id LIMIT ${queueVectors}`,
      { inUse },
    );
  }

  #answeringChunks(): number {
    const sum = `SELECT coalesce(sum(chunks), 0) FROM files
      WHERE generation IN (SELECT id FROM generations WHERE state = 'active')`;
    return this.#sql.value(sum) ?? 0;
  }

  #notedChunks(): number {
    return Number(this.#options.meta.get(metaKeys.mostChunks) ?? 0);
  }

  /** A space that has too many vectors, and how many. Chunks that lack theirs are counted as if they had it. */
  #overfull(): { spaceId: number; surplus: number } | undefined {
    const kept = Math.max(fewestKept, this.#notedChunks(), this.#answeringChunks());
    const chunks = this.#sql.value<number>("SELECT coalesce(sum(chunks), 0) FROM files") ?? 0;
    return this.#sql
      .all<{ spaceId: number; vectors: number }>(
        "SELECT space_id AS spaceId, count(*) AS vectors FROM embedding_cache GROUP BY space_id",
      )
      .map(({ spaceId, vectors }) => ({ spaceId, surplus: vectors - chunks - kept }))
      .find(({ surplus }) => surplus > kept * worthwhileShare);
  }
}

/** Forgets the vectors of a text that older redaction rules let through, unless it is held elsewhere. */
export function forgetText({ db, meta }: Pick<LedgerBase, "db" | "meta">, hash: HashKey, isHeld: () => boolean): void {
  const sql = sqlOf(db);
  meta.set(metaKeys.unwiped, "1");
  const vectorIds = sql.values<number>("SELECT vector_id FROM embedding_cache WHERE hash = ?", hash);
  if (vectorIds.length === 0 || isHeld()) return;
  for (const id of vectorIds) sql.run(deleteVector, id);
  for (const table of ["embedding_cache", "adopted_vectors", "quarantine"])
    sql.run(`DELETE FROM ${table} WHERE hash = ?`, hash);
}
