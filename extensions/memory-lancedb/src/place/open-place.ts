import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { MemoryError, messageOf } from "@memslot/core";
import { configError, type LanceOptions } from "../options.ts";
import { type Address, addressOf } from "./address.ts";
import { closeNative } from "./close-native.ts";
import type { LanceLibrary, LancePlace, OpenPlaceOptions } from "./place.ts";
import { createWithin, folderErrors, type RemoteErrorsInput, remoteErrors } from "./place-errors.ts";
import { leaseTiming } from "./shared/leases.ts";
import { openShared } from "./shared/shared-place.ts";
import { createRedact, storageOptionsOf } from "./shared/storage-options.ts";

/** LanceDB Cloud answers in time or not at all; by itself its client waits for minutes. Seconds. */
const clientConfig = {
  retryConfig: { retries: 2, connectRetries: 1, readRetries: 1 },
  timeoutConfig: { timeout: 30, connectTimeout: 5, readTimeout: 15 },
};

/**
 * Opens the place that `dbPath` names. Throws `CONFIG` for an option that cannot be used, and `UNAVAILABLE` where
 * LanceDB does not load, or where the place cannot be reached or does not keep what several hosts write.
 */
export async function openPlace(options: OpenPlaceOptions): Promise<LancePlace> {
  const address = addressOf(options);
  const library = await loadLibrary();
  if (address.kind === "folder") return openFolder(library, address.folder, options.mayCreate);
  if (address.kind === "bucket") return openBucket(library, address, options);
  return openCloud(library, address, options);
}

/**
 * Loads LanceDB, which is native. Throws `UNAVAILABLE` where there is no binary for this machine, as on a Mac with an
 * Intel processor, or where it will not load.
 */
async function loadLibrary(): Promise<LanceLibrary> {
  // Its log goes to the error stream of whoever runs this. What it warns of reaches the user as an error of ours.
  process.env["LANCEDB_LOG"] ??= "error";
  try {
    return await import("@lancedb/lancedb");
  } catch (error) {
    throw new MemoryError("UNAVAILABLE", libraryMessage(error, process.platform, process.arch), { cause: error });
  }
}

/** What to do where LanceDB does not load. Takes platform and processor in the words of Node. */
export function libraryMessage(error: unknown, platform: string, processor: string): string {
  const machine = `${platform}-${processor}`;
  if (machine === "darwin-x64")
    return `LanceDB has no binary for ${machine}; set plugins.slots.memory to "memory-core", or use another machine`;
  return `LanceDB cannot be loaded on ${machine}: ${messageOf(error)}; install @lancedb/lancedb again with its optional dependencies, or set plugins.slots.memory to "memory-core"`;
}

/**
 * An index in a folder of this machine. Where it is not there and must not be made, nothing is written: the place is
 * an empty one in memory.
 */
async function openFolder(library: LanceLibrary, folder: string, mayCreate: boolean): Promise<LancePlace> {
  const isThere = existsSync(folder);
  if (!isThere && mayCreate) await makeFolder(folder);
  const uri = isThere || mayCreate ? folder : "memory://nothing";
  const connection = await library.connect(uri);
  return {
    kind: "folder",
    connection,
    location: folder,
    folder,
    tablePrefix: "",
    within: createWithin(folderErrors(folder)),
    close: () => closeNative(connection),
  };
}

async function makeFolder(folder: string): Promise<void> {
  try {
    // What an index holds is for its owner alone.
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new MemoryError(
      "UNAVAILABLE",
      `the folder ${folder} for the index cannot be made: ${messageOf(error)}; make it, or set plugins.entries.memory-lancedb.config.dbPath to another one`,
      { cause: error },
    );
  }
}

/** An index below a prefix of a bucket. */
async function openBucket(
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

/** An index in a project of LanceDB Cloud, whose server puts commits in order. */
async function openCloud(
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
      name: hostOverride === undefined ? address.uri : `${address.uri} at ${hostOf(hostOverride)}`,
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

function hostOf(address: string): string {
  if (URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)) return new URL(address).origin;
  throw configError("hostOverride", "is no address; write one that begins with https://");
}
