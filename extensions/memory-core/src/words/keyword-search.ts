import type { IndexKeywordAnswer, KeywordQuery } from "@memslot/indexing";
import type Database from "better-sqlite3";
import {
  countChunks,
  filterParameters,
  isAsked,
  type LedgerParts,
  metaKeys,
  readRows,
  type ScoredId,
} from "@memslot/indexing/ledger-tables";
import { createScopedKeywordSearch, type ScopedKeywordSearch } from "./scoped-keyword-search.ts";
import { type AskWords, findBounded } from "./bounded-keyword-query.ts";
import { createWordCounts, type WordCounts } from "./word-counts.ts";
import { wordTable } from "./word-tables.ts";

/** Keyword search for a database whose SQLite has FTS5. */
export function createKeywordSearch({
  db,
  meta,
  transactions,
  generations,
}: LedgerParts): (query: KeywordQuery) => IndexKeywordAnswer {
  let prepared: Statements | undefined;
  let preparedScoped: { generation: number; search: ScopedKeywordSearch } | undefined;

  function statementsOf(generation: number): Statements {
    if (prepared?.generation !== generation) prepared = prepareStatements(db, generation);
    return prepared;
  }

  function scopedSearchOf(generation: number): ScopedKeywordSearch {
    if (preparedScoped?.generation !== generation)
      preparedScoped = { generation, search: createScopedKeywordSearch(db, generation) };
    return preparedScoped.search;
  }

  function search(query: KeywordQuery): IndexKeywordAnswer {
    const generation = generations.active().id;
    const terms = query.terms.map(({ term, prefix }) => ({ term: foldAscii(term), prefix }));
    const isLacking = meta.get(`${metaKeys.wordsMissing}${generation}`) !== undefined;
    const lack = isLacking ? { incomplete: "the words of the index are being rebuilt" } : {};
    if (query.scope) return { ...scopedSearchOf(generation)(query, terms), ...lack };
    const statements = statementsOf(generation);
    const chunkCount = statements.countChunks();
    const counted = statements.countAll(terms);
    const documentFrequencies = counted.map(({ chunks }) => chunks);
    const present = statements.sources.all({ generation });
    // Sources without a file are not searched.
    if (!present.some((source) => query.sources.includes(source)))
      return { rows: [], chunkCount, documentFrequencies, ...lack };
    const isForAll = present.every((source) => query.sources.includes(source));
    const { find, findNth } = isForAll ? statements.all : statements.ofSources;
    const filter = isForAll ? {} : filterParameters(generation, query);
    const ask: AskWords = (match, newest) => {
      const first = newest === undefined ? undefined : findNth.get({ ...filter, match, skipped: newest - 1 });
      return find.all({ ...filter, match, first: first ?? null, limit: query.limit });
    };
    const asked = counted.filter(({ chunks }) => chunks > 0);
    const ranked = findBounded(asked, query.limit, { ask, wordsWith: statements.wordsWith });
    return { rows: readRows(db, ranked), chunkCount, documentFrequencies, ...lack };
  }

  return (query) => {
    try {
      return transactions.read(() => search(query));
    } catch (error) {
      // Statements of a rolled-back transaction are invalid.
      prepared = undefined;
      preparedScoped = undefined;
      throw error;
    }
  };
}

type Statements = ReturnType<typeof prepareStatements>;

interface FindStatements {
  find: Database.Statement<[Record<string, unknown>], ScoredId>;
  /** The chunk from which on so many of those that match were written. */
  findNth: Database.Statement<[Record<string, unknown>], number>;
}

function prepareStatements(
  db: Database.Database,
  generation: number,
): WordCounts & {
  generation: number;
  sources: Database.Statement<[{ generation: number }], string>;
  all: FindStatements;
  ofSources: FindStatements;
} {
  const words = wordTable(generation);
  // The unary plus keeps FTS5 from running the match once per id.
  const ofSources = `AND +rowid IN (SELECT c.id FROM files f JOIN chunks c ON c.file_id = f.id WHERE ${isAsked(false)})`;
  const finding = (filter: string): FindStatements => ({
    find: db.prepare(
      `SELECT rowid AS id, -bm25(${words}) AS score FROM ${words}
       WHERE ${words} MATCH :match AND rowid >= ifnull(:first, 0) ${filter} ORDER BY score DESC, id LIMIT :limit`,
    ),
    findNth: db
      .prepare<[Record<string, unknown>], number>(
        `SELECT rowid FROM ${words} WHERE ${words} MATCH :match ${filter} ORDER BY rowid DESC LIMIT 1 OFFSET :skipped`,
      )
      .pluck(),
  });
  return {
    ...createWordCounts(db, generation),
    generation,
    // One step per source; DISTINCT would read the whole index.
    sources: db
      .prepare<[{ generation: number }], string>(
        `WITH RECURSIVE known (source) AS (
           SELECT min(source) FROM files WHERE generation = :generation
           UNION ALL
           SELECT (SELECT min(source) FROM files WHERE generation = :generation AND source > known.source) FROM known
           WHERE known.source IS NOT NULL
         ) SELECT source FROM known WHERE source IS NOT NULL`,
      )
      .pluck(),
    all: finding(""),
    ofSources: finding(ofSources),
  };
}

/** For SQLite without FTS5: finds nothing. */
export function createWordlessSearch({
  db,
  transactions,
  generations,
}: LedgerParts): (query: KeywordQuery) => IndexKeywordAnswer {
  return ({ terms }) => ({
    rows: [],
    chunkCount: transactions.read(() => countChunks(db, generations.active().id)),
    documentFrequencies: terms.map(() => 0),
  });
}

/** The index folds A-Z only, so queries must do the same. */
function foldAscii(term: string): string {
  return term.replaceAll(/[A-Z]+/gu, (letters) => letters.toLowerCase());
}
