import type Database from "better-sqlite3";
import { sqlOf } from "../sql.ts";

/** Makes the tables of a companion for a new generation, inside the transaction that makes it. */
export type BeginTables = (db: Database.Database, generation: number) => void;

export const applicationId = 0x6d736c74;
/** Incremented when tables change. Files with a higher version are left alone, others are migrated. */
export const schemaVersion = 4;

/** Five vectors of 1,536 float32 numbers fit into a page of this size, only two into half of it. */
export const pageBytes = 32_768;
const cacheKibibytes = 32_768;
const walKeptBytes = 8 * 1024 * 1024;
const walPages = 500;

const tables = {
  meta: "key TEXT PRIMARY KEY, value TEXT NOT NULL",
  /** Per store: one `active`, at most one `next`, and `dropped` ones. Numbers are never reused. */
  generations: `id INTEGER PRIMARY KEY AUTOINCREMENT, store TEXT NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL,
    started_at INTEGER NOT NULL, built_at INTEGER`,
  files: `id INTEGER PRIMARY KEY, generation INTEGER NOT NULL, path TEXT NOT NULL, source TEXT NOT NULL,
    hash TEXT NOT NULL, mtime REAL NOT NULL, size INTEGER NOT NULL, recipe TEXT NOT NULL, cursor TEXT,
    chunks INTEGER NOT NULL, chunk_bytes INTEGER NOT NULL, UNIQUE (generation, source, path)`,
  /** The chunks of all generations: the file of a chunk names its generation. */
  chunks: `id INTEGER PRIMARY KEY, file_id INTEGER NOT NULL, start_line INTEGER NOT NULL, end_line INTEGER NOT NULL,
    context TEXT NOT NULL, text TEXT NOT NULL, hash BLOB NOT NULL`,
  spaces: `id INTEGER PRIMARY KEY, provider TEXT NOT NULL, model TEXT NOT NULL, provider_key TEXT NOT NULL,
    dims INTEGER NOT NULL, written_at INTEGER NOT NULL, UNIQUE (provider, model, provider_key, dims)`,
  /** A vector has two rows: a small one with owner and last use, often updated, and a large one with the numbers. */
  embedding_cache: `hash BLOB NOT NULL, space_id INTEGER NOT NULL, used_at INTEGER NOT NULL, vector_id INTEGER NOT NULL,
    PRIMARY KEY (hash, space_id)`,
  vectors: "id INTEGER PRIMARY KEY, embedding BLOB NOT NULL",
  quarantine: `hash BLOB NOT NULL, space_id INTEGER NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (hash, space_id)`,
  /** Vectors that are pending for a store that keeps its own. */
  owed_vectors: `store TEXT NOT NULL, space_id INTEGER NOT NULL, hash BLOB NOT NULL,
    PRIMARY KEY (store, space_id, hash)`,
  /** Vectors that such a store has from another host. */
  adopted_vectors: `hash BLOB NOT NULL, store TEXT NOT NULL, space_id INTEGER NOT NULL,
    PRIMARY KEY (hash, store, space_id)`,
};
const withoutRowId: ReadonlySet<string> = new Set(
  "meta embedding_cache quarantine owed_vectors adopted_vectors".split(" "),
);

/** Fails if a table or a column is missing; the last one reads an index of the table, which may be damaged alone. */
export const probes: readonly string[] = [
  ...Object.entries(tables).map(([name, columns]) => {
    const names = columns.match(/(?<=^|, *\n? *)[a-z_]+(?= )/gu) ?? [];
    return `SELECT ${names.join(", ")} FROM ${name} LIMIT 1`;
  }),
  "SELECT 1 FROM files LIMIT 1",
];

export function setPragmas(db: Database.Database): void {
  db.pragma(`page_size = ${pageBytes}`);
  db.pragma("synchronous = NORMAL");
  // What is deleted may be a secret.
  db.pragma("secure_delete = FAST");
  // No mmap: truncation of a mapped file ends the process with SIGBUS.
  db.pragma("mmap_size = 0");
  db.pragma(`cache_size = -${cacheKibibytes}`);
  db.pragma("temp_store = MEMORY");
  db.pragma(`wal_autocheckpoint = ${walPages}`);
  db.pragma(`journal_size_limit = ${walKeptBytes}`);
}

export function createTables(db: Database.Database, store: string, begin: BeginTables): void {
  for (const [name, columns] of Object.entries(tables))
    db.exec(`CREATE TABLE ${name} (${columns})${withoutRowId.has(name) ? " WITHOUT ROWID" : ""}`);
  // With the lines, so that the end of a long file is found without reading its beginning.
  db.exec("CREATE INDEX chunks_by_file ON chunks (file_id, start_line)");
  addGeneration(db, { store, name: "", state: "active", begin });
  db.pragma(`application_id = ${applicationId}`);
  db.pragma(`user_version = ${schemaVersion}`);
}

export function addGeneration(
  db: Database.Database,
  generation: { store: string; name: string; state: "active" | "next"; begin: BeginTables },
): number {
  const { store, name, state, begin } = generation;
  const insert = db.prepare("INSERT INTO generations (store, name, state, started_at) VALUES (?, ?, ?, ?)");
  const id = Number(insert.run(store, name, state, Date.now()).lastInsertRowid);
  begin(db, id);
  return id;
}

export function hasTable(db: Database.Database, name: string): boolean {
  return sqlOf(db).value("SELECT 1 FROM sqlite_schema WHERE name = ?", name) !== undefined;
}
