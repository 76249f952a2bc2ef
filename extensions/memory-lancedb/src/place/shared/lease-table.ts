import type { Connection, Table } from "@lancedb/lancedb";
import { MemoryError } from "@memslot/core";
import { type Columns, schemaOf } from "../../tables/arrow-rows.ts";
import { isGone } from "../../store-failure.ts";
import { retryConflicts } from "../../tables/retry-conflicts.ts";
import { type Within, callMs } from "../deadlines.ts";
import { missingConditions, probeConditionalWrites, saysUnsupported } from "./probe.ts";

/** One row for each lease, or a few where several hosts have made them at once: they change together. */
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

/** A lease that nobody holds. */
export function freeRow(name: string): Record<string, unknown> & LeaseRow {
  return { name, token: "", renewed_at: 0, status: "" };
}

const columns: Columns = { name: "text", token: "text", renewed_at: "number", status: "text" };

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
      if ((await table.countRows()) === 0) await table.add(["files", "build"].map(freeRow));
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
