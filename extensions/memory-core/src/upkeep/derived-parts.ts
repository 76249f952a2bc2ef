import type Database from "better-sqlite3";
import { Damage } from "../file/file-faults.ts";
import type { Generations } from "../generations/generations.ts";
import { type IndexPart, type Look, quickCheck } from "./index-parts.ts";
import type { Meta } from "../file/meta.ts";
import type { Pieces } from "../pieces.ts";
import { emptyWords, noteMissingWords, type WordRebuild } from "../words/rebuild-words.ts";
import { hasTable, vectorTable, wordTable } from "../file/schema.ts";
import { isAboutWordsOnly } from "../file/store-errors.ts";
import { reasonOf } from "../store-failure.ts";
import type { Transactions } from "../transactions.ts";
import { hasManyHoles } from "../vectors/vector-index.ts";
import type { Vectors } from "../vectors/vectors.ts";

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

/** The fast layout of the vectors: one row for each chunk that has a vector in the space that is laid out. */
export function layoutPart(input: {
  db: Database.Database;
  generations: Generations;
  vectors: Pick<Vectors, "held" | "layOutAnew">;
}): IndexPart {
  const { db, generations, vectors } = input;

  function lookAt(generation: number, spaceId: number): Look {
    const table = vectorTable(generation);
    if (!["", "_rowids", "_chunks"].every((suffix) => hasTable(db, table + suffix)))
      return { ok: false, message: `the table ${table} is missing` };
    const embedded = `SELECT c.id FROM files f JOIN chunks c ON c.file_id = f.id
      JOIN embedding_cache e ON e.hash = c.hash AND e.space_id = :spaceId WHERE f.generation = :generation`;
    const found = db
      .prepare<[Record<string, number>], Record<"rows" | "embedded" | "missing" | "extra" | "blocks", number>>(
        `SELECT (SELECT count(*) FROM ${table}_rowids) AS rows, (SELECT count(*) FROM ${table}_chunks) AS blocks,
          (SELECT count(*) FROM (${embedded})) AS embedded,
          (SELECT count(*) FROM (${embedded}) WHERE id NOT IN (SELECT rowid FROM ${table}_rowids)) AS missing,
          (SELECT count(*) FROM ${table}_rowids WHERE rowid NOT IN (${embedded})) AS extra`,
      )
      .get({ spaceId, generation });
    const { rows = 0, embedded: wanted = 0, missing = 0, extra = 0, blocks = 0 } = found ?? {};
    if (missing + extra > 0)
      return { ok: false, message: `${missing} of ${wanted} vectors are missing, and ${extra} are of no chunk` };
    if (hasManyHoles(rows, blocks))
      return { ok: false, message: `${rows} vectors in ${blocks} blocks: it is full of holes` };
    return { ok: true, message: `${rows} vectors in ${blocks} blocks` };
  }

  function looks(): { generation: number; found: Look }[] {
    return generations.live().flatMap((generation) => {
      const spaceId = vectors.held(generation);
      return spaceId === undefined ? [] : [{ generation, found: lookAt(generation, spaceId) }];
    });
  }

  return {
    name: "vectors",
    look() {
      const all = looks();
      if (all.length === 0) return { ok: true, message: "none are laid out for fast search" };
      const bad = all.filter(({ found }) => !found.ok);
      return {
        ok: bad.length === 0,
        message: (bad.length > 0 ? bad : all).map(({ found }) => found.message).join("; "),
      };
    },
    async *mend() {
      for (const { generation } of looks().filter(({ found }) => !found.ok)) {
        vectors.layOutAnew(generation);
        yield;
      }
      return "laid out anew from the stored vectors";
    },
  };
}
