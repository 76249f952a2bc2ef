import type { IndexKeywordAnswer, KeywordQuery, QueryTerm } from "@memslot/indexing";
import type Database from "better-sqlite3";
import { worthAsking } from "@memslot/indexing/ledger-tables";
import {
  createChunkCounter,
  filterParameters,
  type Generations,
  isAsked,
  type Meta,
  metaKeys,
  type ReadRows,
  type ScoredId,
  type Transactions,
} from "@memslot/indexing/ledger-tables";
import { createScopedKeywordSearch, type ScopedKeywordSearch } from "./scoped-keyword-search.ts";
import { wordTable } from "./word-tables.ts";

/** Words that are looked at to count what a prefix matches. */
const maxPrefixWords = 1000;

/** Keyword search for a database whose SQLite has FTS5. */
export function createKeywordSearch(input: {
  db: Database.Database;
  meta: Meta;
  transactions: Transactions;
  generations: Generations;
  readRows: ReadRows;
}): (query: KeywordQuery) => IndexKeywordAnswer {
  const { db, meta, transactions, generations, readRows } = input;
  let prepared: Statements | undefined;
  let preparedScoped: { generation: number; search: ScopedKeywordSearch } | undefined;

  function statementsOf(generation: number): Statements {
    if (prepared?.generation !== generation) prepared = prepareStatements(db, generation);
    return prepared;
  }

  function scopedSearchOf(generation: number): ScopedKeywordSearch {
    if (preparedScoped?.generation !== generation)
      preparedScoped = { generation, search: createScopedKeywordSearch(db, generation, readRows) };
    return preparedScoped.search;
  }

  function search(query: KeywordQuery): IndexKeywordAnswer {
    const generation = generations.active().id;
    const terms = query.terms.map(({ term, prefix }) => ({ term: foldAscii(term), prefix }));
    const isLacking = meta.get(`${metaKeys.wordsMissing}${generation}`) !== undefined;
    const lack = isLacking ? { incomplete: "the words of the index are being made anew" } : {};
    if (query.scope) return { ...scopedSearchOf(generation)(query, terms), ...lack };
    const statements = statementsOf(generation);
    const chunkCount = statements.countChunks.get() ?? 0;
    const documentFrequencies = terms.map((term) => countMatches(statements, term, chunkCount));
    const holders = (_term: QueryTerm, index: number): number => documentFrequencies[index] ?? 0;
    const present = statements.sources.all({ generation });
    // Most indexes have nothing of some kind of memory: what holds no file is not searched.
    if (!present.some((source) => query.sources.includes(source)))
      return { rows: [], chunkCount, documentFrequencies, ...lack };
    const isForAll = present.every((source) => query.sources.includes(source));
    const find = (asked: readonly QueryTerm[]): ScoredId[] => {
      if (asked.length === 0) return [];
      const parameters = { match: [...new Set(asked.map(quote))].join(" OR "), limit: query.limit };
      if (isForAll) return statements.searchAll.all(parameters);
      return statements.searchSources.all({ ...parameters, ...filterParameters(generation, query) });
    };
    const asked = worthAsking(terms, holders, chunkCount);
    let ranked = find(asked);
    // The rarer words may all stand in other sources: then the common ones are the question.
    if (ranked.length === 0 && !isForAll) {
      const rest = terms.filter((term, index) => holders(term, index) > 0 && !asked.includes(term));
      ranked = find(rest);
    }
    return { rows: readRows(ranked), chunkCount, documentFrequencies, ...lack };
  }

  return (query) => {
    try {
      return transactions.read(() => search(query));
    } catch (error) {
      // What was made within the transaction is gone with it.
      prepared = undefined;
      preparedScoped = undefined;
      throw error;
    }
  };
}

type Statements = ReturnType<typeof prepareStatements>;

/** Only one generation answers at a time. Called inside a transaction. */
function prepareStatements(
  db: Database.Database,
  generation: number,
): {
  generation: number;
  frequency: Database.Statement<[string], number>;
  prefixFrequency: Database.Statement<[string, string], number>;
  countChunks: Database.Statement<[], number>;
  sources: Database.Statement<[{ generation: number }], string>;
  searchAll: Database.Statement<[Record<string, unknown>], ScoredId>;
  searchSources: Database.Statement<[Record<string, unknown>], ScoredId>;
} {
  const words = wordTable(generation);
  db.exec(`
    DROP TABLE IF EXISTS temp.chunk_words;
    CREATE VIRTUAL TABLE temp.chunk_words USING fts5vocab(main, ${words}, 'row');
  `);
  const match = `SELECT rowid AS id, -bm25(${words}) AS score FROM ${words} WHERE ${words} MATCH :match`;
  const order = "ORDER BY score DESC, id LIMIT :limit";
  // The plus keeps FTS5 from running the whole match once for each of the ids.
  const within = `${match} AND +rowid IN (
       SELECT c.id FROM files f JOIN chunks c ON c.file_id = f.id WHERE ${isAsked(false)}
     ) ${order}`;
  return {
    generation,
    frequency: db.prepare<[string], number>("SELECT doc FROM chunk_words WHERE term = ?").pluck(),
    prefixFrequency: db
      .prepare<[string, string], number>(
        `SELECT coalesce(sum(doc), 0) FROM (SELECT doc FROM chunk_words WHERE term >= ? AND term < ? LIMIT ${maxPrefixWords})`,
      )
      .pluck(),
    // The smallest table that has one row for each chunk.
    countChunks: db.prepare<[], number>(`SELECT count(*) FROM ${words}_docsize`).pluck(),
    // One step per source, where DISTINCT would read the whole index.
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
    searchAll: db.prepare<[Record<string, unknown>], ScoredId>(`${match} ${order}`),
    searchSources: db.prepare<[Record<string, unknown>], ScoredId>(within),
  };
}

/** For a database whose SQLite has no FTS5: nothing is found. */
export function createWordlessSearch(
  db: Database.Database,
  transactions: Transactions,
  generations: Generations,
): (query: KeywordQuery) => IndexKeywordAnswer {
  const countChunks = createChunkCounter(db);
  return ({ terms }) => ({
    rows: [],
    chunkCount: transactions.read(() => countChunks(generations.active().id)),
    documentFrequencies: terms.map(() => 0),
  });
}

function countMatches({ frequency, prefixFrequency }: Statements, { term, prefix }: QueryTerm, most: number): number {
  if (!prefix) return frequency.get(term) ?? 0;
  return Math.min(most, prefixFrequency.get(term, `${term}\u{10ffff}`) ?? 0);
}

/** A term as a string of the query language of FTS5, in which no character means anything but itself. */
function quote({ term, prefix }: QueryTerm): string {
  return `"${term.replaceAll('"', '""')}"${prefix ? " *" : ""}`;
}

/** The index folds A-Z and nothing else; what is looked up there has to be folded in the same way. */
function foldAscii(term: string): string {
  return term.replaceAll(/[A-Z]+/gu, (letters) => letters.toLowerCase());
}
