import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { mkdir, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { acquireLock, replaceFile } from "@memslot/core/files";
import { type ClientId, clientIds } from "@memslot/core";
import type { Connection, ConnectScope } from "@memslot/indexing/host";

export interface ReceiptFile {
  readonly path: string;
  /** With links followed. */
  readonly target: string;
  /** The backup in the folder of the receipts; undefined if there was no file. */
  readonly backup?: string | undefined;
  /** Folders that were created for it, innermost first. */
  readonly madeFolders: readonly string[];
  /** SHA-256 of the written text. A different one shows that another program has changed the file. */
  readonly after: string;
}

/** The record of a connection, by which it can be removed. */
export interface Receipt {
  readonly version: 1;
  readonly client: ClientId;
  readonly scope: ConnectScope;
  readonly projectDir?: string | undefined;
  readonly at: string;
  readonly server: Connection["server"];
  readonly keys?: Connection["keys"] | undefined;
  readonly hook?: string | undefined;
  readonly files: readonly ReceiptFile[];
}

/** What identifies a connection. */
export type ConnectionKey = Pick<Receipt, "client" | "scope" | "projectDir">;
export type Receipts = ReturnType<typeof openReceipts>;

const waitMs = 10_000;

/** The receipts of all connections: files below the state folder, with the backups beside them. */
export function openReceipts(stateDir: string) {
  const folder = path.join(stateDir, "connections");
  const read = (name: string): Receipt | undefined => {
    try {
      const value: unknown = JSON.parse(readFileSync(path.join(folder, name), "utf8"));
      return isReceipt(value) ? value : undefined;
    } catch {
      return undefined;
    }
  };
  return {
    pathOf: (name: string): string => path.join(folder, path.basename(name)),
    get: (which: ConnectionKey): Receipt | undefined => read(`${nameOf(which)}.json`),
    all(): Receipt[] {
      let names: string[];
      try {
        names = readdirSync(folder);
      } catch {
        return []; // Nothing was connected yet.
      }
      return names
        .filter((name) => name.endsWith(".json"))
        .toSorted()
        .flatMap((name) => read(name) ?? []);
    },
    save: (receipt: Receipt): Promise<void> =>
      replaceFile(path.join(folder, `${nameOf(receipt)}.json`), `${JSON.stringify(receipt, undefined, 2)}\n`),
    remove: (receipt: ConnectionKey): Promise<void> =>
      rm(path.join(folder, `${nameOf(receipt)}.json`), { force: true }),
    /** Stores a text as the backup of a file; returns its name. */
    async keep(receipt: ConnectionKey, target: string, text: string): Promise<string> {
      const name = `${nameOf(receipt)}.${hashOf(target)}.${hashOf(text)}.backup`;
      await replaceFile(path.join(folder, name), text);
      return name;
    },
    backup: (name: string): Promise<string> => readFile(path.join(folder, path.basename(name)), "utf8"),
    async drop(name: string | undefined): Promise<void> {
      if (name !== undefined) await rm(path.join(folder, path.basename(name)), { force: true });
    },
    /** Runs while no other process writes connections. Throws `BUSY` if one does so for 10 s. */
    async alone(signal: AbortSignal, run: () => Promise<void>): Promise<void> {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const busy = (owner: { pid: number } | undefined): string =>
        `${owner ? `process ${owner.pid}` : "another process"} has been writing connections for 10 s; try again`;
      const lock = await acquireLock(path.join(folder, "writing.lock"), { waitMs, busy, signal });
      try {
        await run();
      } finally {
        await lock.release();
      }
    },
  };
}

function nameOf({ client, scope, projectDir }: ConnectionKey): string {
  return projectDir === undefined ? `${client}-${scope}` : `${client}-${scope}-${hashOf(projectDir)}`;
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

function isReceipt(value: unknown): value is Receipt {
  if (typeof value !== "object" || value === null) return false;
  const { version, client, files, server } = value as Partial<Receipt>;
  const knows = version === 1 && clientIds.some((id) => id === client);
  return knows && Array.isArray(files) && typeof server === "object" && server !== null;
}
