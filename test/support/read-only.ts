import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import type { House } from "./house.ts";

/** Whether this system lets the tests mount, in a view of their own. */
export function canMount(): boolean {
  if (process.platform !== "linux") return false;
  const command = ["-m", "mount", "--bind", "/tmp", "/tmp"];
  return spawnSync("unshare", command, { stdio: "ignore" }).status === 0;
}

/** Runs a script with the workspace and the state folder as its arguments, where the workspace is a read-only mount. */
export function runOnReadOnlyNotes({ folder, notes, stateDir }: House, code: string): unknown {
  const script = path.join(folder, "script.ts");
  writeFileSync(
    script,
    code.replaceAll(/from "([^"]+)"/g, (_, name: string) => `from "${import.meta.resolve(name)}"`),
  );
  const mount = `mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && ! touch "$1/x" 2>/dev/null && shift &&`;
  const command = [process.execPath, "--conditions=@memslot/source", script, notes, stateDir];
  const args = ["-m", "sh", "-c", `${mount} exec "$@"`, "sh", notes, ...command];
  return JSON.parse(execFileSync("unshare", args, { encoding: "utf8" }));
}

/** Takes away the right to write; root needs a mount for that. Returns how to undo it, or why it cannot be done. */
export function makeReadOnly(folder: string): (() => void) | string {
  if (process.getuid?.() !== 0) {
    const all = spawnSync("chmod", ["-R", "a-w", folder]);
    if (all.status !== 0) return "chmod does not work here";
    return () => void spawnSync("chmod", ["-R", "u+w", folder]);
  }
  const bind = spawnSync("mount", ["--bind", folder, folder], { encoding: "utf8" });
  if (bind.status !== 0) return `root may write everywhere, and mount is not allowed here: ${bind.stderr ?? ""}`;
  const undo = (): void => void spawnSync("umount", ["-l", folder]);
  const readOnly = spawnSync("mount", ["-o", "remount,ro,bind", folder], { encoding: "utf8" });
  if (readOnly.status === 0) return undo;
  undo();
  return `root may write everywhere, and a mount cannot be made read-only here: ${readOnly.stderr}`;
}
