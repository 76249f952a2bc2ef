import { readdirSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** A file is replaced within this time, or not any more. */
const oldMs = 60_000;
const token = /^\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp$/;

/** Removes what a process left beside a file that was killed while it replaced it. */
export function dropOldDrafts(path: string): void {
  const name = basename(path);
  for (const each of namesIn(dirname(path))) {
    if (!each.startsWith(name) || !token.test(each.slice(name.length))) continue;
    const draft = join(dirname(path), each);
    // Another process may have been faster.
    const { mtimeMs } = statSync(draft, { throwIfNoEntry: false }) ?? { mtimeMs: Infinity };
    if (Date.now() - mtimeMs > oldMs) rmSync(draft, { force: true });
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // A folder that may not be listed can be written to all the same.
  }
}
