import type { ObjectStorage } from "@memslot/fakes/object-storage";
import { expect } from "vitest";
import { inBucket } from "../../test/support/stores.ts";
import { ExpiringLeases, type LeaseInput, type LeaseTiming } from "../place/shared/leases.ts";
import { open } from "./places.ts";

/** Long enough that nothing happens by itself. */
export const calm: LeaseTiming = { expiryMs: 60_000, heartbeatMs: 60_000, reportMs: 60_000 };

/** The leases of a host that has opened the bucket. */
export async function leasesIn(storage: ObjectStorage, timing: LeaseTiming = calm): Promise<ExpiringLeases> {
  const { leases } = await open(inBucket(storage), { timing });
  return leases ?? expect.fail("a bucket has leases");
}

/** Leases with a clock of their own. */
export async function leasesAt(
  storage: ObjectStorage,
  now: () => number,
  timing: LeaseTiming = calm,
): Promise<ExpiringLeases> {
  return leasesOf(await open(inBucket(storage)), timing, now);
}

export function leasesOf(
  { connection, within }: Pick<LeaseInput, "connection" | "within">,
  timing: LeaseTiming = calm,
  now?: () => number,
): ExpiringLeases {
  const about = { tableName: "v2_leases", placeName: "here", probes: false };
  return new ExpiringLeases({ ...about, connection, within, timing, now });
}
