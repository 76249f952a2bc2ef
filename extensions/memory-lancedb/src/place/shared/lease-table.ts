import type { Connection, Table } from "@lancedb/lancedb";
import { MemoryError } from "@memslot/core";
import { type Cell, type Columns, schemaOf, tableOf } from "../../tables/arrow-rows.ts";
import { isConflict, isGone, toStoreError } from "../../store-failure.ts";
import { retryConflicts } from "../../tables/writes.ts";
import type { PlaceLease } from "../place.ts";
import { type Within, callMs } from "../place-errors.ts";
import { deleteLeftProbes, missingConditions, probeConditionalWrites, saysUnsupported } from "./probe.ts";

/** One row for each lease. */
export interface LeaseRow {
  name: string;
  /** Of the holder; empty where nobody holds it. */
  token: string;
  /** When the holder last said that it is alive, in milliseconds since 1970. */
  renewed_at: number;
  /** JSON of a `WriterStatus`; empty where nobody holds it. */
  status: string;
}

/** The table of leases, opened when it is needed. */
export interface LeaseTable {
  /** The place, for people. */
  readonly placeName: string;
  /** Undefined where nobody has made it yet. */
  toRead(): Promise<Table | undefined>;
  /** Makes it where it is not there. The first call looks whether the place keeps what several hosts write. */
  toWrite(): Promise<Table>;
  /** It was deleted, or is another one by now: it is opened anew. */
  forget(): void;
}

export interface LeaseTableInput {
  connection: Connection;
  tableName: string;
  /** The place, for people. */
  placeName: string;
  /** Whether the place may be one that writes a key again that is there already. */
  probes: boolean;
  within: Within;
}

const placeLeases: readonly PlaceLease[] = ["files", "build", "compact"];
const columns: Columns = { name: "key", token: "text", renewed_at: "number", status: "text" };

function freeRow(name: PlaceLease): Record<keyof LeaseRow, Cell> {
  return { name, token: "", renewed_at: 0, status: "" };
}

export function createLeaseTable(input: LeaseTableInput): LeaseTable {
  const { connection, tableName, within } = input;
  let opened: Table | undefined;
  let isProbed = !input.probes;

  async function open(): Promise<Table | undefined> {
    try {
      opened ??= await within("opening the table of leases", callMs, undefined, () => connection.openTable(tableName));
      return opened;
    } catch (error) {
      if (isGone(error) && !MemoryError.is(error)) return undefined;
      throw error;
    }
  }

  /** First without rows: of several hosts that make a table with rows at once, one overwrites what another has written. */
  async function make(): Promise<Table> {
    const tryOnce = async (): Promise<Table> => {
      const table = await connection.createEmptyTable(tableName, schemaOf(columns), { existOk: true });
      const rows = tableOf(
        columns,
        placeLeases.map((name) => freeRow(name)),
      );
      await table.mergeInsert("name").whenNotMatchedInsertAll().execute(rows);
      return table;
    };
    // Hosts that make it at the same moment refuse each other; the next try finds it there.
    return within("making the table of leases", callMs, undefined, () => retryConflicts(tryOnce));
  }

  async function probe(table: Table): Promise<void> {
    if (isProbed) return;
    if (!(await probeConditionalWrites(table, within))) throw missingConditions(input.placeName);
    isProbed = true;
  }

  return {
    placeName: input.placeName,
    toRead: open,
    forget() {
      opened = undefined;
    },
    async toWrite() {
      const known = await open();
      try {
        opened = known ?? (await make());
        await probe(opened);
        return opened;
      } catch (error) {
        const refused = saysUnsupported(error) ? missingConditions(input.placeName, error) : error;
        // Nothing of it stays in a place that is not used.
        if (known === undefined && opened !== undefined && !isProbed) {
          opened = undefined;
          await connection.dropTable(tableName).catch(() => undefined);
        }
        throw refused;
      }
    },
  };
}

/** True where there was none of this name. */
async function addMissing(table: Table, name: PlaceLease): Promise<boolean> {
  if ((await table.countRows(`name = '${name}'`)) > 0) return false;
  await table
    .mergeInsert("name")
    .whenNotMatchedInsertAll()
    .execute(tableOf(columns, [freeRow(name)]));
  return true;
}

const attempts = 6;

/** Each so many versions old ones are deleted, by whoever makes that version: each sign of life makes one. */
const trimEvery = 64;

/** Nobody needs an old version after this time: a call that reads one takes no longer. */
const keepMs = 600_000;

/** The rows of leases, read and changed one at a time. */
export interface LeaseRows {
  /** Undefined where nobody has ever taken a lease here. */
  read(name: PlaceLease): Promise<LeaseRow | undefined>;
  /**
   * Changes the row where the condition holds. Of several that do so at once LanceDB lets one win and looks at the
   * condition again for the others. Throws where others never let it through.
   */
  change(name: PlaceLease, condition: string, values: Partial<Omit<LeaseRow, "name">>): Promise<void>;
}

export function createLeaseRows(source: LeaseTable, within: Within, now: () => number): LeaseRows {
  const run = <T>(call: () => Promise<T>): Promise<T> => within("keeping a lease", callMs, undefined, call);

  async function trim(table: Table): Promise<void> {
    try {
      await run(async () => deleteLeftProbes(await table.tags(), now()));
      await run(() => table.optimize({ cleanupOlderThan: new Date(now() - keepMs) }));
    } catch {
      // Old versions only take space. The next one to come by tries again.
    }
  }

  /** Somebody may have deleted the index, and with it the table: then it is opened or made once more. */
  async function withTable<T>(
    open: () => Promise<Table | undefined>,
    use: (table: Table) => Promise<T>,
  ): Promise<T | undefined> {
    const useOnce = async (): Promise<T | undefined> => {
      const table = await open();
      // Others change it all the time.
      await (table && run(() => table.checkoutLatest()));
      return table && (await use(table));
    };
    try {
      return await useOnce().catch(async (error: unknown) => {
        if (MemoryError.is(error) || !isGone(error)) throw error;
        source.forget();
        return await useOnce();
      });
    } catch (error) {
      // Who meets another host asks again.
      throw isConflict(error) ? error : toStoreError(error, `${source.placeName}, at its leases,`);
    }
  }

  return {
    async read(name) {
      return await withTable(source.toRead, (table) =>
        run(async () => {
          const [row] = (await table.query().where(`name = '${name}'`).toArray()) as LeaseRow[];
          return row;
        }),
      );
    },
    async change(name, condition, values) {
      const where = `name = '${name}' AND (${condition})`;
      await withTable(source.toWrite, async (table) => {
        const update = async (): Promise<{ version: number; rowsUpdated: number }> =>
          await retryConflicts(() => run(() => table.update({ where, values })), attempts);
        let { version, rowsUpdated } = await update();
        // A table that an earlier release has made lacks a row.
        if (rowsUpdated === 0 && (await retryConflicts(() => run(() => addMissing(table, name)), attempts)))
          ({ version, rowsUpdated } = await update());
        if (version > 0 && version % trimEvery === 0) await trim(table);
      });
    },
  };
}
