import { constants } from "node:fs";
import { open, readdir } from "node:fs/promises";
import path from "node:path";
import { noSurprises } from "./files.ts";
import { readFirstEntry } from "./read-transcript.ts";
import type { SessionTable } from "./session-table.ts";

/**
 * The list of sessions as far as the transcripts know it: each begins with the key that it was opened under. Of several
 * with one key the one that began last is the current one. Transcripts of other hosts do not have the key.
 */
export async function rebuildTable(folder: string): Promise<SessionTable> {
  const began = new Map<string, number>();
  const table: SessionTable = new Map();
  for (const name of (await readdir(folder)).toSorted()) {
    if (!/\.jsonl$/i.test(name)) continue;
    const found = await beginningOf(path.join(folder, name));
    if (!found || found.beganMs < (began.get(found.key) ?? -1)) continue;
    began.set(found.key, found.beganMs);
    table.set(found.key, {
      sessionId: found.id,
      sessionFile: name,
      updatedAt: found.changedMs,
      compactionCount: 0,
      compactedBytes: 0,
      more: {},
    });
  }
  return table;
}

async function beginningOf(
  file: string,
): Promise<{ id: string; key: string; beganMs: number; changedMs: number } | undefined> {
  try {
    const handle = await open(file, constants.O_RDONLY | noSurprises);
    try {
      const stats = await handle.stat();
      const entry = stats.isFile() ? await readFirstEntry(handle) : undefined;
      if (entry?.kind !== "session" || entry.id === undefined || entry.key === undefined) return undefined;
      return { id: entry.id, key: entry.key, beganMs: Date.parse(entry.at ?? "") || 0, changedMs: stats.mtimeMs };
    } finally {
      await handle.close();
    }
  } catch {
    // A link, or a file that is gone or not for us to read: what it begins with cannot be said.
    return undefined;
  }
}
