import type Database from "better-sqlite3";
import { type Generations, type Meta, metaKeys, type Transactions } from "@memslot/indexing/ledger-tables";
import { createWordIndex, wordTable } from "./word-tables.ts";

/** The tokenizer: the words of a text, joined by spaces. */
export type IndexTerms = (text: string) => string;

/** Chunks in one transaction: some ten milliseconds. */
const batchChunks = 64;

/** Loads the tokenizer when it is first needed: an index whose words are in order does without. */
async function loadIndexTerms(): Promise<IndexTerms> {
  const { indexTerms } = await import("@memslot/indexing");
  return indexTerms;
}

/** The text of a chunk that its words are made of. */
function wordsText({ text, context }: { text: string; context: string }): string {
  return `${text}\n${context}`;
}

/**
 * Puts an empty table of words in place of that of a generation, and notes that its chunks lack their words.
 * The caller has begun the transaction. Throws where SQLite cannot even drop what is there.
 */
export function emptyWords(db: Database.Database, meta: Meta, generation: number): void {
  db.exec(`DROP TABLE IF EXISTS ${wordTable(generation)}; ${createWordIndex(generation)}`);
  noteMissingWords(meta, generation);
}

export function noteMissingWords(meta: Meta, generation: number): void {
  meta.set(`${metaKeys.wordsMissing}${generation}`, "1");
}

/** Indexes the words of chunks that lack them, from the texts in the index: no note is read. */
export interface WordRebuild {
  /** Does a batch of it. True: there is more. Several processes may be at it at once. */
  step(): Promise<boolean>;
}

export function createWordRebuild(input: {
  db: Database.Database;
  meta: Meta;
  transactions: Transactions;
  generations: Generations;
  /** False where this SQLite has no FTS5. */
  indexWords: boolean;
  loadTerms?: () => Promise<IndexTerms>;
}): WordRebuild {
  const { db, meta, transactions, generations, indexWords, loadTerms = loadIndexTerms } = input;
  /** How far each generation is, so that what is done is not looked at again. */
  const doneTo = new Map<number, number>();
  let indexTerms: IndexTerms | undefined;

  function next(): number | undefined {
    const key = indexWords ? meta.startingWith(metaKeys.wordsMissing)[0]?.key : undefined;
    return key === undefined ? undefined : Number(key.slice(metaKeys.wordsMissing.length));
  }

  function fill(generation: number, terms: IndexTerms): void {
    const chunks = !generations.live().includes(generation)
      ? []
      : missingWords(db, generation, doneTo.get(generation) ?? 0);
    if (chunks.length < batchChunks) {
      meta.delete(`${metaKeys.wordsMissing}${generation}`);
      doneTo.delete(generation);
    } else {
      doneTo.set(generation, chunks.at(-1)?.id ?? 0);
    }
    if (chunks.length === 0) return;
    const insert = db.prepare(`INSERT INTO ${wordTable(generation)} (rowid, terms) VALUES (?, ?)`);
    for (const chunk of chunks) insert.run(chunk.id, terms(wordsText(chunk)));
  }

  return {
    async step() {
      const due = next();
      if (due === undefined) return false;
      const terms = (indexTerms ??= await loadTerms());
      transactions.write(() => {
        // Another process may have done it meanwhile.
        const generation = next();
        if (generation !== undefined) fill(generation, terms);
      });
      return next() !== undefined;
    },
  };
}

/** The row of a chunk in the table of words is known by its count of them. */
function missingWords(
  db: Database.Database,
  generation: number,
  after: number,
): { id: number; text: string; context: string }[] {
  return db
    .prepare<[number, number], { id: number; text: string; context: string }>(
      `SELECT c.id, c.text, c.context FROM chunks c CROSS JOIN files f ON f.id = c.file_id AND f.generation = ?
       WHERE c.id > ? AND NOT EXISTS (SELECT 1 FROM ${wordTable(generation)}_docsize d WHERE d.id = c.id)
       ORDER BY c.id LIMIT ${batchChunks}`,
    )
    .all(generation, after);
}
