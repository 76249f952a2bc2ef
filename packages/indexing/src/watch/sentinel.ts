import { type FSWatcher, mkdirSync, readdirSync, renameSync, rmSync, statSync, watch, writeFileSync } from "node:fs";
import path from "node:path";

/** What a process that was killed leaves behind is taken away after so long. */
const keptMs = 24 * 60 * 60_000;

/**
 * Makes a change on purpose: when the system tells of it, it has told of all that happened before. Calls back when the system
 * has told of it, in the turn in which it tells. Throws what the file system throws.
 */
export type Sentinel = (told: () => void) => void;

/**
 * A file in a folder of its own that gets another name with each sentinel. The name says which one it is; the content of
 * a file would not, as it may be that of a later one by the time it is read. Folders beside it that others have left
 * behind are taken away.
 */
export function createSentinel(folder: string, heard: () => void): Sentinel {
  const waiting = new Map<string, () => void>();
  let handle: FSWatcher | undefined;
  let last = 0;

  function begin(): void {
    handle?.close();
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(path.join(folder, `${last}`), "", { mode: 0o600 });
    handle = watch(folder, (_, name) => {
      heard();
      const told = waiting.get(name ?? "");
      waiting.delete(name ?? "");
      told?.();
    });
    // Who waits for it finds that it does not come.
    handle.on("error", () => handle?.close());
  }

  function step(): void {
    renameSync(path.join(folder, `${last}`), path.join(folder, `${last + 1}`));
    last++;
  }

  begin();
  removeOld(path.dirname(folder));

  return (told) => {
    waiting.set(`${last + 1}`, told);
    try {
      step();
    } catch {
      // Somebody has tidied up.
      begin();
      step();
    }
  };
}

function removeOld(parent: string): void {
  for (const name of readdirSync(parent)) {
    const folder = path.join(parent, name);
    try {
      if (Date.now() - statSync(folder).mtimeMs > keptMs) rmSync(folder, { recursive: true, force: true });
    } catch {
      // Whoever it belongs to was quicker.
    }
  }
}
