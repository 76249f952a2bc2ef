import type { IndexHealth } from "@memslot/indexing";
import {
  type AddedChunk,
  type Companion,
  hasTable,
  type LedgerParts,
  type Meta,
  metaKeys,
  perGeneration,
} from "@memslot/indexing/ledger-tables";
import type Database from "better-sqlite3";
import { createKeywordSearch, createWordlessSearch } from "./keyword-search.ts";
import { mergeWords } from "./merge-words.ts";
import { WordRepair } from "./repair-words.ts";
import { wordTable } from "./word-tables.ts";

/** Where words are missing, opening waits for those of some 10,000 chunks. The rest is done between calls. */
const settlingSteps = 150;

/** The half of an index that finds words. */
export interface Words extends Pick<Companion, "changed" | "drop" | "holds" | "count" | "settle" | "tidy" | "compact"> {
  searchKeyword: ReturnType<typeof createKeywordSearch>;
  added(chunk: Pick<AddedChunk, "id" | "generation" | "terms">): void;
  removed(chunk: { id: number; generation: number }): void;
  part: Companion["parts"]["first"][number];
  health(): IndexHealth["fts"];
}

/** `ftsError`: why words cannot be indexed; undefined where they can. */
export function createWords(parts: LedgerParts, ftsError: string | undefined): Words {
  const { db, meta, transactions, generations } = parts;
  const indexWords = ftsError === undefined;
  const repair = new WordRepair(parts, indexWords);
  const statements = perGeneration((generation) => ({
    insert: db.prepare(`INSERT INTO ${wordTable(generation)} (rowid, terms) VALUES (?, ?)`),
    remove: db.prepare(`DELETE FROM ${wordTable(generation)} WHERE rowid = ?`),
  }));
  return {
    searchKeyword: indexWords ? createKeywordSearch(parts) : createWordlessSearch(db, transactions, generations),
    added({ id, generation, terms }) {
      if (indexWords) statements(generation).insert.run(id, terms);
    },
    removed({ id, generation }) {
      if (indexWords) statements(generation).remove.run(id);
    },
    changed() {
      if (!indexWords) meta.set(metaKeys.wordsStale, "1");
    },
    drop(generation) {
      if (!indexWords || !hasTable(db, wordTable(generation))) return false;
      db.exec(`DROP TABLE ${wordTable(generation)}`);
      return true;
    },
    holds: (generation) => hasTable(db, wordTable(generation)),
    count: (generation) => (indexWords && !areLacking(meta, generation) ? countWords(db, generation) : undefined),
    async settle() {
      for (let step = 1; (await repair.step()) && step < settlingSteps; step++);
    },
    tidy: () => repair.step(),
    async *compact(generation) {
      if (indexWords) yield* mergeWords(db, transactions, generation);
    },
    part: repair,
    health: () =>
      ftsError === undefined
        ? { enabled: true, available: true }
        : { enabled: true, available: false, error: ftsError },
  };
}

function areLacking(meta: Meta, generation: number): boolean {
  return meta.get(metaKeys.wordsStale) !== undefined || meta.get(`${metaKeys.wordsMissing}${generation}`) !== undefined;
}

function countWords(db: Database.Database, generation: number): number | undefined {
  return db
    .prepare<[], number>(`SELECT count(*) FROM ${wordTable(generation)}_docsize`)
    .pluck()
    .get();
}
