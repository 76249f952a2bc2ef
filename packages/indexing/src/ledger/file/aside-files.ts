import { readdirSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileIdentity } from "./set-aside.ts";

const suffixes = ["", "-wal", "-shm"] as const;

/**
 * Deletes the damaged databases that were set aside before this one: only the last is of use to anybody. They are told
 * from other files of such a name by their number, which is that of the file itself.
 */
export function forgetOlderAside(path: string, newest: string): void {
  const folder = dirname(path);
  const beginning = `${basename(path)}.corrupt-`;
  try {
    for (const name of readdirSync(folder)) {
      const file = join(folder, name);
      const inode = name.startsWith(beginning)
        ? /^(\d+)(?:-\d+)?$/u.exec(name.slice(beginning.length))?.[1]
        : undefined;
      if (inode === undefined || file === newest || !fileIdentity(file)?.endsWith(`:${inode}`)) continue;
      for (const suffix of suffixes) rmSync(file + suffix, { force: true });
    }
  } catch {
    // They only take space, and the index can be used.
  }
}
