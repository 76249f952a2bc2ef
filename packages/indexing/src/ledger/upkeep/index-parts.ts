import type Database from "better-sqlite3";
import type { FileTables } from "../files/file-tables.ts";
import type { Generations } from "../generations/generations.ts";
import { compareWithSum } from "../file/file-sum.ts";
import type { Pieces } from "../thread/pieces.ts";
import type { Transactions } from "../database/transactions.ts";

/** What a look at one part of the index has shown. */
export interface Look {
  ok: boolean;
  /** What was counted and compared, with the figures. */
  message: string;
}

/** A part of the index that can be compared with another, and be made anew from it. */
export interface IndexPart {
  name: string;
  /** Called inside a transaction. Reads only. */
  look(): Look;
  /** Says what was done. Called outside of transactions. */
  mend?(): Pieces<string>;
}

const batchRows = 500;
const namesShown = 3;

/**
 * The pages of the file, if there is one at `path`, and its bytes where it is known what they were. What FTS5 says of its
 * own tables is judged with the words.
 */
export function filePart(db: Database.Database, path: string | undefined): IndexPart {
  return {
    name: "database",
    look() {
      if (path !== undefined && compareWithSum(path, { anew: true }) === "differs")
        return { ok: false, message: "its bytes are not those that were written" };
      const faults = quickCheck(db).filter((line) => !isAboutWords(line));
      const pages = Number(db.pragma("page_count", { simple: true }));
      return faults.length === 0
        ? { ok: true, message: `${pages} pages are sound` }
        : { ok: false, message: faults.slice(0, namesShown).join("; ") };
    },
  };
}

/** Lines of `PRAGMA quick_check` that are not `ok`. */
export function quickCheck(db: Database.Database, table?: string): string[] {
  const lines = db.prepare<[], string>(`PRAGMA quick_check${table === undefined ? "" : `('${table}')`}`).pluck();
  return lines.all().filter((line) => line !== "ok");
}

export function isAboutWords(line: string): boolean {
  return /\bfts5\b/iu.test(line);
}

/** Files and the chunks that they were cut into. A file that has lost some is forgotten: the next sync reads it again. */
export function chunksPart(input: {
  db: Database.Database;
  generations: Generations;
  filesOf: (generation: () => number) => Pick<FileTables, "removeFiles">;
}): IndexPart {
  const { db, generations, filesOf } = input;
  const counts = db.prepare<[number], { files: number; chunks: number | null }>(
    "SELECT count(*) AS files, sum(chunks) AS chunks FROM files WHERE generation = ?",
  );
  const wrong = db.prepare<[number], { path: string; source: string; expected: number; found: number }>(`
    SELECT f.path, f.source, f.chunks AS expected, count(c.id) AS found
    FROM files f LEFT JOIN chunks c ON c.file_id = f.id WHERE f.generation = ? GROUP BY f.id
    HAVING found <> f.chunks OR coalesce(sum(octet_length(c.text)), 0) <> f.chunk_bytes
  `);
  return {
    name: "files",
    look() {
      const faulty = generations.live().flatMap((generation) => wrong.all(generation));
      if (faulty.length > 0) {
        const names = faulty.map(({ path, found, expected }) => `${path} (${found} chunks of ${expected})`);
        return {
          ok: false,
          message: `${faulty.length} files have other chunks than they were cut into: ${some(names)}`,
        };
      }
      const { files, chunks } = counts.get(generations.active().id) ?? { files: 0, chunks: 0 };
      return { ok: true, message: `${chunks ?? 0} chunks of ${files} files` };
    },
    async *mend() {
      let forgotten = 0;
      for (const generation of generations.live()) {
        const files = wrong.all(generation);
        for (let from = 0; from < files.length; from += batchRows) {
          filesOf(() => generation).removeFiles(files.slice(from, from + batchRows));
          yield;
        }
        forgotten += files.length;
      }
      return `${forgotten} files are forgotten, and the next sync reads them again`;
    },
  };
}

/** What belongs to nothing: chunks without a file, files and tables of generations that nobody knows. */
export function leftoversPart(db: Database.Database, transactions: Transactions): IndexPart {
  const files = "FROM files WHERE generation NOT IN (SELECT id FROM generations)";
  const chunks = "FROM chunks WHERE file_id NOT IN (SELECT id FROM files)";
  const quarantined = "FROM quarantine WHERE space_id NOT IN (SELECT id FROM spaces)";
  const told = ["owed_vectors", "adopted_vectors"].map(
    (table) => `FROM ${table} WHERE space_id NOT IN (SELECT id FROM spaces)`,
  );
  const countOf = (rows: string): number => db.prepare<[], number>(`SELECT count(*) ${rows}`).pluck().get() ?? 0;
  return {
    name: "leftovers",
    look() {
      const found = [
        `${countOf(chunks)} chunks without a file`,
        `${countOf(files)} files of no generation`,
        `${countOf(quarantined)} refused texts of no space`,
        `${told.map(countOf).reduce((sum, count) => sum + count)} notes about vectors of no space`,
      ].filter((line) => !line.startsWith("0 "));
      return found.length === 0 ? { ok: true, message: "none" } : { ok: false, message: found.join(", ") };
    },
    async *mend() {
      transactions.write(() => {
        for (const rows of [files, quarantined, ...told]) db.exec(`DELETE ${rows}`);
      });
      const remove = db.prepare(`DELETE FROM chunks WHERE id IN (SELECT id ${chunks} LIMIT ${batchRows})`);
      while (transactions.write(() => remove.run().changes) > 0) yield;
      return "deleted";
    },
  };
}

/** The numbers of the vectors and the rows that say whose they are. What is wrong is deleted: it is made again when it is needed. */
export function cachePart(db: Database.Database, transactions: Transactions): IndexPart {
  const counts = db.prepare<[], { rows: number; empty: number; odd: number; lost: number }>(`
    SELECT (SELECT count(*) FROM embedding_cache) AS rows,
      (SELECT count(*) FROM embedding_cache WHERE vector_id NOT IN (SELECT id FROM vectors)) AS empty,
      (SELECT count(*) FROM embedding_cache e JOIN vectors v ON v.id = e.vector_id LEFT JOIN spaces s ON s.id = e.space_id
        WHERE s.id IS NULL OR length(v.embedding) <> 4 * s.dims) AS odd,
      (SELECT count(*) FROM vectors WHERE id NOT IN (SELECT vector_id FROM embedding_cache)) AS lost
  `);
  const deleteRows = `
    DELETE FROM embedding_cache WHERE vector_id NOT IN (SELECT id FROM vectors);
    DELETE FROM embedding_cache WHERE space_id NOT IN (SELECT id FROM spaces);
    DELETE FROM embedding_cache WHERE vector_id IN (
      SELECT v.id FROM embedding_cache e JOIN vectors v ON v.id = e.vector_id JOIN spaces s ON s.id = e.space_id
      WHERE length(v.embedding) <> 4 * s.dims)
  `;
  const deleteVectors = db.prepare(
    `DELETE FROM vectors WHERE id IN (SELECT id FROM vectors WHERE id NOT IN (SELECT vector_id FROM embedding_cache) LIMIT ${batchRows})`,
  );
  return {
    name: "vector cache",
    look() {
      const { rows = 0, empty = 0, odd = 0, lost = 0 } = counts.get() ?? {};
      if (empty + odd + lost === 0) return { ok: true, message: `${rows} vectors` };
      const message = `of ${rows} vectors ${empty} have no numbers and ${odd} the wrong ones, and ${lost} belong to nothing`;
      return { ok: false, message };
    },
    async *mend() {
      transactions.write(() => void db.exec(deleteRows));
      while (transactions.write(() => deleteVectors.run().changes) > 0) yield;
      return "deleted; chunks that lack one get it with the next sync";
    },
  };
}

/** How much of the file is in use: told, and never wrong. */
export function spacePart(db: Database.Database): IndexPart {
  const bytesOf = (pages: string): number =>
    Number(db.pragma(pages, { simple: true })) * Number(db.pragma("page_size", { simple: true }));
  return {
    name: "space",
    look: () => ({
      ok: true,
      message: `${bytesOf("page_count")} bytes, of which ${bytesOf("freelist_count")} hold nothing`,
    }),
  };
}

function some(names: readonly string[]): string {
  const rest = names.length - namesShown;
  return `${names.slice(0, namesShown).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}
