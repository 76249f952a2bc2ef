import type { ManagerSyncParams, MemorySearchSettings } from "@memslot/core";
import type { FileRecord } from "../chunk-index.ts";
import { withFile } from "../scan/open-file.ts";
import type { ScannedFile } from "../scan/scan.ts";
import type { IndexedSource } from "../indexed-source.ts";
import { type SessionLookup, transcriptPath } from "./folders.ts";
import { continues, transcriptCursor } from "./read-conversation.ts";

const blockBytes = 64 * 1024;
/** Syncs that were not requested: they leave a transcript until enough of it is new. */
const background: ReadonlySet<string> = new Set(["search", "watch", "interval"]);

/** Lines of a part of a file, counted once: what came since is counted on to them. */
interface Counted {
  from: number;
  to: number;
  lines: number;
}

/**
 * Whether a transcript that looks changed is read in this sync. In the background it is once it has grown by
 * `deltaBytes` or `deltaMessages`; after a compaction too, where `postCompactionForce` is off; else always. Where
 * sessions are named, these and no others. What is not in the index, or no longer the file that was read, is always due.
 */
export function createTranscriptDue(input: {
  settings: MemorySearchSettings;
  recipe: string;
  lookup: SessionLookup;
}): NonNullable<IndexedSource["isDue"]> {
  const { deltaBytes, deltaMessages, postCompactionForce } = input.settings.sync.sessions;
  const countedOf = new Map<string, Counted>();

  async function holdsLines(file: ScannedFile, from: number, wanted: number): Promise<boolean> {
    const before = countedOf.get(file.path);
    const counted = before?.from === from && before.to <= file.size ? before : { from, to: from, lines: 0 };
    await withFile(file.absolutePath, async (handle) => {
      const block = Buffer.allocUnsafe(blockBytes);
      while (counted.lines < wanted && counted.to < file.size) {
        const length = Math.min(block.length, file.size - counted.to);
        const { bytesRead } = await handle.read(block, 0, length, counted.to);
        if (bytesRead === 0) break;
        const read = block.subarray(0, bytesRead);
        for (let at = read.indexOf(10); at >= 0; at = read.indexOf(10, at + 1)) counted.lines++;
        counted.to += bytesRead;
      }
    });
    countedOf.set(file.path, counted);
    return counted.lines >= wanted;
  }

  async function hasGrown(file: ScannedFile, stored: FileRecord): Promise<boolean> {
    const cursor = stored.recipe === input.recipe ? transcriptCursor(stored) : undefined;
    if (!cursor || cursor.more || file.size <= stored.size) return true;
    if (file.size - cursor.bytes >= deltaBytes) return true;
    if (!(await withFile(file.absolutePath, (handle) => continues(handle, cursor)))) return true;
    return await holdsLines(file, cursor.bytes, deltaMessages);
  }

  return async (file, stored, { reason, sessions }) => {
    if (sessions) return await isNamed(file.path, sessions, input.lookup);
    if (!background.has(reason) && (reason !== "compaction" || postCompactionForce)) return true;
    if (!stored) return true;
    try {
      return await hasGrown(file, stored);
    } catch {
      // Reading it says what is wrong.
      return true;
    }
  };
}

/** A session's file has its id as name, with the topic behind it where the session has topics. */
async function isNamed(
  path: string,
  sessions: NonNullable<ManagerSyncParams["sessions"]>,
  lookup: SessionLookup,
): Promise<boolean> {
  for (const { sessionId, sessionKey } of sessions) {
    const name = transcriptPath(sessionId);
    if (path === `${name}.jsonl` || path.startsWith(`${name}-topic-`)) return true;
    if (sessionKey !== undefined && (await lookup(sessionKey)) === path) return true;
  }
  return false;
}
