import type { IndexHealth } from "@memslot/indexing";
import {
  type Companion,
  hasTable,
  type LedgerParts,
  type Meta,
  metaKeys,
  perGeneration,
  type Pieces,
  type Transactions,
} from "@memslot/indexing/ledger-tables";
import type Database from "better-sqlite3";
import { createKeywordSearch, createWordlessSearch } from "./keyword-search.ts";
import { WordRepair } from "./repair-words.ts";
import { wordTable } from "./word-tables.ts";

export interface Words extends Pick<Companion, "wrote" | "count" | "tidy" | "compact"> {
  searchKeyword: ReturnType<typeof createKeywordSearch>;
  drop(generation: number): boolean;
  holds(generation: number): boolean;
  part: Companion["parts"]["first"][number];
  health(): IndexHealth["fts"];
}

/** `ftsError`: why words cannot be indexed; undefined if they can. */
export function createWords(parts: LedgerParts, ftsError: string | undefined): Words {
  const { db, meta, transactions } = parts;
  const indexWords = ftsError === undefined;
  const repair = new WordRepair(parts, indexWords);
  const statements = perGeneration((generation) => ({
    insert: db.prepare(`INSERT INTO ${wordTable(generation)} (rowid, terms) VALUES (?, ?)`),
    remove: db.prepare(`DELETE FROM ${wordTable(generation)} WHERE rowid = ?`),
  }));
  return {
    searchKeyword: indexWords ? createKeywordSearch(parts) : createWordlessSearch(parts),
    wrote(generation, { gone, added }) {
      if (!indexWords) return meta.set(metaKeys.wordsStale, "1");
      const { insert, remove } = statements(generation);
      for (const { id } of gone) remove.run(id);
      for (const { id, terms } of added) insert.run(id, terms);
    },
    drop(generation) {
      if (!indexWords || !hasTable(db, wordTable(generation))) return false;
      db.exec(`DROP TABLE ${wordTable(generation)}`);
      return true;
    },
    holds: (generation) => hasTable(db, wordTable(generation)),
    count: (generation) => (indexWords && !areLacking(meta, generation) ? countWords(db, generation) : undefined),
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

/** Pages of FTS5 that one step merges at most. */
const mergePages = 500;

/** Frees the space of removed words in a generation's table. */
async function* mergeWords(db: Database.Database, transactions: Transactions, generation: number): Pieces<void> {
  const table = wordTable(generation);
  const changes = db.prepare<[], number>("SELECT total_changes()").pluck();
  // A negative number starts a full merge, a positive one continues it.
  for (let pages = -mergePages; ; pages = mergePages) {
    const merged = transactions.write(() => {
      if (!hasTable(db, table)) return 0;
      const before = changes.get() ?? 0;
      db.prepare<[number]>(`INSERT INTO ${table} (${table}, rank) VALUES ('merge', ?)`).run(pages);
      return (changes.get() ?? 0) - before;
    });
    yield;
    // FTS5 reports this when there was nothing to do.
    if (merged < 2) return;
  }
}
