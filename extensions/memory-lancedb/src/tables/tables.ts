import { createHash } from "node:crypto";
import { type Connection, Index, type Table } from "@lancedb/lancedb";
import type { VectorSpace } from "@memslot/indexing";
import settings from "../data/settings.json" with { type: "json" };
import { closeNative } from "../place/close-native.ts";
import { layoutVersion, tableNames } from "../place/place.ts";
import { isGone } from "../lance/store-failure.ts";
import { aboutOf, type Columns, schemaOf } from "../lance/arrow-rows.ts";

/**
 * The files of one build and their chunks. A file has one row for itself, each chunk has one: all that belongs to a file
 * is written in one commit. `row` holds all that a search or a listing wants to know, in one column, as in a bucket each
 * column is a request; `source`, `path` and `line` are there to be filtered by.
 */
export const fileColumns: Columns = {
  id: "key",
  source: "text",
  path: "text",
  line: "integer",
  row: "text",
  terms: "text",
};

/** The vectors of one space, each once, by the hash of what was embedded, whatever build has chunks with it. */
export function vectorColumns(dimensions: number): Columns {
  return { hash: "key", vector: { vector: dimensions } };
}

/** A word is whatever stands between spaces: the tokenizer of `indexing` has made them, and no other is to touch them. */
const wordIndex = { ...settings.wordIndex, baseTokenizer: "whitespace" } as const;

/** Whose notes an index holds. */
export interface IndexOwner {
  agentId: string;
  workspaceDir: string;
}

/** Stands in the schema of a table of files. */
export interface BuildFacts {
  /** Names this index: one that is made anew in the same place has another. */
  index: string;
  owner?: IndexOwner | undefined;
  /** Other indexes of the agent that were at the place when this one was made. */
  beside?: readonly string[] | undefined;
  /** The name of a build that was begun beside another one. */
  next?: string | undefined;
}

export interface SpaceTable {
  table: Table;
  space: VectorSpace;
}

/** The tables of one index, opened when they are needed and kept open at the version that was looked at last. */
export interface Tables {
  names(): Promise<string[]>;
  /** Undefined where it is not there. With `look` it is brought to its newest version. */
  open(name: string, look: boolean): Promise<Table | undefined>;
  /** The same, of a space. */
  openSpace(id: string, look: boolean): Promise<SpaceTable | undefined>;
  /** Opens it, or makes it empty. */
  makeFiles(number: number, facts: BuildFacts): Promise<Table>;
  makeSpace(space: VectorSpace): Promise<Table>;
  drop(name: string): Promise<void>;
  /** Forgets what is open: a table may have been deleted, or be another one under the same name. */
  forget(): void;
  close(): Promise<void>;
}

const stem = `v${layoutVersion}_`;

export function filesTable(number: number): string {
  return `${stem}files_${number}`;
}

export function vectorsTable(space: string): string {
  return `${stem}vectors_${space}`;
}

/** The number of a build, or the id of a space, if it is the name of such a table. */
export function partOf(name: string, kind: "files" | "vectors"): string | undefined {
  const start = `${stem}${kind}_`;
  return name.startsWith(start) ? name.slice(start.length) : undefined;
}

/** The layout of the release that has made this table; undefined for one that is none of ours. */
export function layoutOf(name: string): number | undefined {
  if (/^(?:meta$|chunks_\d|vectors_)/.test(name)) return 1;
  const [, layout] = /^v(\d+)_(?:files|vectors)_/.exec(name) ?? [];
  return layout === undefined ? undefined : Number(layout);
}

/** Names the table of a space: the same on every machine. */
export function spaceId({ provider, model, providerKey, dimensions }: VectorSpace): string {
  const text = JSON.stringify([provider, model, providerKey, dimensions]);
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

/** `prefix` stands before each name, where other agents have tables at the same place. */
export function createTables(connection: Connection, prefix: string): Tables {
  const opened = new Map<string, Table>();

  async function open(name: string, look: boolean): Promise<Table | undefined> {
    try {
      const known = opened.get(name);
      if (!known) {
        const table = await connection.openTable(prefix + name);
        opened.set(name, table);
        return table;
      }
      if (look) await known.checkoutLatest();
      return known;
    } catch (error) {
      opened.delete(name);
      if (isGone(error)) return undefined;
      throw error;
    }
  }

  async function make(name: string, columns: Columns, about: unknown): Promise<Table> {
    const known = await open(name, false);
    if (known) return known;
    const table = await connection.createEmptyTable(prefix + name, schemaOf(columns, about), { existOk: true });
    opened.set(name, table);
    return table;
  }

  return {
    names: () => tableNames(connection, prefix),
    open,
    async openSpace(id, look) {
      const table = await open(vectorsTable(id), look);
      return table && { table, space: aboutOf(await table.schema()) as VectorSpace };
    },
    async makeFiles(number, facts) {
      const table = await make(filesTable(number), fileColumns, facts);
      // Also of a table that is there: whoever made it may have ended before it had one.
      if ((await table.indexStats("terms_idx")) === undefined) await makeWordIndex(table);
      return table;
    },
    makeSpace: (space) => make(vectorsTable(spaceId(space)), vectorColumns(space.dimensions), space),
    async drop(name) {
      // Not closed: a search may be about to ask it.
      opened.delete(name);
      try {
        await connection.dropTable(prefix + name);
      } catch (error) {
        if (!isGone(error)) throw error;
      }
    },
    forget: () => opened.clear(),
    async close() {
      const tables = [...opened.values()];
      opened.clear();
      await closeNative(...tables);
    },
  };
}

/** Makes it from the words of all chunks, in place of one that may still hold those of chunks that are gone. */
export async function makeWordIndex(table: Table): Promise<void> {
  await table.createIndex("terms", { config: Index.fts(wordIndex), replace: true });
}
