import { spawnSync } from "node:child_process";

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
