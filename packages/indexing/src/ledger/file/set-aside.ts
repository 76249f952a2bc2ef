import { linkSync, renameSync, rmSync, statSync } from "node:fs";

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
 *
 * Between a look and a rename another process can put a new file in place. So the new name follows from the file and is
 * made as a second link to it, which only one process can do, and only that one takes the old name away.
 */
export function setAside(path: string, identity: string | undefined): string | undefined {
  const sidecars = findSidecars(path);
  if (identity === undefined || fileIdentity(path) !== identity) return undefined;
  const aside = freeName(`${path}.corrupt-${identity.slice(identity.indexOf(":") + 1)}`, identity);
  const claim = claimName(path, aside);
  if (claim === "taken") {
    waitWhile(() => fileIdentity(path) === identity);
    // Who claimed it has died in the middle, and left both names.
    if (fileIdentity(path) !== identity || fileIdentity(aside) !== identity) return undefined;
  }
  if (claim === "linked" && fileIdentity(aside) !== identity) {
    // It was replaced before the link was made, which is a second name of a sound file.
    rmSync(aside);
    return undefined;
  }
  if (claim === "no links") renameSync(path, aside);
  // Whoever waited long for this process has finished its work, and the name is a new file's.
  else if (fileIdentity(path) === identity) rmSync(path);
  for (const { suffix, identity: found } of sidecars) {
    if (fileIdentity(path + suffix) === found) renameSync(path + suffix, aside + suffix);
  }
  return aside;
}

function claimName(path: string, aside: string): "linked" | "taken" | "no links" {
  try {
    linkSync(path, aside);
    return "linked";
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (code === "EEXIST" || code === "ENOENT") return "taken";
    // FAT and some network file systems. There the moment between look and rename stays open.
    if (["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(code)) return "no links";
    throw error;
  }
}

const othersMayTakeMs = 1000;

function waitWhile(busy: () => boolean): void {
  const until = Date.now() + othersMayTakeMs;
  while (busy() && Date.now() < until) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
}

/** A name that nothing has, or that the same file has already. */
function freeName(wanted: string, identity: string): string {
  let name = wanted;
  for (let count = 2; ![undefined, identity].includes(fileIdentity(name)); count++) name = `${wanted}-${count}`;
  return name;
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
