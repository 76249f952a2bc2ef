import type Database from "better-sqlite3";

/** Splits at spaces and control characters only: words such as `c++` are prepared. A-Z are folded. */
const ftsTokenizer = `ascii tokenchars '${asciiPunctuation().replaceAll("'", "''")}'`.replaceAll('"', '""');

/** The word table of one generation: one each, so that counts are exact and an old one is dropped at once. */
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
