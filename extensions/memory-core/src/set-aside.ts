import { existsSync, renameSync, statSync } from "node:fs";

/** Names a file whatever its path: `device:inode`. Undefined where there is no file. */
export function fileIdentity(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

/**
 * Renames a damaged database and the two files that SQLite keeps beside it, and gives the new path. Gives undefined
 * and does nothing when the file is no longer the one that was found damaged: another process was here first.
 */
export function setAside(path: string, identity: string | undefined): string | undefined {
  if (identity === undefined || fileIdentity(path) !== identity) return undefined;
  const aside = freeName(`${path}.corrupt-${new Date().toISOString().replaceAll(/[-:]|\.\d+/gu, "")}`);
  renameSync(path, aside);
  for (const suffix of ["-wal", "-shm"]) {
    if (existsSync(path + suffix)) renameSync(path + suffix, aside + suffix);
  }
  return aside;
}

function freeName(wanted: string): string {
  let name = wanted;
  for (let count = 2; existsSync(name); count++) name = `${wanted}-${count}`;
  return name;
}
