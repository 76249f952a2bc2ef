import type { VectorSpace } from "@memslot/indexing";
import { allRows, tableOf } from "./arrow-rows.ts";
import { oneOf } from "./filter.ts";
import { isGone } from "../store-failure.ts";
import { type Tables, metaColumns } from "./tables.ts";

/** Goes up when tables change. An index with a higher number is left alone. */
export const layoutVersion = 1;

const metaTable = "meta";

/** `active` answers, at most one is `next`, and what is `dropped` waits to be deleted. No number comes twice. */
export interface Generation {
  id: number;
  name: string;
  state: "active" | "next" | "dropped";
  /** Milliseconds since 1970. */
  startedAt: number;
  builtAt?: number | undefined;
}

/** Whose notes an index holds. */
export interface IndexOwner {
  agentId: string;
  workspaceDir: string;
}

export interface SpaceRecord extends VectorSpace {
  /** Names the table of its vectors. */
  id: string;
  /** Milliseconds since 1970. Later than that of every space that was written to before. */
  writtenAt: number;
}

/** What is known of the index as a whole. */
export interface Meta {
  /** Of the table that this was read from; 0 where there is none. */
  version: number;
  /** Nothing has been written yet. */
  isNew: boolean;
  /** Names this index: one that is made anew in the same place has another. */
  id: string;
  layout: number;
  owner: IndexOwner | undefined;
  active: Generation;
  next: Generation | undefined;
  generations: readonly Generation[];
  /** The highest number that a generation has ever had. */
  lastGeneration: number;
  spaces: readonly SpaceRecord[];
  /** By space: why the provider refuses a text, by its hash. */
  refused: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** By table: the version after which it was tidied last. */
  tidied: ReadonlyMap<string, number>;
}

/** A row as it is written: a key of `metaKeys` and a value that JSON can hold. */
export interface MetaRow {
  key: string;
  value: unknown;
}

export const metaKeys = {
  index: "index",
  owner: "owner",
  generation: (id: number): string => `generation:${id}`,
  lastGeneration: "last-generation",
  space: (id: string): string => `space:${id}`,
  refused: (space: string, hash: string): string => `refused:${space}:${hash}`,
  tidied: (table: string): string => `tidied:${table}`,
};

export interface MetaTable {
  /** As it is now, whichever process has written it last. */
  read(): Promise<Meta>;
  /** Puts rows in place of those of the same keys, all at once, and makes the table where there is none. */
  write(rows: readonly MetaRow[]): Promise<void>;
  remove(keys: readonly string[]): Promise<void>;
}

/** `owner` is recorded with the first row. */
export function createMetaTable(tables: Tables, owner: IndexOwner | undefined): MetaTable {
  let latest: Meta | undefined;
  const empty = metaOf(0, []);

  async function read(): Promise<Meta> {
    try {
      const table = await tables.open(metaTable);
      if (!table) return (latest = empty);
      // Before the rows: what comes between is read once more the next time.
      const version = await table.version();
      if (latest?.version === version) return latest;
      const rows = await allRows<{ key: string; value: string }>(table.query().select(["key", "value"]));
      return (latest = metaOf(version, rows));
    } catch (error) {
      if (!isGone(error)) throw error;
      // Deleted while it was open. The notes are the truth: it is made anew from them.
      tables.forget();
      return (latest = empty);
    }
  }

  return {
    read,
    async write(rows) {
      if (rows.length === 0) return;
      const { isNew } = await read();
      const table = await tables.make(metaTable, metaColumns);
      const all = isNew ? [...firstRows(owner), ...rows] : rows;
      await table
        .mergeInsert("key")
        .whenMatchedUpdateAll()
        .whenNotMatchedInsertAll()
        .execute(
          tableOf(
            metaColumns,
            all.map(({ key, value }) => ({ key, value: JSON.stringify(value) })),
          ),
        );
    },
    async remove(keys) {
      if (keys.length === 0) return;
      const table = await tables.open(metaTable);
      await table?.delete(oneOf("key", keys));
    },
  };
}

function firstRows(owner: IndexOwner | undefined): MetaRow[] {
  return [
    { key: metaKeys.index, value: { id: crypto.randomUUID(), layout: layoutVersion } },
    ...(owner === undefined ? [] : [{ key: metaKeys.owner, value: owner }]),
  ];
}

function metaOf(version: number, rows: readonly { key: string; value: string }[]): Meta {
  const values = new Map(rows.map(({ key, value }) => [key, value]));
  const valueOf = <Value>(key: string): Value | undefined => {
    const text = values.get(key);
    return text === undefined ? undefined : (JSON.parse(text) as Value);
  };
  const below = <Value>(prefix: string): Value[] =>
    [...values].filter(([key]) => key.startsWith(prefix)).map(([, value]) => JSON.parse(value) as Value);
  const index = valueOf<{ id: string; layout: number }>(metaKeys.index);
  const generations = below<Generation>("generation:").toSorted((left, right) => left.id - right.id);
  const active = generations.find(({ state }) => state === "active");
  return {
    version,
    isNew: index === undefined,
    id: index?.id ?? "none",
    layout: index?.layout ?? layoutVersion,
    owner: valueOf<IndexOwner>(metaKeys.owner),
    active: active ?? { id: 1, name: "", state: "active", startedAt: 0 },
    next: generations.find(({ state }) => state === "next"),
    generations,
    lastGeneration: valueOf<number>(metaKeys.lastGeneration) ?? 1,
    spaces: below<SpaceRecord>("space:").toSorted((left, right) => right.writtenAt - left.writtenAt),
    refused: refusedOf(values),
    tidied: tidiedOf(values),
  };
}

function refusedOf(values: ReadonlyMap<string, string>): Meta["refused"] {
  const refused = new Map<string, Map<string, string>>();
  for (const [key, value] of values) {
    const [kind, space = "", hash = ""] = key.split(":");
    if (kind !== "refused") continue;
    const own = refused.get(space) ?? new Map<string, string>();
    refused.set(space, own.set(hash, JSON.parse(value) as string));
  }
  return refused;
}

function tidiedOf(values: ReadonlyMap<string, string>): Meta["tidied"] {
  const prefix = metaKeys.tidied("");
  const rows = [...values].filter(([key]) => key.startsWith(prefix));
  return new Map(rows.map(([key, value]) => [key.slice(prefix.length), JSON.parse(value) as number]));
}
