import type { MessagePort } from "node:worker_threads";
import type { MemoryErrorCode } from "@memslot/core";
import type { IndexHealth } from "../../index-row-types.ts";
import type { LedgerOptions } from "../ledger.ts";

export interface OpenOptions extends Omit<LedgerOptions, "oneShot" | "signal"> {
  /** What a store keeps in the same file: the address of the module that makes it, and what is handed to it. */
  companion?: { module: string; settings: unknown } | undefined;
  /** The store keeps vectors of its own: it is owed those that come into the cache. */
  keepsOwnVectors?: boolean | undefined;
  busyTimeoutMs: number;
  /** The file that was found damaged while open (`fileIdentity`), and the reason. */
  damaged?: { identity: string; reason: string } | undefined;
  /** How often it has been opened: the revision of another file may have the same number. */
  opening?: string | undefined;
  /** The disk had no space for a first index: what was written of it is deleted, and the index is kept in memory. */
  isFull?: boolean | undefined;
  moves?: number | undefined;
  remade?: number | undefined;
}

/** `open` with `OpenOptions` (answered with the method list), `close`, or a call of the ledger or its extension. */
export interface Request {
  id: number;
  method: string;
  args: readonly unknown[];
}

export interface Reply {
  id: number;
  result?: unknown;
  error?: { code: MemoryErrorCode; message: string; cause?: string | undefined } | undefined;
  health?: IndexHealth | undefined;
}

/** What a thread is sent for each ledger that it is to serve. */
export interface Joining {
  ledger: number;
  port: MessagePort;
  left: Int32Array;
}
