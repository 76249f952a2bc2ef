import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import type { Connection } from "@lancedb/lancedb";
import { MemoryError, messageOf } from "@memslot/core";
import settings from "../data/settings.json" with { type: "json" };
import { isGone, toStoreError } from "../lance/store-failure.ts";
import { configError, type LanceOptions } from "../options.ts";
import { type Address, addressOf, folderEnding, type IndexNames } from "./address.ts";
import { closeNative } from "./close-native.ts";
import { createWithin, folderErrors, remoteErrors, type RemoteErrorsInput, type Within } from "./place-errors.ts";
import { ExpiringLeases, type LeaseTiming, leaseTiming } from "./shared/leases.ts";
import { createRedact, storageOptionsOf } from "./shared/storage-options.ts";

/** The module `@lancedb/lancedb`. */
type LanceLibrary = typeof import("@lancedb/lancedb");

/** Goes up when tables change. It begins the name of each: what another release has made is known by it. */
export const layoutVersion = 2;

/** An index at a place: the tables whose names begin so. */
export interface IndexPlace {
  connection: Connection;
  /** For people and status. Holds no key and no query string. */
  location: string;
  /** The name of each table begins with it. Empty but in the cloud, where a project has no folders. */
  tablePrefix: string;
  /** The names of its tables when it was opened, where they had to be read. */
  tables?: readonly string[] | undefined;
}

/** Where the index of one agent lies, opened. */
export interface LancePlace extends IndexPlace {
  kind: "folder" | "bucket" | "cloud";
  /** Absolute. Of a folder only. */
  folder?: string | undefined;
  /** The index as an earlier release has named it, where there is none under its name of today. */
  earlier?: IndexPlace | undefined;
  /** Other indexes of the agent at a place that machines share. */
  others?(): Promise<string[]>;
  /** Of a bucket and of the cloud, which several hosts share. */
  leases?: ExpiringLeases | undefined;
  /** Before something is written: looks once whether the place keeps what several hosts write. Throws where it does not. */
  toWrite?(): Promise<void>;
  /** Every call to LanceDB goes through it. */
  within: Within;
  /** Gives back the leases that are held. */
  close(): Promise<void>;
}

export interface OpenPlaceOptions extends IndexNames {
  lance: LanceOptions;
  /** False: an index that is not there is not made, only one in memory for as long as it is open. */
  mayCreate: boolean;
  /** Gives up opening. */
  signal: AbortSignal;
  /** Of the leases of a bucket and the cloud, where other times than the usual ones are wanted. */
  timing?: LeaseTiming | undefined;
}

/** One small question at most. */
const connectMs = 10_000;

/** LanceDB Cloud answers in time or not at all; by itself its client waits for minutes. Seconds. */
const clientConfig = settings.cloudClient;

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

/** An index below a prefix of a bucket, which several hosts share. */
function openBucket(
  library: LanceLibrary,
  { root, names, uri }: Address & { kind: "bucket" },
  options: OpenPlaceOptions,
): Promise<LancePlace> {
  const storageOptions = storageOptionsOf(options.lance);
  // A table stays at its version until it is looked at: each look is a request.
  const connect = (to: string): Promise<Connection> => library.connect(to, { storageOptions });
  return openShared(options, {
    kind: "bucket",
    errors: remoteErrors(bucketFacts(uri, storageOptions, options.lance)),
    names,
    locationOf: (name) => `${root}/${name}`,
    prefixOf: () => "",
    open: (name) => connect(`${root}/${name}`),
    // LanceDB takes a folder with such a name for a table.
    list: async () => (await (await connect(root)).tableNames()).map((name) => name + folderEnding),
    probes: true,
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
function originOf(address = ""): string | undefined {
  return URL.canParse(address) ? new URL(address).origin : undefined;
}

/** An index in a project of LanceDB Cloud, whose server puts commits in order. */
async function openCloud(
  library: LanceLibrary,
  { uri, names }: Address & { kind: "cloud" },
  options: OpenPlaceOptions,
): Promise<LancePlace> {
  const { apiKey, region, hostOverride } = options.lance;
  if (apiKey === undefined || apiKey === "")
    throw configError("apiKey", 'is missing; write "${LANCEDB_API_KEY}" and set that variable to a key of the project');
  const more = { ...(region !== undefined && { region }), ...(hostOverride !== undefined && { hostOverride }) };
  let opened: Promise<Connection> | undefined;
  const open = (): Promise<Connection> => (opened ??= library.connect(uri, { apiKey, clientConfig, ...more }));
  return await openShared(options, {
    kind: "cloud",
    errors: remoteErrors({
      name: hostOverride === undefined ? uri : `${uri} at ${hostOf(hostOverride)}`,
      noun: "the project",
      place: hostOverride === undefined ? "dbPath" : "hostOverride",
      keys: "apiKey",
      redact: createRedact(options.lance),
    }),
    names,
    locationOf: () => uri,
    prefixOf: (name) => `${name}.`,
    open,
    list: async () => [
      ...new Set((await (await open()).tableNames({ limit: 10_000 })).map((name) => name.replace(/\.[^.]*$/, ""))),
    ],
    probes: false,
  });
}

function hostOf(address: string): string {
  const origin = /^https?:/i.test(address) ? originOf(address) : undefined;
  if (origin !== undefined) return origin;
  throw configError("hostOverride", "is no address; write one that begins with https://");
}

/** What differs between the places that several hosts share. */
interface SharedDriver {
  kind: "bucket" | "cloud";
  errors: ReturnType<typeof remoteErrors>;
  names: readonly string[];
  locationOf(name: string): string;
  prefixOf(name: string): string;
  open(name: string): Promise<Connection>;
  /** The names of all indexes there, as far as that can be found out. */
  list(): Promise<string[]>;
  /** Whether the place may be one that writes a key again that is there already. */
  probes: boolean;
}

/**
 * Opens the index under the first of its names, with the leases of the place. Where there is none, but one under a name
 * that it had before, that one is `earlier`; it is opened itself where its name is still right, or nothing may be made.
 */
async function openShared(
  { mayCreate, signal, timing = leaseTiming, sharedName, name }: OpenPlaceOptions,
  driver: SharedDriver,
): Promise<LancePlace> {
  const { kind, errors, names } = driver;
  const within = createWithin(errors);
  const connections: Connection[] = [];
  async function open(own: string): Promise<IndexPlace> {
    const connection = await within("connecting", connectMs, signal, () => driver.open(own));
    connections.push(connection);
    const tablePrefix = driver.prefixOf(own);
    const list = (): Promise<string[]> => tableNames(connection, tablePrefix);
    const tables = names.length > 1 ? await within("opening the index", connectMs, signal, list) : undefined;
    return { connection, location: driver.locationOf(own), tablePrefix, tables };
  }
  try {
    const [today = "", ...before] = names;
    let used = await open(today);
    let earlier: IndexPlace | undefined;
    for (const own of used.tables?.length === 0 ? before : []) {
      const found = await open(own);
      if (found.tables?.length === 0) continue;
      if (mayCreate && sharedName !== name) earlier = found;
      else used = found;
      break;
    }
    const tableName = `${used.tablePrefix}v${layoutVersion}_leases`;
    const { connection } = used;
    const about = { connection, tableName, placeName: errors.name, probes: driver.probes, within, timing };
    signal.throwIfAborted();
    const leases = new ExpiringLeases(about);
    const agentOf = (own: string): string => own.replace(/-[0-9a-f]{16}(?:\.lance)?$/, "");
    return {
      ...used,
      kind,
      earlier,
      async others() {
        const all = await within("looking for other indexes", connectMs, signal, () => driver.list());
        const others = all.filter((other) => !names.includes(other) && agentOf(other) === agentOf(today));
        return others.map((other) => driver.locationOf(other));
      },
      leases,
      toWrite: async () => void (await leases.toWrite()),
      within,
      async close() {
        await leases.close();
        await closeNative(...connections);
      },
    };
  } catch (error) {
    await closeNative(...connections);
    throw error;
  }
}

/** The names of the tables of an index. */
export async function tableNames(connection: Connection, prefix: string): Promise<string[]> {
  const all = await connection.tableNames(prefix === "" ? {} : { startAfter: prefix, limit: 1000 });
  return all.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
}

/** A call of the store. */
interface Task<Result> {
  /** Begins a message, as in "searching the index". */
  what: string;
  deadlineMs: number;
  /** Ends the wait for it. */
  signal?: AbortSignal | undefined;
  /** Its answer tells what is lost. */
  isListing: boolean;
  /** Forgets what is known of the tables. */
  forget(): void;
  call(): Promise<Result>;
}

/** Makes a call, in time, and tells a failure as a caller can act on it. */
export type Run = <Result>(task: Task<Result>) => Promise<Result>;

export function createRun({ within, location }: Pick<LancePlace, "within" | "location">): Run {
  return async ({ what, deadlineMs, signal, forget, call }) => {
    try {
      return await within(what, deadlineMs, signal, async () => {
        try {
          return await call();
        } catch (error) {
          // What another process has deleted under a reader is read anew.
          if (MemoryError.is(error) || !isGone(error)) throw error;
          forget();
          return await call();
        }
      });
    } catch (error) {
      throw toStoreError(error, location);
    }
  };
}
