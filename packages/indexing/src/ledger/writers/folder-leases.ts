import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { IndexLeases } from "../../chunk-index.ts";
import type { LeaseRows } from "./leases.ts";

/** Leases that end with the process that holds them. `close` gives back what is held. */
export interface FolderLeases extends IndexLeases {
  close(): Promise<void>;
}

/**
 * Leases for an index that lies in a folder of this machine and is no SQLite file. The locks are those of memory-core;
 * who holds them is told by a small file beside each. `indexPath` has to be there. Throws what the loader throws where
 * better-sqlite3 does not load.
 */
export async function openFolderLeases({
  indexPath,
  locksDir,
}: {
  indexPath: string;
  locksDir: string;
}): Promise<FolderLeases> {
  // Here and not above: it is native.
  const [{ createLeases }, { lockPath }] = await Promise.all([import("./leases.ts"), import("./lease-lock.ts")]);
  const rows = rowFiles((key) => `${lockPath(locksDir, indexPath, key)}.json`, locksDir);
  const leases = createLeases({ indexPath: () => indexPath, locksDir, rows });
  return {
    acquire: async (name, reason) => leases.acquire(name, reason),
    release: async (name) => leases.release(name),
    report: async (progress) => leases.report(progress),
    holder: async (name) => leases.holder(name),
    close: async () => leases.close(),
  };
}

/** A row is a file, which is replaced whole: others read it at any time. */
function rowFiles(pathOf: (key: string) => string, folder: string): LeaseRows {
  const fileOf = (key: string): string => pathOf(key.replaceAll(/[^\w-]/g, "-"));
  return {
    get(key) {
      try {
        return readFileSync(fileOf(key), "utf8");
      } catch {
        return undefined;
      }
    },
    set(key, value) {
      const path = fileOf(key);
      if (value === undefined) return rmSync(path, { force: true });
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const draft = join(folder, `${process.pid}-${crypto.randomUUID()}.tmp`);
      writeFileSync(draft, value, { mode: 0o600 });
      renameSync(draft, path);
    },
  };
}
