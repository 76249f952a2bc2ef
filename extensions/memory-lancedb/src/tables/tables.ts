import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { type Connection, Index, type Table } from "@lancedb/lancedb";
import type { VectorSpace } from "@memslot/indexing";
import settings from "../data/settings.json" with { type: "json" };
import { aboutOf, type Columns, schemaOf } from "../lance/rows.ts";
import { closeNative } from "../place/close-native.ts";
import { isConflict, isGone } from "../place/failures.ts";

export const layoutVersion = 2;

/** One row for each file and each chunk. `row` has all that a search reads: in a bucket, each column is a request. */
export const fileColumns: Columns = {
  id: "key",
  source: "text",
  path: "text",
  line: "integer",
  row: "text",
  terms: "text",
};

/** The vectors of one space by the hash of the embedded text. Builds share them. */
export function vectorColumns(dimensions: number): Columns {
  return { hash: "key", vector: { vector: dimensions } };
}

export interface IndexOwner {
  agentId: string;
  workspaceDir: string;
}

export interface BuildFacts {
  index: string;
  owner?: IndexOwner | undefined;
  beside?: readonly string[] | undefined;
  next?: string | undefined;
}

export interface SpaceTable {
  table: Table;
  space: VectorSpace;
}

const stem = `v${layoutVersion}_`;

export function filesTable(number: number): string {
  return `${stem}files_${number}`;
}

export function vectorsTable(spaceId: string): string {
  return `${stem}vectors_${spaceId}`;
}

export const leasesTable: string = `${stem}leases`;

export function partOf(name: string, kind: "files" | "vectors"): string | undefined {
  const start = `${stem}${kind}_`;
  return name.startsWith(start) ? name.slice(start.length) : undefined;
}

export function layoutOf(name: string): number | undefined {
  const [, layout] = /^v(\d+)_(?:files|vectors)_/.exec(name) ?? [];
  return layout === undefined ? undefined : Number(layout);
}

export function spaceId({ provider, model, providerKey, dimensions }: VectorSpace): string {
  const text = JSON.stringify([provider, model, providerKey, dimensions]);
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

export class Tables {
  /** The names that the last listing found, and those opened or created since. */
  readonly listed: Set<string> = new Set();
  /** Called before a table is deleted. */
  beforeDrop: ((name: string) => Promise<void>) | undefined;
  readonly #connection: Connection;
  readonly #prefix: string;
  readonly #opened = new Map<string, Table>();

  constructor(connection: Connection, prefix: string) {
    this.#connection = connection;
    this.#prefix = prefix;
  }

  async list(): Promise<string[]> {
    const prefix = this.#prefix;
    const all = await this.#connection.tableNames(prefix === "" ? {} : { startAfter: prefix, limit: 1000 });
    const names = all.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
    this.listed.clear();
    for (const name of names) this.listed.add(name);
    return names;
  }

  own(): string[] {
    return [...this.listed].filter((name) => layoutOf(name) === layoutVersion);
  }

  spaces(): string[] {
    return [...this.listed].flatMap((name) => partOf(name, "vectors") ?? []).toSorted();
  }

  async open(name: string, latest: boolean): Promise<Table | undefined> {
    try {
      const known = this.#opened.get(name);
      if (known && latest) await known.checkoutLatest();
      return known ?? this.#keep(name, await this.#connection.openTable(this.#prefix + name));
    } catch (error) {
      this.#opened.delete(name);
      if (!isGone(error)) throw error;
      this.listed.delete(name);
      return undefined;
    }
  }

  async openSpace(id: string, latest: boolean): Promise<SpaceTable | undefined> {
    const table = await this.open(vectorsTable(id), latest);
    return table && { table, space: aboutOf(await table.schema()) as VectorSpace };
  }

  async make(name: string, columns: Columns, about?: unknown): Promise<Table> {
    const known = await this.open(name, false);
    const create = (): Promise<Table> =>
      this.#connection.createEmptyTable(this.#prefix + name, schemaOf(columns, about), { existOk: true });
    return known ?? this.#keep(name, await create());
  }

  async makeFiles(number: number, facts: BuildFacts): Promise<Table> {
    const table = await this.make(filesTable(number), fileColumns, facts);
    // A process that was killed may have left the table without its index.
    if ((await table.indexStats("terms_idx")) === undefined) await makeWordIndex(table);
    return table;
  }

  makeSpace(space: VectorSpace): Promise<Table> {
    return this.make(vectorsTable(spaceId(space)), vectorColumns(space.dimensions), space);
  }

  async drop(name: string): Promise<void> {
    this.#opened.delete(name);
    this.listed.delete(name);
    await this.beforeDrop?.(name);
    await this.#connection.dropTable(this.#prefix + name).catch((error: unknown) => {
      if (!isGone(error)) throw error;
    });
  }

  forget(): void {
    this.#opened.clear();
  }

  async close(): Promise<void> {
    const tables = [...this.#opened.values()];
    this.#opened.clear();
    await closeNative(...tables);
  }

  #keep(name: string, table: Table): Table {
    this.#opened.set(name, table);
    this.listed.add(name);
    return table;
  }
}

/** What was read of tables. Simultaneous callers share one reading. */
export class VersionCache<Value> {
  readonly #kept = new Map<string, { version: number; value: Promise<Value> }>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  async get(name: string, table: Table, read: (version: number) => Promise<Value>): Promise<Value> {
    const version = await table.version();
    const known = this.#kept.get(name);
    if (known?.version === version) return await known.value;
    const entry = { version, value: read(version) };
    this.#kept.delete(name);
    this.#kept.set(name, entry);
    for (const old of this.#kept.keys()) if (this.#kept.size > this.#most) this.#kept.delete(old);
    return await entry.value.catch((error: unknown) => {
      if (this.#kept.get(name) === entry) this.#kept.delete(name);
      throw error;
    });
  }

  /** Follows a write of this process; `change` returns false if the table has to be read again. */
  async follow(name: string, version: number, change: (value: Value) => boolean): Promise<void> {
    const known = this.#kept.get(name);
    const value = await known?.value.catch(() => undefined);
    if (known && value && known.version === version - 1 && change(value)) known.version = version;
    else this.#kept.delete(name);
  }

  clear(): void {
    this.#kept.clear();
  }
}

/** Indexes the words of all chunks again. Words are split at spaces only: the tokenizer of `indexing` has made them. */
export async function makeWordIndex(table: Table): Promise<void> {
  const config = Index.fts({ ...settings.wordIndex, baseTokenizer: "whitespace" });
  await table.createIndex("terms", { config, replace: true });
}

const firstPauseMs = 20;
const longestPauseMs = 2000;

/** Repeats work that conflicts with the write of another process, `attempts` times at most. `met` is called after a conflict. */
export async function retryConflicts<Result>(
  work: () => Promise<Result>,
  attempts = 8,
  met?: () => void,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!isConflict(error)) throw error;
      met?.();
      if (attempt === attempts) throw error;
      const longest = Math.min(longestPauseMs, firstPauseMs * 2 ** attempt);
      await pause(longest * (0.5 + Math.random() / 2));
    }
  }
}
