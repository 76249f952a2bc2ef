import type { LanceOptions } from "../options.ts";
import type { Address } from "./address.ts";
import type { LanceLibrary, LancePlace, OpenPlaceOptions } from "./place.ts";
import { type RemoteErrorsInput, remoteErrors } from "./place-errors.ts";
import { openShared } from "./shared/shared-place.ts";
import { leaseTiming } from "./shared/leases.ts";
import { createRedact, storageOptionsOf } from "./shared/storage-options.ts";

/** An index below a prefix of a bucket. */
export async function openBucket(
  library: LanceLibrary,
  address: Address & { kind: "bucket" },
  { lance, timing, signal }: OpenPlaceOptions,
): Promise<LancePlace> {
  const storageOptions = storageOptionsOf(lance);
  return openShared({
    kind: "bucket",
    location: address.uri,
    tablePrefix: "",
    errors: remoteErrors(bucketFacts(address.uri, storageOptions, lance)),
    // A table stays at its version until it is looked at: each look is a request.
    connect: () => library.connect(address.uri, { storageOptions }),
    probes: true,
    timing: timing ?? leaseTiming,
    signal,
  });
}

function bucketFacts(uri: string, options: Record<string, string>, lance: LanceOptions): RemoteErrorsInput {
  const endpoint = originOf(options["endpoint"] ?? options["aws_endpoint"] ?? options["azure_endpoint"]);
  return {
    name: endpoint === undefined ? uri : `${uri} at ${endpoint}`,
    noun: "the bucket",
    place: "dbPath",
    keys: "storageOptions",
    redact: createRedact(lance),
  };
}

/** Protocol, host and port of an address: no name, no password, no query. */
function originOf(address: string | undefined): string | undefined {
  return address !== undefined && URL.canParse(address) ? new URL(address).origin : undefined;
}
