import type { IndexKeywordAnswer, KeywordQuery, QueryTerm } from "@memslot/indexing";
import type Database from "better-sqlite3";
import { bm25Within, type CountedText, filterParameters, isAsked, readRows } from "@memslot/indexing/ledger-tables";
import { wordTable } from "./word-tables.ts";

/** Keyword search in a scope of one generation, inside a transaction. `terms` are folded. */
export type ScopedKeywordSearch = (query: KeywordQuery, terms: readonly QueryTerm[]) => IndexKeywordAnswer;

/** Scores within the scope only: FTS5 ranks depend on the whole index and would reveal other chunks. */
export function createScopedKeywordSearch(db: Database.Database, generation: number): ScopedKeywordSearch {
  const words = wordTable(generation);
  db.exec(`
    DROP TABLE IF EXISTS temp.word_places;
    CREATE VIRTUAL TABLE temp.word_places USING fts5vocab(main, ${words}, 'instance');
  `);
  // In path order, so that ties are independent of insertion order.
  const filesIn = db
    .prepare<[Record<string, unknown>], number>(
      `SELECT f.id FROM files f WHERE ${isAsked(true)} ORDER BY f.path, f.source`,
    )
    .pluck();
  const chunksOf = db
    .prepare<[number], number>("SELECT id FROM chunks WHERE file_id = ? ORDER BY start_line, id")
    .pluck();
  const holding = db.prepare<[string], number>("SELECT doc FROM word_places WHERE term = ?").pluck();
  const holdingPrefix = db
    .prepare<[string, string], number>("SELECT doc FROM word_places WHERE term >= ? AND term < ?")
    .pluck();
  const lengths = db.prepare<[string], { id: number; size: string }>(
    `SELECT d.id, hex(d.sz) AS size FROM json_each(?) wanted CROSS JOIN ${words}_docsize d ON d.id = wanted.value`,
  );

  function chunksIn(query: KeywordQuery): Map<number, number> {
    const places = new Map<number, number>();
    for (const file of filesIn.all(filterParameters(generation, query)))
      for (const chunk of chunksOf.all(file)) places.set(chunk, places.size);
    return places;
  }

  function countIn(places: ReadonlyMap<number, number>, { term, prefix }: QueryTerm): Map<number, number> {
    const counts = new Map<number, number>();
    const all = prefix ? holdingPrefix.all(term, `${term}\u{10ffff}`) : holding.all(term);
    for (const chunk of all) if (places.has(chunk)) counts.set(chunk, (counts.get(chunk) ?? 0) + 1);
    return counts;
  }

  return (query, terms) => {
    const places = chunksIn(query);
    const counted = terms.map((term) => countIn(places, term));
    const documentFrequencies = counted.map((counts) => counts.size);
    const chunkCount = places.size;
    const texts = new Map<number, CountedText & { counts: Map<number, number> }>();
    for (const [index, counts] of counted.entries()) {
      for (const [chunk, count] of counts) {
        const text = texts.get(chunk) ?? { counts: new Map(), length: 0 };
        text.counts.set(index, count);
        texts.set(chunk, text);
      }
    }
    for (const { id, size } of lengths.iterate(JSON.stringify([...texts.keys()]))) {
      const text = texts.get(id);
      if (text) text.length = varint(size);
    }
    const found = [...texts.keys()];
    const scores = bm25Within([...texts.values()], { chunkCount, documentFrequencies });
    const ranked = found
      .map((id, at) => ({ id, score: scores[at] ?? 0, place: places.get(id) ?? 0 }))
      .toSorted((left, right) => right.score - left.score || left.place - right.place);
    return { rows: readRows(db, ranked.slice(0, query.limit)), chunkCount, documentFrequencies };
  };
}

/** A number as SQLite writes those of unknown size: seven bits a byte, the highest bit says that there is one more. */
function varint(hexadecimal: string): number {
  let value = 0;
  for (const byte of Buffer.from(hexadecimal, "hex")) {
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) break;
  }
  return value;
}
