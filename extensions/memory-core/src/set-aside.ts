import { existsSync, renameSync, rmSync, statSync } from "node:fs";

/** Names a file whatever its path: `device:inode`. Undefined where there is no file. */
export function fileIdentity(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

/** One of the two files that SQLite keeps beside a database, as it was found. */
export interface Sidecar {
  suffix: "-wal" | "-shm";
  identity: string;
}

export function findSidecars(path: string): Sidecar[] {
  return (["-wal", "-shm"] as const).flatMap((suffix) => {
    const identity = fileIdentity(path + suffix);
    return identity === undefined ? [] : [{ suffix, identity }];
  });
}

/**
 * Renames a damaged database with what SQLite keeps beside it, and gives the new path. Gives undefined and does nothing
 * when the file is no longer the one that was found damaged: another process was here first.
 */
export function setAside(path: string, identity: string | undefined): string | undefined {
  const sidecars = findSidecars(path);
  if (identity === undefined || fileIdentity(path) !== identity) return undefined;
  const aside = freeName(`${path}.corrupt-${new Date().toISOString().replaceAll(/[-:]|\.\d+/gu, "")}`);
  renameSync(path, aside);
  for (const { suffix, identity: found } of sidecars) {
    if (fileIdentity(path + suffix) === found) renameSync(path + suffix, aside + suffix);
  }
  return aside;
}

/**
 * Deletes what stands beside a database that is itself gone. A process that still has that database open keeps its
 * files, and a new database does not share their state with it.
 */
export function removeSidecars(path: string, sidecars: readonly Sidecar[]): void {
  for (const { suffix, identity } of sidecars) {
    if (fileIdentity(path + suffix) === identity) rmSync(path + suffix, { force: true });
  }
}

function freeName(wanted: string): string {
  let name = wanted;
  for (let count = 2; existsSync(name); count++) name = `${wanted}-${count}`;
  return name;
}
