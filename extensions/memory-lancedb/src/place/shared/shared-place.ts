import type { Connection } from "@lancedb/lancedb";
import { closeNative } from "../close-native.ts";
import { createLeaseRows, createLeaseTable } from "./lease-table.ts";
import { type LeaseTiming, ExpiringLeases } from "./leases.ts";
import { type LancePlace, layoutVersion } from "../place.ts";
import { createWithin, type PlaceErrors } from "../place-errors.ts";

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
  timing: LeaseTiming;
  signal: AbortSignal;
}

/** Opens a place that other hosts have open too, and makes their leases. Nothing is written before something has to be. */
export async function openShared(input: SharedPlaceInput): Promise<LancePlace> {
  const { kind, location, tablePrefix, errors, timing, signal } = input;
  const within = createWithin(errors);
  const connection = await within("connecting", connectMs, signal, input.connect);
  try {
    const tableName = `${tablePrefix}v${layoutVersion}_leases`;
    const table = createLeaseTable({ connection, tableName, placeName: errors.name, probes: input.probes, within });
    signal.throwIfAborted();
    const leases = new ExpiringLeases(createLeaseRows(table, within, Date.now), timing, Date.now);
    return {
      kind,
      connection,
      location,
      tablePrefix,
      leases,
      toWrite: async () => void (await table.toWrite()),
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
