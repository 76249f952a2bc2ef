import type { KeywordAnswer, KeywordQuery, QueryTerm } from "@memslot/indexing";
import type Database from "better-sqlite3";
import { type ReadRows, type ScoredId } from "./chunk-rows.ts";
import type { Transactions } from "./transactions.ts";

/** From this many chunks on, very common terms are not looked for: the cost of a search follows its matches. */
const pruneFromChunks = 5000;
/** Chunks that may hold a term, as a share of all, before it counts as very common. */
const commonShare = 0.2;
/** Words that are looked at to count what a prefix matches. */
const maxPrefixWords = 1000;

/** Keyword search for a database whose SQLite has FTS5. */
export function createKeywordSearch(
  db: Database.Database,
  transactions: Transactions,
  readRows: ReadRows,
): (query: KeywordQuery) => KeywordAnswer {
  db.exec("CREATE VIRTUAL TABLE temp.chunk_words USING fts5vocab(main, chunks_fts, 'row')");
  const frequency = db.prepare<[string], number>("SELECT doc FROM chunk_words WHERE term = ?").pluck();
  const prefixFrequency = db
    .prepare<[string, string], number>(
      `SELECT coalesce(sum(doc), 0) FROM (SELECT doc FROM chunk_words WHERE term >= ? AND term < ? LIMIT ${maxPrefixWords})`,
    )
    .pluck();
  const countChunks = createChunkCounter(db);
  // One step per source, where DISTINCT would read the whole index.
  const sources = db
    .prepare<[], string>(
      `WITH RECURSIVE known (source) AS (
         SELECT min(source) FROM files
         UNION ALL SELECT (SELECT min(source) FROM files WHERE source > known.source) FROM known WHERE known.source IS NOT NULL
       ) SELECT source FROM known WHERE source IS NOT NULL`,
    )
    .pluck();
  const match = "SELECT rowid AS id, -bm25(chunks_fts) AS score FROM chunks_fts WHERE chunks_fts MATCH :match";
  const order = "ORDER BY score DESC, id LIMIT :limit";
  const searchAll = db.prepare<[Record<string, unknown>], ScoredId>(`${match} ${order}`);
  // The plus keeps FTS5 from running the whole match once for each of the ids.
  const searchSources = db.prepare<[Record<string, unknown>], ScoredId>(
    `${match} AND +rowid IN (
       SELECT c.id FROM files f JOIN chunks c ON c.file_id = f.id WHERE f.source IN (SELECT value FROM json_each(:sources))
     ) ${order}`,
  );

  function countMatches({ term, prefix }: QueryTerm, chunkCount: number): number {
    if (!prefix) return frequency.get(term) ?? 0;
    return Math.min(chunkCount, prefixFrequency.get(term, `${term}\u{10ffff}`) ?? 0);
  }

  return (query) =>
    transactions.read(() => {
      const chunkCount = countChunks();
      const terms = query.terms.map(({ term, prefix }) => ({ term: foldAscii(term), prefix }));
      const documentFrequencies = terms.map((term) => countMatches(term, chunkCount));
      const asked = chooseTerms(terms, documentFrequencies, chunkCount);
      if (asked.length === 0) return { rows: [], chunkCount, documentFrequencies };

      const parameters = { match: asked.map(quote).join(" OR "), limit: query.limit };
      const ranked = sources.all().every((source) => query.sources.includes(source))
        ? searchAll.all(parameters)
        : searchSources.all({ ...parameters, sources: JSON.stringify(query.sources) });
      return { rows: readRows(ranked), chunkCount, documentFrequencies };
    });
}

/** Chunks in the database, all sources together; counted in the smallest index. */
export function createChunkCounter(db: Database.Database): () => number {
  const count = db.prepare<[], number>("SELECT count(*) FROM chunks").pluck();
  return () => count.get() ?? 0;
}

/** Leaves out terms that match nothing, and in a large index very common ones while a rarer one is there to find. */
function chooseTerms(terms: readonly QueryTerm[], frequencies: readonly number[], chunkCount: number): QueryTerm[] {
  const limit = chunkCount > pruneFromChunks ? chunkCount * commonShare : chunkCount;
  const matching = terms.filter((_, index) => (frequencies[index] ?? 0) > 0);
  const rare = terms.filter((_, index) => (frequencies[index] ?? 0) > 0 && (frequencies[index] ?? 0) <= limit);
  const asked = new Map((rare.length > 0 ? rare : matching).map((term) => [quote(term), term]));
  return [...asked.values()];
}

/** A term as a string of the query language of FTS5, in which no character means anything but itself. */
function quote({ term, prefix }: QueryTerm): string {
  return `"${term.replaceAll('"', '""')}"${prefix ? " *" : ""}`;
}

/** The index folds A-Z and nothing else; what is looked up there has to be folded in the same way. */
function foldAscii(term: string): string {
  return term.replaceAll(/[A-Z]+/gu, (letters) => letters.toLowerCase());
}
