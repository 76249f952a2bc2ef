import { createHash } from "node:crypto";
import { appendFileSync, mkdirSync } from "node:fs";
import { readFile, realpath } from "node:fs/promises";
import path from "node:path";
import { MemoryError, messageOf } from "@memslot/core";

/** What was ever imported into a workspace from one source, so that what somebody deletes is not taken for new. */
export interface ImportedKeys {
  has(key: string): boolean;
  add(key: string): void;
}

/**
 * Reads the list, one key in each line, below the state folder. Where it is lost, deleted notes come again with the next import,
 * and nothing else. Throws `UNAVAILABLE` where it cannot be read or written.
 */
export async function openImportedKeys(place: {
  workspaceDir: string;
  stateDir: string;
  source: string;
}): Promise<ImportedKeys> {
  const workspace = await realpath(place.workspaceDir).catch(() => path.resolve(place.workspaceDir));
  const hash = createHash("sha256").update(workspace).digest("hex").slice(0, 32);
  const file = path.join(place.stateDir, "imports", `${hash}-${place.source}.txt`);
  const text = await readFile(file, "utf8").catch(() => "");
  const keys = new Set(text.split("\n").filter((line) => /^[0-9a-f]{12}$/u.test(line)));
  // Half a line that a killed process has left is a line of its own.
  let begin = text === "" || text.endsWith("\n") ? "" : "\n";
  let isMade = false;
  return {
    has: (key) => keys.has(key),
    add(key) {
      if (keys.has(key)) return;
      try {
        if (!isMade) mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
        isMade = true;
        appendFileSync(file, `${begin}${key}\n`, { mode: 0o600 });
        begin = "";
      } catch (error) {
        const why = `the list of what was imported, ${file}, cannot be written: ${messageOf(error)}`;
        throw new MemoryError("UNAVAILABLE", `${why}; check the state folder and the room on its disk`, {
          cause: error,
        });
      }
      keys.add(key);
    },
  };
}
