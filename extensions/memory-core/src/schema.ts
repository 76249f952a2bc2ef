import type Database from "better-sqlite3";

/** Marks a file as an index of memslot: the letters `mslt`. */
export const applicationId = 0x6d736c74;
/** Goes up when tables change. A file with a higher number is left alone, one with a lower number is brought up to this. */
export const schemaVersion = 2;

/** A vector of 1,536 float32 numbers fits five times into such a page, into one of half the size only twice. */
const pageBytes = 32_768;
const cacheKibibytes = 8192;
const walKeptBytes = 8 * 1024 * 1024;
const walPages = 500;

/**
 * Splits on nothing but spaces and control characters: the words come finished from the tokenizer, and `c++` or
 * `a/b.md` is one of them. Bytes above ASCII are always part of a word here; A-Z are folded, in queries too.
 */
const ftsTokenizer = `ascii tokenchars '${asciiPunctuation().replaceAll("'", "''")}'`.replaceAll('"', '""');

const tables = `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL,
    source TEXT NOT NULL,
    hash TEXT NOT NULL,
    mtime REAL NOT NULL,
    size INTEGER NOT NULL,
    recipe TEXT NOT NULL,
    UNIQUE (source, path)
  );
  CREATE TABLE chunks (
    id INTEGER PRIMARY KEY,
    file_id INTEGER NOT NULL,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    context TEXT NOT NULL,
    text TEXT NOT NULL,
    hash BLOB NOT NULL
  );
  CREATE INDEX chunks_by_file ON chunks (file_id);
`;

/**
 * A vector has two rows: who it belongs to and when it was used last, which is small and often changed or counted, and
 * the numbers, which are large and hardly ever touched.
 */
export const createVectorTables: string = `
  CREATE TABLE spaces (
    id INTEGER PRIMARY KEY,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    provider_key TEXT NOT NULL,
    dims INTEGER NOT NULL,
    written_at INTEGER NOT NULL,
    UNIQUE (provider, model, provider_key, dims)
  );
  CREATE TABLE embedding_cache (
    hash BLOB NOT NULL,
    space_id INTEGER NOT NULL,
    used_at INTEGER NOT NULL,
    vector_id INTEGER NOT NULL,
    PRIMARY KEY (hash, space_id)
  ) WITHOUT ROWID;
  CREATE TABLE vectors (id INTEGER PRIMARY KEY, embedding BLOB NOT NULL);
  CREATE TABLE quarantine (
    hash BLOB NOT NULL,
    space_id INTEGER NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (hash, space_id)
  ) WITHOUT ROWID;
`;

/** Words only, no text: the text stands once, in `chunks`. */
export const createWordIndex: string = `
  CREATE VIRTUAL TABLE chunks_fts USING fts5(terms, content='', contentless_delete=1, tokenize="${ftsTokenizer}")
`;

/** Settings of a connection. The page size only counts for a file that is still empty. */
export function setPragmas(db: Database.Database): void {
  db.pragma(`page_size = ${pageBytes}`);
  db.pragma("synchronous = NORMAL");
  // No mmap: a file that is cut short under a mapping ends the whole process with SIGBUS.
  db.pragma("mmap_size = 0");
  db.pragma(`cache_size = -${cacheKibibytes}`);
  db.pragma("temp_store = MEMORY");
  db.pragma(`wal_autocheckpoint = ${walPages}`);
  db.pragma(`journal_size_limit = ${walKeptBytes}`);
}

/**
 * Makes the tables, in one transaction with the marks in the header, so that a file is either empty or ours.
 * The caller has begun the transaction.
 */
export function createTables(db: Database.Database, withWords: boolean): void {
  db.exec(tables);
  db.exec(createVectorTables);
  if (withWords) db.exec(createWordIndex);
  db.pragma(`application_id = ${applicationId}`);
  db.pragma(`user_version = ${schemaVersion}`);
}

export function hasTable(db: Database.Database, name: string): boolean {
  return db.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?").get(name) !== undefined;
}

/** True when this build of SQLite can index words. */
export function hasFts(db: Database.Database): boolean {
  return db.prepare("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").get() !== undefined;
}

function asciiPunctuation(): string {
  const codes = Array.from({ length: 0x7f - 0x21 }, (_, offset) => String.fromCharCode(0x21 + offset));
  return codes.filter((character) => !/[a-z0-9]/iu.test(character)).join("");
}
