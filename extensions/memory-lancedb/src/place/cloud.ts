import type { Address } from "./address.ts";
import { leaseTiming } from "./shared/leases.ts";
import type { LanceLibrary, LancePlace, OpenPlaceOptions } from "./place.ts";
import { configError } from "../options.ts";
import { remoteErrors } from "./place-errors.ts";
import { createRedact } from "./shared/storage-options.ts";
import { openShared } from "./shared/shared-place.ts";

/** LanceDB Cloud answers in time or not at all; by itself its client waits for minutes. Seconds. */
const clientConfig = {
  retryConfig: { retries: 2, connectRetries: 1, readRetries: 1 },
  timeoutConfig: { timeout: 30, connectTimeout: 5, readTimeout: 15 },
};

/** An index in a project of LanceDB Cloud, whose server puts commits in order. */
export async function openCloud(
  library: LanceLibrary,
  address: Address & { kind: "cloud" },
  { lance, timing, signal }: OpenPlaceOptions,
): Promise<LancePlace> {
  const { apiKey, region, hostOverride } = lance;
  if (apiKey === undefined || apiKey === "")
    throw configError("apiKey", 'is missing; write "${LANCEDB_API_KEY}" and set that variable to a key of the project');
  return openShared({
    kind: "cloud",
    location: address.uri,
    tablePrefix: address.prefix,
    errors: remoteErrors({
      name: hostOverride === undefined ? address.uri : `${address.uri} at ${originOf(hostOverride)}`,
      noun: "the project",
      place: hostOverride === undefined ? "dbPath" : "hostOverride",
      keys: "apiKey",
      redact: createRedact(lance),
    }),
    connect: () =>
      library.connect(address.uri, {
        apiKey,
        clientConfig,
        ...(region === undefined ? {} : { region }),
        ...(hostOverride === undefined ? {} : { hostOverride }),
      }),
    probes: false,
    timing: timing ?? leaseTiming,
    signal,
  });
}

function originOf(address: string): string {
  if (URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)) return new URL(address).origin;
  throw configError("hostOverride", "is no address; write one that begins with https://");
}
