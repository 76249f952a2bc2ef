import { type Connection, Index, type Table } from "@lancedb/lancedb";
import { type Columns, schemaOf } from "./arrow-rows.ts";
import { closeNative } from "../place/close-native.ts";
import { isGone } from "../store-failure.ts";

/** One row for each thing that is to be known of the index as a whole. */
export const metaColumns: Columns = { key: "text", value: "text" };

/**
 * The files of one build and their chunks. A file has one row with its `facts`, and is there with that row alone; each
 * chunk has one row without. All that belongs to a file is written in one commit, so no reader ever sees a half of it.
 */
export const chunkColumns: Columns = {
  id: "number",
  source: "text",
  path: "text",
  start_line: "integer",
  end_line: "integer",
  bytes: "integer",
  text: "text",
  context: "text",
  terms: "text",
  hash: "text",
  facts: "text",
};

/**
 * The vectors of one space, each once, by the hash of what was embedded. `sources` says for which kinds of memory a
 * search has to look at it, as far as that was known when it was written: see `vector-listing.ts`.
 */
export function vectorColumns(dimensions: number): Columns {
  return { hash: "text", sources: "text", vector: { vector: dimensions } };
}

/** A word is whatever stands between spaces: the tokenizer of `indexing` has made them, and no other is to touch them. */
const wordIndex = {
  baseTokenizer: "whitespace",
  lowercase: false,
  stem: false,
  removeStopWords: false,
  asciiFolding: false,
  withPosition: false,
  maxTokenLength: 1_000_000,
} as const;

/** The tables of one index, opened when they are needed. What another process has written is seen with the next call. */
export interface Tables {
  /** Undefined where it is not there. */
  open(name: string): Promise<Table | undefined>;
  /** Opens it, or makes it empty, with what its searches need. */
  make(name: string, columns: Columns): Promise<Table>;
  drop(name: string): Promise<void>;
  /** Forgets what is open: a table may have been deleted, or be another one under the same name. */
  forget(): void;
  names(): Promise<string[]>;
  /** Runs work that writes or deletes files and is no call of the store. */
  changing<Result>(work: () => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

/** `prefix` stands before each name, where other agents have tables at the same place. */
export function createTables(
  connection: Connection,
  prefix: string,
  changing: Tables["changing"] = (work) => work(),
): Tables {
  const opened = new Map<string, Table>();
  /** Those that are known to have what their searches need. */
  const checked = new WeakSet<Table>();

  return {
    async open(name) {
      const known = opened.get(name);
      if (known) return known;
      try {
        const table = await connection.openTable(prefix + name);
        opened.set(name, table);
        return table;
      } catch (error) {
        if (isGone(error)) return undefined;
        throw error;
      }
    },
    async make(name, columns) {
      const known = opened.get(name);
      if (known && checked.has(known)) return known;
      const table =
        (await this.open(name)) ??
        (await connection.createEmptyTable(prefix + name, schemaOf(columns), { existOk: true }));
      // Also of a table that is there: whoever made it may have ended before it had one.
      if ("terms" in columns) await ensureWordIndex(table);
      opened.set(name, table);
      checked.add(table);
      return table;
    },
    async drop(name) {
      // Not closed: a search may be about to ask it.
      opened.delete(name);
      try {
        await connection.dropTable(prefix + name);
      } catch (error) {
        if (!isGone(error)) throw error;
      }
    },
    changing,
    forget: () => opened.clear(),
    async names() {
      const all = await connection.tableNames();
      return all.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
    },
    async close() {
      const tables = [...opened.values()];
      opened.clear();
      await closeNative(...tables);
    },
  };
}

/** The index of the words, which is there from the beginning: without it LanceDB searches no words at all. */
export async function ensureWordIndex(table: Table): Promise<void> {
  const indices = await table.listIndices();
  if (indices.some(({ columns }) => columns.includes("terms"))) return;
  await makeWordIndex(table);
}

/** Makes it from the words of all chunks, in place of one that may still hold those of chunks that are gone. */
export async function makeWordIndex(table: Table): Promise<void> {
  await table.createIndex("terms", { config: Index.fts(wordIndex), replace: true });
}
