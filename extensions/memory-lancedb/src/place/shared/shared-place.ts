import type { Connection } from "@lancedb/lancedb";
import { closeNative } from "../close-native.ts";
import { createWithin } from "../deadlines.ts";
import { createLeaseRows } from "./lease-rows.ts";
import { createLeaseTable } from "./lease-table.ts";
import { type LeaseTiming, createExpiringLeases } from "./leases.ts";
import type { LancePlace } from "../place.ts";
import type { PlaceErrors } from "../place-errors.ts";

/** One small question at most. */
const connectMs = 10_000;

/** What differs between the places that several hosts share. */
export interface SharedPlaceInput {
  kind: "bucket" | "cloud";
  location: string;
  tablePrefix: string;
  errors: PlaceErrors;
  connect: () => Promise<Connection>;
  /** Whether the place may be one that writes a key again that is there already. */
  probes: boolean;
  /** False: nothing is made and nothing is written before somebody takes a lease. */
  mayCreate: boolean;
  timing: LeaseTiming;
  signal: AbortSignal;
}

/** Opens a place that other hosts have open too: looks whether it keeps what they write, and makes their leases. */
export async function openShared(input: SharedPlaceInput): Promise<LancePlace> {
  const { kind, location, tablePrefix, errors, timing, signal } = input;
  const within = createWithin(errors);
  const connection = await within("connecting", connectMs, signal, input.connect);
  try {
    const tableName = `${tablePrefix}leases`;
    const table = createLeaseTable({ connection, tableName, placeName: errors.name, probes: input.probes, within });
    if (input.mayCreate) await table.toWrite();
    signal.throwIfAborted();
    const leases = createExpiringLeases(createLeaseRows(table, within, Date.now), timing, Date.now);
    return {
      kind,
      connection,
      location,
      tablePrefix,
      leases,
      within,
      async close() {
        await leases.close();
        await closeNative(connection);
      },
    };
  } catch (error) {
    await closeNative(connection);
    throw error;
  }
}
