import type Database from "better-sqlite3";
import {
  Damage,
  hasTable,
  type IndexPart,
  isAboutWordsOnly,
  isSqliteError,
  type LedgerParts,
  type Meta,
  metaKeys,
  type Pieces,
  quickCheck,
  reasonOf,
  sqlOf,
} from "@memslot/indexing/ledger-tables";
import { createWordIndex, wordTable } from "./word-tables.ts";

/** Why words cannot be indexed. */
export const noFts = "this build of SQLite has no FTS5";

/** Chunks in one transaction: some ten milliseconds. */
const batchChunks = 64;

export function wordsNotice(path: string): string {
  return `the words of the index ${path} were missing or out of date; they are rebuilt from the texts in it, and no note is read again`;
}

/** Checks the word tables against the chunks; stale ones are emptied for `WordRepair`. True: emptied. */
export function settleWords(input: {
  db: Database.Database;
  meta: Meta;
  store: string;
  write: (work: () => void) => void;
}): boolean {
  const { db, meta, store, write } = input;
  const sql = sqlOf(db);
  const live = (): number[] => sql.values("SELECT id FROM generations WHERE store = ? AND state <> 'dropped'", store);
  const isStale = (): boolean => meta.get(metaKeys.wordsStale) !== undefined;
  if (!isStale() && live().every((id) => hasSoundWords(db, id))) return false;
  write(() => {
    const stale = isStale();
    for (const id of live()) if (stale || !hasSoundWords(db, id)) emptyWords(db, meta, id);
    meta.delete(metaKeys.wordsStale);
  });
  const files = "SELECT 1 FROM files WHERE chunks > 0 AND generation IN (SELECT value FROM json_each(?)) LIMIT 1";
  return sql.value(files, JSON.stringify(live())) !== undefined;
}

function hasSoundWords(db: Database.Database, generation: number): boolean {
  const table = wordTable(generation);
  if (!hasTable(db, table) || !hasTable(db, `${table}_docsize`)) return false;
  try {
    db.prepare(`SELECT rowid FROM ${table} LIMIT 1`).get();
    return true;
  } catch (error) {
    if (isAboutWordsOnly(error) || isSqliteError(error, "SQLITE_ERROR")) return false;
    throw error;
  }
}

/** Replaces a word table by an empty one and records that, inside a transaction. Throws if SQLite cannot. */
function emptyWords(db: Database.Database, meta: Meta, generation: number): void {
  db.exec(`DROP TABLE IF EXISTS ${wordTable(generation)}; ${createWordIndex(generation)}`);
  meta.set(`${metaKeys.wordsMissing}${generation}`, "1");
}

/** Checks the words of chunks, and rebuilds them from the indexed texts. */
export class WordRepair implements IndexPart {
  readonly name = "words";
  readonly #parts: Pick<LedgerParts, "db" | "meta" | "transactions" | "generations">;
  readonly #canIndex: boolean;
  readonly #doneTo = new Map<number, number>();

  constructor(parts: LedgerParts, canIndex: boolean) {
    this.#parts = parts;
    this.#canIndex = canIndex;
  }

  /** Checks for one row per chunk, and no others. */
  look(): ReturnType<IndexPart["look"]> {
    if (!this.#canIndex) return { ok: true, message: `none: ${noFts}` };
    const faults: string[] = [];
    let sound = 0;
    for (const generation of this.#parts.generations.live()) {
      const { chunks, fault } = this.#compare(generation);
      if (fault === undefined) sound += chunks;
      else faults.push(fault);
    }
    return faults.length === 0
      ? { ok: true, message: `terms of ${sound} chunks` }
      : { ok: false, message: faults.join("; ") };
  }

  /** Indexes some missing words. True: more remain. Safe in several processes. */
  async step(): Promise<boolean> {
    if (this.#next() === undefined) return false;
    // The tokenizer is loaded only if words are missing.
    const { indexTerms } = await import("@memslot/indexing");
    this.#parts.transactions.write(() => {
      // Another process may have done it.
      const generation = this.#next();
      if (generation !== undefined) this.#fill(generation, indexTerms);
    });
    return this.#next() !== undefined;
  }

  async *repair(): Pieces<string> {
    const { db, meta, transactions, generations } = this.#parts;
    for (const generation of generations.live()) {
      if (transactions.read(() => this.#compare(generation)).fault !== undefined) {
        try {
          transactions.write(() => emptyWords(db, meta, generation));
        } catch (error) {
          throw new Damage(`the words cannot be rebuilt: ${reasonOf(error)}`);
        }
      }
      yield;
    }
    while (await this.step()) yield;
    return "rebuilt from the texts of the chunks";
  }

  #compare(generation: number): { chunks: number; fault?: string } {
    const { db } = this.#parts;
    const table = wordTable(generation);
    if (!hasTable(db, table) || quickCheck(db, table).length > 0 || !isComplete(db, table))
      return { chunks: 0, fault: `the table ${table} is missing or damaged` };
    const own = "SELECT c.id FROM files f JOIN chunks c ON c.file_id = f.id WHERE f.generation = :generation";
    const [chunks = 0, missing = 0, extra = 0] =
      db
        .prepare<[{ generation: number }], number[]>(
          `SELECT (SELECT count(*) FROM (${own})),
          (SELECT count(*) FROM (${own}) WHERE id NOT IN (SELECT id FROM ${table}_docsize)),
          (SELECT count(*) FROM ${table}_docsize WHERE id NOT IN (${own}))`,
        )
        .raw()
        .get({ generation }) ?? [];
    if (missing + extra === 0) return { chunks };
    return { chunks, fault: `${missing} of ${chunks} chunks lack their words, and ${extra} are of no chunk` };
  }

  #next(): number | undefined {
    const key = this.#canIndex ? this.#parts.meta.startingWith(metaKeys.wordsMissing)[0]?.key : undefined;
    return key === undefined ? undefined : Number(key.slice(metaKeys.wordsMissing.length));
  }

  #fill(generation: number, indexTerms: (text: string) => string): void {
    const { db, meta, generations } = this.#parts;
    const table = wordTable(generation);
    const doneTo = this.#doneTo.get(generation) ?? 0;
    // Chunks without words have no row count.
    const lacking = generations.live().includes(generation)
      ? db
          .prepare<[number, number], { id: number; text: string; context: string }>(
            `SELECT c.id, c.text, c.context FROM chunks c CROSS JOIN files f ON f.id = c.file_id AND f.generation = ?
             WHERE c.id > ? AND NOT EXISTS (SELECT 1 FROM ${table}_docsize d WHERE d.id = c.id)
             ORDER BY c.id LIMIT ${batchChunks}`,
          )
          .all(generation, doneTo)
      : [];
    const isLast = lacking.length < batchChunks;
    this.#doneTo.set(generation, isLast ? 0 : (lacking.at(-1)?.id ?? 0));
    // Words may have been emptied meanwhile: only a pass from the start is complete.
    if (isLast && doneTo === 0) meta.delete(`${metaKeys.wordsMissing}${generation}`);
    if (lacking.length === 0) return;
    const insert = db.prepare(`INSERT INTO ${table} (rowid, terms) VALUES (?, ?)`);
    for (const { id, text, context } of lacking) insert.run(id, indexTerms(`${text}\n${context}`));
  }
}

/** Whether the table has as many words as all chunks together; FTS5's own check covers only the order. */
function isComplete(db: Database.Database, table: string): boolean {
  const vocabulary = `temp.${table}_check`;
  db.exec(`CREATE VIRTUAL TABLE ${vocabulary} USING fts5vocab(main, ${table}, 'row')`);
  try {
    const held = db.prepare<[], number>(`SELECT coalesce(sum(cnt), 0) FROM ${vocabulary}`).pluck().get();
    const counts = db.prepare<[], Buffer>(`SELECT sz FROM ${table}_docsize`).pluck();
    let given = 0;
    for (const count of counts.iterate()) given += readVarint(count);
    return held === given;
  } catch (error) {
    if (isAboutWordsOnly(error)) return false;
    throw error;
  } finally {
    db.exec(`DROP TABLE ${vocabulary}`);
  }
}

/** A number as SQLite stores it: seven bits a byte, the highest first, the last byte without the eighth. */
function readVarint(bytes: Buffer): number {
  let value = 0;
  for (const byte of bytes) {
    value = value * 128 + (byte & 127);
    if (byte < 128) break;
  }
  return value;
}
