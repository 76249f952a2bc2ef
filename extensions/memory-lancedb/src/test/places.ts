import type { ObjectStorage } from "@memslot/fakes/object-storage";
import { expect, onTestFinished } from "vitest";
import { inBucket } from "../../test/support/stores.ts";
import type { LanceOptions } from "../place/address.ts";
import { createRun } from "../place/failures.ts";
import { type LancePlace, openPlace, type OpenPlaceOptions } from "../place/open-connection.ts";
import { Leases, type LeaseTiming } from "../tables/leases.ts";
import { Tables } from "../tables/tables.ts";

/** Long enough that nothing happens by itself. */
export const calm: LeaseTiming = { expiryMs: 60_000, heartbeatMs: 60_000 };

interface LeaseOptions {
  timing?: LeaseTiming;
  now?: () => number;
}

/** A place and its leases, which are closed after the test. As in a store that may write, the leases are prepared. */
export async function open(
  lance: LanceOptions,
  { timing = calm, now, ...more }: Partial<OpenPlaceOptions> & LeaseOptions = {},
): Promise<LancePlace & { leases: Leases | undefined }> {
  const { signal } = new AbortController();
  const place = await openPlace({ lance, agentId: "main", stateDir: "/nowhere", mayCreate: true, signal, ...more });
  const tables = new Tables(place.connection, place.tablePrefix);
  const about = { tables, run: createRun(place), placeName: place.name, probes: place.kind === "bucket" };
  const leases = place.kind === "folder" ? undefined : new Leases({ ...about, timing, now });
  onTestFinished(async () => {
    await leases?.close();
    await place.close();
  });
  if (more.mayCreate !== false) await leases?.prepare();
  return { ...place, leases };
}

/** The leases of a host that has opened the bucket. */
export async function leasesIn(storage: ObjectStorage, options: LeaseOptions = {}): Promise<Leases> {
  return (await open(inBucket(storage), options)).leases ?? expect.fail("a bucket has leases");
}

/** The error of a call that must fail. */
export async function errorOf(call: Promise<unknown>): Promise<Error & { code?: string }> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof Error) return error;
  throw new Error(`no error: ${String(error)}`);
}

/** Everything that a log could show of an error. */
export function allTextOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return [error.message, error.stack, error.cause === undefined ? "" : allTextOf(error.cause)].join("\n");
}
