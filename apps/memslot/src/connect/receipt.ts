import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { mkdir, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { acquireLock, replaceFile } from "@memslot/core/files";
import type { ClientId, Connection, ConnectScope } from "./client.ts";
import { allClients } from "./clients.ts";

/** One file that was written for a connection. */
export interface ReceiptFile {
  /** As the client knows it. */
  readonly path: string;
  /** Behind links. */
  readonly target: string;
  /** The file of the backup, in the folder of the receipts; undefined where there was no file. */
  readonly backup?: string | undefined;
  /** Folders that were made for it, innermost first. */
  readonly madeFolders: readonly string[];
  /** SHA-256 of what was written: while it has this, nobody else has touched it. */
  readonly after: string;
}

/** What a connection has written, so that it can be taken back. */
export interface Receipt {
  readonly version: 1;
  readonly client: ClientId;
  readonly scope: ConnectScope;
  /** Of a project alone. */
  readonly projectDir?: string | undefined;
  /** ISO 8601. */
  readonly at: string;
  readonly server: Connection["server"];
  readonly keys?: Connection["keys"] | undefined;
  readonly hook?: string | undefined;
  readonly files: readonly ReceiptFile[];
}

/** The receipts of all connections: files of the state folder, with the backups beside them. */
export interface Receipts {
  readonly folder: string;
  get(which: Pick<Receipt, "client" | "scope" | "projectDir">): Receipt | undefined;
  /** Those that can be read. */
  all(): Receipt[];
  save(receipt: Receipt): Promise<void>;
  remove(receipt: Receipt): Promise<void>;
  /** Keeps a text as the backup of a file, and gives its name. */
  keep(receipt: Pick<Receipt, "client" | "scope" | "projectDir">, target: string, text: string): Promise<string>;
  backup(name: string): Promise<string>;
  drop(name: string | undefined): Promise<void>;
  /** Runs while no other process writes connections. Throws `BUSY` where one does so for 10 s. */
  alone(signal: AbortSignal, run: () => Promise<void>): Promise<void>;
}

const waitMs = 10_000;

export function openReceipts(stateDir: string): Receipts {
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
    folder,
    get: (which) => read(`${nameOf(which)}.json`),
    all() {
      let names: string[];
      try {
        names = readdirSync(folder);
      } catch {
        return []; // Nothing was ever connected.
      }
      return names
        .filter((name) => name.endsWith(".json"))
        .toSorted()
        .flatMap((name) => read(name) ?? []);
    },
    save: (receipt) =>
      replaceFile(path.join(folder, `${nameOf(receipt)}.json`), `${JSON.stringify(receipt, undefined, 2)}\n`),
    remove: (receipt) => rm(path.join(folder, `${nameOf(receipt)}.json`), { force: true }),
    async keep(receipt, target, text) {
      const name = `${nameOf(receipt)}.${hashOf(target)}.${hashOf(text)}.backup`;
      await replaceFile(path.join(folder, name), text);
      return name;
    },
    backup: (name) => readFile(path.join(folder, path.basename(name)), "utf8"),
    async drop(name) {
      if (name !== undefined) await rm(path.join(folder, path.basename(name)), { force: true });
    },
    async alone(signal, run) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const busy = (holder: { pid: number } | undefined): string =>
        `${holder ? `process ${holder.pid}` : "another process"} has been writing connections for 10 s; try again`;
      const lock = await acquireLock(path.join(folder, "writing.lock"), { waitMs, busy, signal });
      try {
        await run();
      } finally {
        await lock.release();
      }
    },
  };
}

function nameOf({ client, scope, projectDir }: Pick<Receipt, "client" | "scope" | "projectDir">): string {
  return projectDir === undefined ? `${client}-${scope}` : `${client}-${scope}-${hashOf(projectDir)}`;
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

function isReceipt(value: unknown): value is Receipt {
  if (typeof value !== "object" || value === null) return false;
  const { version, client, files, server } = value as Partial<Receipt>;
  const knows = version === 1 && allClients.some(({ id }) => id === client);
  return knows && Array.isArray(files) && typeof server === "object" && server !== null;
}
