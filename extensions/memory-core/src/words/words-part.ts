import type Database from "better-sqlite3";
import {
  Damage,
  type Generations,
  hasTable,
  type IndexPart,
  isAboutWordsOnly,
  type Look,
  type Meta,
  type Pieces,
  quickCheck,
  reasonOf,
  type Transactions,
} from "@memslot/indexing/ledger-tables";
import { emptyWords, noteMissingWords, type WordRebuild } from "./rebuild-words.ts";
import { wordTable } from "./word-tables.ts";

const batchRows = 500;

/** The words of the chunks: one row in the table of words for each chunk, and no other. */
export function wordsPart(input: {
  db: Database.Database;
  meta: Meta;
  transactions: Transactions;
  generations: Generations;
  words: WordRebuild;
  /** False where this SQLite has no FTS5. */
  indexWords: boolean;
}): IndexPart {
  const { db, meta, transactions, generations, words, indexWords } = input;

  /** Undefined where the whole table has to be made anew. */
  function compare(generation: number): { chunks: number; missing: number; extra: number } | undefined {
    const table = wordTable(generation);
    if (!hasTable(db, table) || quickCheck(db, table).length > 0 || !isComplete(db, table)) return undefined;
    const chunks = "SELECT c.id FROM files f JOIN chunks c ON c.file_id = f.id WHERE f.generation = :generation";
    return db
      .prepare<[{ generation: number }], { chunks: number; missing: number; extra: number }>(
        `SELECT (SELECT count(*) FROM (${chunks})) AS chunks,
          (SELECT count(*) FROM (${chunks}) WHERE id NOT IN (SELECT id FROM ${table}_docsize)) AS missing,
          (SELECT count(*) FROM ${table}_docsize WHERE id NOT IN (${chunks})) AS extra`,
      )
      .get({ generation });
  }

  function look(): Look {
    if (!indexWords) return { ok: true, message: "none: this build of SQLite has no FTS5" };
    const faults: string[] = [];
    let sound = 0;
    for (const generation of generations.live()) {
      const found = compare(generation);
      if (!found) faults.push(`the table ${wordTable(generation)} is missing or damaged`);
      else if (found.missing + found.extra > 0)
        faults.push(`${found.missing} of ${found.chunks} chunks lack their words, and ${found.extra} are of no chunk`);
      else sound += found.chunks;
    }
    return faults.length === 0
      ? { ok: true, message: `those of ${sound} chunks` }
      : { ok: false, message: faults.join("; ") };
  }

  function dropExtra(generation: number): boolean {
    const table = wordTable(generation);
    const extra = db
      .prepare<[number], number>(
        `SELECT id FROM ${table}_docsize WHERE id NOT IN (
           SELECT c.id FROM files f JOIN chunks c ON c.file_id = f.id WHERE f.generation = ?) LIMIT ${batchRows}`,
      )
      .pluck()
      .all(generation);
    const remove = db.prepare<[number]>(`DELETE FROM ${table} WHERE rowid = ?`);
    for (const id of extra) remove.run(id);
    return extra.length > 0;
  }

  async function* mend(): Pieces<string> {
    for (const generation of generations.live()) {
      if (transactions.read(() => compare(generation)) === undefined) {
        try {
          transactions.write(() => emptyWords(db, meta, generation));
        } catch (error) {
          throw new Damage(`the words cannot be made anew: ${reasonOf(error)}`);
        }
      } else {
        while (transactions.write(() => dropExtra(generation))) yield;
        transactions.write(() => noteMissingWords(meta, generation));
      }
      yield;
    }
    while (await words.step()) yield;
    return "made anew from the texts of the chunks";
  }

  return indexWords ? { name: "words", look, mend } : { name: "words", look };
}

/**
 * True when the table holds as many words as it was given for all chunks together: what FTS5 itself checks is only whether
 * the words that it finds are in order.
 */
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
