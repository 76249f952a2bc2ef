import type Database from "better-sqlite3";

/**
 * Splits on nothing but spaces and control characters: the words come finished from the tokenizer, and `c++` or
 * `a/b.md` is one of them. Bytes above ASCII are always part of a word here; A-Z are folded, in queries too.
 */
const ftsTokenizer = `ascii tokenchars '${asciiPunctuation().replaceAll("'", "''")}'`.replaceAll('"', '""');

/**
 * The words of one generation: only words, no text, which stands once, in `chunks`. A table for each generation, so that
 * no search has to tell one from the other, how often a word stands there is counted in one alone, and the old one goes at once.
 */
export function wordTable(generation: number): string {
  return `chunks_fts_${generation}`;
}

export function createWordIndex(generation: number): string {
  return `CREATE VIRTUAL TABLE ${wordTable(generation)} USING fts5(terms, content='', contentless_delete=1, tokenize="${ftsTokenizer}");`;
}

/** True when this build of SQLite can index words. */
export function hasFts(db: Database.Database): boolean {
  return db.prepare("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").get() !== undefined;
}

function asciiPunctuation(): string {
  const codes = Array.from({ length: 0x7f - 0x21 }, (_, offset) => String.fromCharCode(0x21 + offset));
  return codes.filter((character) => !/[a-z0-9]/iu.test(character)).join("");
}
