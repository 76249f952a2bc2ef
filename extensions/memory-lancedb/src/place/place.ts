import type { Connection } from "@lancedb/lancedb";
import type { IndexLeases } from "@memslot/indexing";
import type { LanceOptions } from "../options.ts";
import type { Within } from "./deadlines.ts";
import type { LeaseTiming } from "./shared/leases.ts";

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
  /** Of a bucket and of the cloud. Of a folder the store makes them. */
  leases?: IndexLeases | undefined;
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
  /** False: nothing is made, and nothing is written before somebody takes a lease. */
  mayCreate: boolean;
  signal: AbortSignal;
  /** Of the leases of a bucket and the cloud, where other times than the usual ones are wanted. */
  timing?: LeaseTiming | undefined;
}
