import type { ObjectStorage } from "@memslot/fakes/object-storage";
import { expect } from "vitest";
import { inBucket } from "../../test/support/stores.ts";
import type { PlaceLeases } from "../place/place.ts";
import { createLeaseRows, createLeaseTable, type LeaseTable } from "../place/shared/lease-table.ts";
import { ExpiringLeases, type LeaseTiming } from "../place/shared/leases.ts";
import { open } from "./places.ts";

/** Long enough that nothing happens by itself. */
export const calm: LeaseTiming = { expiryMs: 60_000, heartbeatMs: 60_000, reportMs: 60_000 };

/** The leases of a host that has opened the bucket. */
export async function leasesIn(storage: ObjectStorage, timing: LeaseTiming = calm): Promise<PlaceLeases> {
  const { leases } = await open(inBucket(storage), { timing });
  return leases ?? expect.fail("a bucket has leases");
}

/** Leases with a clock of their own. */
export async function leasesAt(
  storage: ObjectStorage,
  now: () => number,
  timing: LeaseTiming = calm,
): Promise<ExpiringLeases> {
  const { connection, within } = await open(inBucket(storage));
  return new ExpiringLeases(createLeaseRows(tableIn({ connection, within }), within, now), timing, now);
}

export function tableIn(place: Pick<Parameters<typeof createLeaseTable>[0], "connection" | "within">): LeaseTable {
  return createLeaseTable({ ...place, tableName: "v2_leases", placeName: "here", probes: false });
}
