import type { Table } from "@lancedb/lancedb";
import { MemoryError } from "@memslot/core";
import type { LeaseName } from "@memslot/indexing";
import { isGone } from "../../store-failure.ts";
import { retryConflicts } from "../../tables/retry-conflicts.ts";
import { type Within, callMs } from "../deadlines.ts";
import { type LeaseRow, type LeaseTable, freeRow } from "./lease-table.ts";
import { deleteLeftProbes } from "./probe.ts";

const attempts = 6;

/** Each so many versions old ones are deleted, by whoever makes that version: each sign of life makes one. */
const trimEvery = 64;

/** Nobody needs an old version after this time: a call that reads one takes no longer. */
const keepMs = 600_000;

/** The rows of leases, read and changed one at a time. */
export interface LeaseRows {
  /** Empty where nobody has ever taken this lease here. */
  read(name: LeaseName): Promise<LeaseRow[]>;
  /** Puts one there that is free. Throws where the place does not keep what several hosts write. */
  add(name: LeaseName): Promise<void>;
  /**
   * Changes the row where the condition holds. Of several that do so at once LanceDB lets one win and looks at the
   * condition again for the others. Throws where others never let it through.
   */
  change(name: LeaseName, condition: string, values: Partial<Omit<LeaseRow, "name">>): Promise<void>;
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
    const table = await open();
    try {
      return table && (await use(table));
    } catch (error) {
      if (MemoryError.is(error) || !isGone(error)) throw error;
      source.forget();
      const again = await open();
      return again && (await use(again));
    }
  }

  return {
    async read(name) {
      const rows = await withTable(source.toRead, (table) =>
        run((): Promise<LeaseRow[]> => table.query().where(`name = '${name}'`).toArray()),
      );
      return rows ?? [];
    },
    async add(name) {
      await withTable(source.toWrite, (table) => run(() => table.add([freeRow(name)])));
    },
    async change(name, condition, values) {
      const where = `name = '${name}' AND (${condition})`;
      await withTable(source.toWrite, async (table) => {
        const { version } = await retryConflicts(() => run(() => table.update({ where, values })), attempts);
        if (version > 0 && version % trimEvery === 0) await trim(table);
      });
    },
  };
}
