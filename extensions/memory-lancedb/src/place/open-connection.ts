import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import type { Connection, ConnectionOptions } from "@lancedb/lancedb";
import { MemoryError, messageOf } from "@memslot/core";
import settings from "../data/settings.json" with { type: "json" };
import {
  type Address,
  addressOf,
  configError,
  indexEnding,
  type IndexNames,
  type LanceOptions,
  optionKey,
  originOf,
  storageOptionsOf,
} from "./address.ts";
import { closeNative } from "./close-native.ts";
import { createWithin, type PlaceErrors, remoteErrors, type Within } from "./failures.ts";

/** An open connection to one agent's index: a folder, a prefix in a bucket, or tables of a LanceDB Cloud project. */
export interface LancePlace {
  kind: Address["kind"];
  connection: Connection;
  /** For messages and status. Contains no key and no query string. */
  location: string;
  name: string;
  folder?: string | undefined;
  /** Starts the name of each table. Empty except in LanceDB Cloud, where a project has no folders. */
  tablePrefix: string;
  within: Within;
  others?: (() => Promise<string[]>) | undefined;
  close(): Promise<void>;
}

export interface OpenPlaceOptions extends IndexNames {
  lance: LanceOptions;
  /** False: a missing index is not created; the index is kept in memory. */
  mayCreate: boolean;
  signal: AbortSignal;
}

interface Driver extends Pick<LancePlace, "folder" | "tablePrefix" | "location"> {
  uri: string;
  options?: Partial<ConnectionOptions>;
  errors: PlaceErrors;
  name?: string;
  list?(connection: Connection, connect: (uri: string) => Promise<Connection>): Promise<[name: string, at: string][]>;
}

const connectMs = 10_000;

/** Throws `CONFIG` for an invalid option, `UNAVAILABLE` if LanceDB does not load or the place cannot be reached. */
export async function openPlace(options: OpenPlaceOptions): Promise<LancePlace> {
  const address = addressOf(options);
  const { connect } = await loadLibrary();
  const driver =
    address.kind === "folder"
      ? await folderDriver(address, options.mayCreate)
      : address.kind === "bucket"
        ? bucketDriver(address, options.lance)
        : cloudDriver(address, options.lance);
  const { uri, errors, name: own = "", list, location, folder, tablePrefix } = driver;
  const { signal } = options;
  const within = createWithin(errors);
  const open = async (to: string): Promise<Connection> =>
    within("connecting", connectMs, signal, () => connect(to, driver.options));
  const connection = await open(uri);
  const agentOf = (name: string): string => name.replace(/-[0-9a-f]{16}(?:\.lance)?$/, "");
  const others =
    list &&
    (async (): Promise<string[]> => {
      const all = await within("listing other indexes", connectMs, signal, () => list(connection, open));
      return all.filter(([name]) => name !== own && agentOf(name) === agentOf(own)).map(([, at]) => at);
    });
  const { kind } = address;
  const close = (): Promise<void> => closeNative(connection);
  return { kind, connection, location, name: errors.name, folder, tablePrefix, within, others, close };
}

async function loadLibrary(): Promise<typeof import("@lancedb/lancedb")> {
  // LanceDB logs to stderr, which belongs to the program that uses memslot.
  process.env["LANCEDB_LOG"] ??= "error";
  try {
    return await import("@lancedb/lancedb");
  } catch (error) {
    throw new MemoryError("UNAVAILABLE", libraryMessage(error, process.platform, process.arch), { cause: error });
  }
}

export function libraryMessage(error: unknown, platform: string, processor: string): string {
  const machine = `${platform}-${processor}`;
  if (machine === "darwin-x64")
    return `LanceDB has no binary for ${machine}; set plugins.slots.memory to "memory-core", or use another machine`;
  return `LanceDB cannot be loaded on ${machine}: ${messageOf(error)}; install @lancedb/lancedb again with its optional dependencies, or set plugins.slots.memory to "memory-core"`;
}

async function folderDriver({ folder }: Address & { kind: "folder" }, mayCreate: boolean): Promise<Driver> {
  const isThere = existsSync(folder);
  if (!isThere && mayCreate)
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
    } catch (error) {
      throw new MemoryError(
        "UNAVAILABLE",
        `the folder ${folder} for the index cannot be created: ${messageOf(error)}; create it, or set ${optionKey("dbPath")} to another one`,
        { cause: error },
      );
    }
  const errors = { name: folder, patience: "check whether the disk answers, and try again" };
  const uri = isThere || mayCreate ? folder : "memory://nothing";
  return { uri, location: folder, folder, tablePrefix: "", errors };
}

function bucketDriver({ root, name }: Address & { kind: "bucket" }, lance: LanceOptions): Driver {
  const storageOptions = storageOptionsOf(lance);
  const { endpoint, aws_endpoint, azure_endpoint } = storageOptions;
  const uri = `${root}/${name}`;
  return {
    uri,
    location: uri,
    tablePrefix: "",
    options: { storageOptions },
    errors: remoteErrors({
      name: atServer(uri, originOf(endpoint ?? aws_endpoint ?? azure_endpoint)),
      noun: "the bucket",
      place: "dbPath",
      keys: "storageOptions",
      lance,
    }),
    name,
    async list(_connection, connect) {
      const above = await connect(root);
      // LanceDB lists a prefix with this ending as a table.
      const names = (await above.tableNames()).map((each) => each + indexEnding);
      await closeNative(above);
      return names.map((each) => [each, `${root}/${each}`]);
    },
  };
}

function cloudDriver({ uri, name }: Address & { kind: "cloud" }, lance: LanceOptions): Driver {
  const { apiKey = "", region, hostOverride } = lance;
  if (apiKey === "")
    throw configError("apiKey", 'is missing; write "${LANCEDB_API_KEY}" and set that variable to a key of the project');
  const host = hostOverride !== undefined && /^https?:/i.test(hostOverride) ? originOf(hostOverride) : undefined;
  if (hostOverride !== undefined && host === undefined)
    throw configError("hostOverride", "is not an address; write one that begins with https://");
  const where = { ...(region !== undefined && { region }), ...(hostOverride !== undefined && { hostOverride }) };
  return {
    uri,
    location: uri,
    tablePrefix: `${name}.`,
    options: { apiKey, clientConfig: settings.cloudClient, ...where },
    errors: remoteErrors({
      name: atServer(uri, host),
      noun: "the project",
      place: hostOverride === undefined ? "dbPath" : "hostOverride",
      keys: "apiKey",
      lance,
    }),
    name,
    async list(connection) {
      const tables = await connection.tableNames({ limit: 10_000 });
      const names = new Set(tables.map((each) => each.replace(/\.[^.]*$/, "")));
      return Array.from(names, (each) => [each, `${uri} (${each})`]);
    },
  };
}

function atServer(uri: string, server: string | undefined): string {
  return server === undefined ? uri : `${uri} at ${server}`;
}
