import type Database from "better-sqlite3";
import type { FileKey } from "../../chunk-store.ts";
import type { FileTables } from "../file-tables.ts";
import type { Generations } from "../generations.ts";
import { isAboutWords, isSpoilt, quickCheck } from "../integrity.ts";
import { bytesOfPages } from "./disk-space.ts";
import { sqlOf, type Transactions } from "../sql.ts";
import type { Pieces } from "../thread/remote-calls.ts";

export interface Look {
  ok: boolean;
  /** What was counted and compared, with the figures. */
  message: string;
}

export interface IndexPart {
  name: string;
  look(): Look;
  /** Says what was done. Called outside of transactions. */
  repair?(): Pieces<string>;
}

const batchRows = 500;
const namesShown = 3;

const ofNoSpace = "WHERE space_id NOT IN (SELECT id FROM spaces)";
const ofNoFile = "FROM chunks WHERE file_id NOT IN (SELECT id FROM files)";
/** What belongs to nothing, and the rows of it. */
const leftovers: readonly (readonly [what: string, ...rows: string[]])[] = [
  ["chunks without a file", ofNoFile],
  ["files of no generation", "FROM files WHERE generation NOT IN (SELECT id FROM generations)"],
  ["refused texts of no space", `FROM quarantine ${ofNoSpace}`],
  ["notes about vectors of no space", `FROM owed_vectors ${ofNoSpace}`, `FROM adopted_vectors ${ofNoSpace}`],
];
const entries = `FROM embedding_cache e LEFT JOIN vectors v ON v.id = e.vector_id LEFT JOIN spaces s ON s.id = e.space_id`;
const isOdd = "s.id IS NULL OR length(v.embedding) <> 4 * s.dims";
const ofNoText = "FROM vectors WHERE id NOT IN (SELECT vector_id FROM embedding_cache)";
const wrongFiles = `
  SELECT f.path, f.source, f.chunks AS expected, count(c.id) AS found
  FROM files f LEFT JOIN chunks c ON c.file_id = f.id WHERE f.generation = ? GROUP BY f.id
  HAVING found <> f.chunks OR coalesce(sum(octet_length(c.text)), 0) <> f.chunk_bytes`;

/** The parts of an index in the order in which they are checked and repaired, with those of its companion. */
export function indexParts(input: {
  db: Database.Database;
  generations: Generations;
  transactions: Transactions;
  filesOf: (generation: () => number) => Pick<FileTables, "removeFiles">;
  path: string | undefined;
  companion: { parts: { first: readonly IndexPart[]; last: readonly IndexPart[] } };
}): readonly IndexPart[] {
  const { db, generations, transactions, filesOf, path } = input;
  const sql = sqlOf(db);
  const countOf = (rows: string): number => sql.value<number>(`SELECT count(*) ${rows}`) ?? 0;
  const wrongIn = (generation: number): (FileKey & { expected: number; found: number })[] =>
    sql.all(wrongFiles, generation);

  async function* remove(table: string, rows: string): Pieces<void> {
    const some = `DELETE FROM ${table} WHERE id IN (SELECT id ${rows} LIMIT ${batchRows})`;
    while (transactions.write(() => sql.run(some).changes) > 0) yield;
  }

  /** Checks the pages of the file and, if recorded, its checksum. Reports of FTS5 belong to the words. */
  const file: IndexPart = {
    name: "database",
    look() {
      if (path !== undefined && isSpoilt(path, { reread: true }))
        return { ok: false, message: "its content differs from what was written" };
      const faults = quickCheck(db).filter((line) => !isAboutWords(line));
      const pages = Number(db.pragma("page_count", { simple: true }));
      return faults.length === 0
        ? { ok: true, message: `${pages} pages without errors` }
        : { ok: false, message: faults.slice(0, namesShown).join("; ") };
    },
  };

  /** Files with missing chunks are forgotten and indexed again by the next sync. */
  const files: IndexPart = {
    name: "files",
    look() {
      const faulty = generations.live().flatMap(wrongIn);
      if (faulty.length > 0) {
        const names = faulty.map((each) => `${each.path} (${each.found} chunks of ${each.expected})`);
        const message = `${faulty.length} files have other chunks than they were cut into: ${some(names)}`;
        return { ok: false, message };
      }
      const of = `FROM files WHERE generation = ${generations.active().id}`;
      return {
        ok: true,
        message: `${sql.value(`SELECT coalesce(sum(chunks), 0) ${of}`)} chunks of ${countOf(of)} files`,
      };
    },
    async *repair() {
      let forgotten = 0;
      for (const generation of generations.live()) {
        const wrong = wrongIn(generation);
        for (let from = 0; from < wrong.length; from += batchRows) {
          filesOf(() => generation).removeFiles(wrong.slice(from, from + batchRows));
          yield;
        }
        forgotten += wrong.length;
      }
      return `${forgotten} files are forgotten, and the next sync reads them again`;
    },
  };

  const unowned: IndexPart = {
    name: "leftovers",
    look() {
      const found = leftovers
        .map(([what, ...rows]) => ({ what, count: rows.map(countOf).reduce((sum, count) => sum + count) }))
        .flatMap(({ what, count }) => (count === 0 ? [] : [`${count} ${what}`]));
      return found.length === 0 ? { ok: true, message: "none" } : { ok: false, message: found.join(", ") };
    },
    async *repair() {
      const others = leftovers.flatMap(([, ...rows]) => rows).filter((rows) => rows !== ofNoFile);
      transactions.write(() => others.forEach((rows) => void sql.run(`DELETE ${rows}`)));
      yield* remove("chunks", ofNoFile);
      return "deleted";
    },
  };

  /** Vectors and their owners. Wrong rows are deleted and recreated on demand. */
  const cache: IndexPart = {
    name: "vector cache",
    look() {
      const found = sql.row<{ rows: number; empty: number; odd: number; lost: number }>(
        `SELECT count(*) AS rows, coalesce(sum(v.id IS NULL), 0) AS empty,
           coalesce(sum(v.id IS NOT NULL AND (${isOdd})), 0) AS odd, (SELECT count(*) ${ofNoText}) AS lost ${entries}`,
      );
      const { rows = 0, empty = 0, odd = 0, lost = 0 } = found ?? {};
      if (empty + odd + lost === 0) return { ok: true, message: `${rows} vectors` };
      const message = `of ${rows} vectors ${empty} have no numbers and ${odd} the wrong ones, and ${lost} belong to nothing`;
      return { ok: false, message };
    },
    async *repair() {
      const wrong = `SELECT e.vector_id ${entries} WHERE v.id IS NULL OR ${isOdd}`;
      transactions.write(() => void sql.run(`DELETE FROM embedding_cache WHERE vector_id IN (${wrong})`));
      yield* remove("vectors", ofNoText);
      return "deleted; chunks that lack one get it with the next sync";
    },
  };

  const space: IndexPart = {
    name: "space",
    look: () => ({
      ok: true,
      message: `${bytesOfPages(db, "page_count")} bytes, of which ${bytesOfPages(db, "freelist_count")} are free`,
    }),
  };

  const { first, last } = input.companion.parts;
  return [file, ...first, files, unowned, cache, ...last, space];
}

function some(names: readonly string[]): string {
  const rest = names.length - namesShown;
  return `${names.slice(0, namesShown).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}
