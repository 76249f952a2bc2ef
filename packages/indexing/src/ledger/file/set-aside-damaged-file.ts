import { linkSync, renameSync, rmSync, statSync } from "node:fs";

/** Names a file whatever its path: `device:inode`. Undefined if there is no file. */
export function fileIdentity(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

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

/** Renames a damaged database and its sidecars; returns the new path, or undefined if it was replaced. */
export function setAside(path: string, identity: string | undefined): string | undefined {
  const sidecars = findSidecars(path);
  if (identity === undefined || fileIdentity(path) !== identity) return undefined;
  const aside = freeName(`${path}.corrupt-${identity.slice(identity.indexOf(":") + 1)}`, identity);
  const claim = claimName(path, aside);
  if (claim === "taken") {
    waitWhile(() => fileIdentity(path) === identity);
    if (fileIdentity(path) !== identity || fileIdentity(aside) !== identity) return undefined;
  }
  if (claim === "linked" && fileIdentity(aside) !== identity) {
    // The file was replaced before the link was made.
    rmSync(aside);
    return undefined;
  }
  if (claim === "no links") renameSync(path, aside);
  // A process that waited long has finished this; the name belongs to a new file.
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
    // FAT and some network file systems cannot link; a small race remains.
    if (["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(code)) return "no links";
    throw error;
  }
}

const othersMayTakeMs = 1000;

function waitWhile(busy: () => boolean): void {
  const until = Date.now() + othersMayTakeMs;
  while (busy() && Date.now() < until) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
}

/** A free name, or the name that the same file already has. */
function freeName(wanted: string, identity: string): string {
  let name = wanted;
  for (let count = 2; ![undefined, identity].includes(fileIdentity(name)); count++) name = `${wanted}-${count}`;
  return name;
}

export function removeSidecars(path: string, sidecars: readonly Sidecar[]): void {
  for (const { suffix, identity } of sidecars) {
    if (fileIdentity(path + suffix) === identity) rmSync(path + suffix, { force: true });
  }
}
