import type { Connection } from "@lancedb/lancedb";
import type { WriterStatus } from "@memslot/core";
import type { IndexLeases, LeaseName } from "@memslot/indexing";
import type { LanceOptions } from "../options.ts";
import type { Within } from "./place-errors.ts";
import type { LeaseTiming } from "./shared/leases.ts";

/** The module `@lancedb/lancedb`. */
export type LanceLibrary = typeof import("@lancedb/lancedb");

/** Goes up when tables change. It begins the name of each: what another release has made is known by it. */
export const layoutVersion = 2;

/** What one host at a time has the right to do where several share a place: what every index has, and putting tables together. */
export type PlaceLease = LeaseName | "compact";

export interface PlaceLeases extends IndexLeases {
  acquire(name: PlaceLease, reason: string): Promise<boolean>;
  release(name: PlaceLease): Promise<void>;
  holder(name: PlaceLease): Promise<WriterStatus | undefined>;
}

/** Where the index of one agent lies, opened. */
export interface LancePlace {
  kind: "folder" | "bucket" | "cloud";
  connection: Connection;
  /** For people and status. Holds no key and no query string. */
  location: string;
  /** Absolute. Of a folder only. */
  folder?: string | undefined;
  /** The name of each table begins with it. Empty but in the cloud, where a project has no folders. */
  tablePrefix: string;
  /** Of a bucket and of the cloud, which several hosts share. */
  leases?: PlaceLeases | undefined;
  /** Before something is written: looks once whether the place keeps what several hosts write. Throws where it does not. */
  toWrite?(): Promise<void>;
  /** Every call to LanceDB goes through it. */
  within: Within;
  /** Gives back the leases that are held. */
  close(): Promise<void>;
}

export interface OpenPlaceOptions {
  lance: LanceOptions;
  agentId: string;
  /** Where the options name no place. Absent: a folder for the agent below the state folder. */
  folder?: string | undefined;
  stateDir: string;
  /** False: a folder that is not there is not made. */
  mayCreate: boolean;
  signal: AbortSignal;
  /** Of the leases of a bucket and the cloud, where other times than the usual ones are wanted. */
  timing?: LeaseTiming | undefined;
}
