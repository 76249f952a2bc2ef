import path from "node:path";
import { withFile } from "../files/file-kind.ts";
import { isLasting, stampOf } from "../files/file-stamp.ts";
import { sessionsFolder, transcriptPath } from "./sessions-folder.ts";

const maxBytes = 64 * 1024 * 1024;

/** Finds the transcript of a session by its key. Remembers the list until the file changes. */
export type SessionLookup = (sessionKey: string) => Promise<string | undefined>;

interface Listed {
  sessionKey: string;
  path: string;
}

/**
 * Looks session keys up in `sessions.json`, which hosts keep beside the transcripts. Gives the transcript's path as it
 * stands in the index; undefined where the key is not there, names two sessions, or the file cannot be read: then
 * nobody knows, and a caller that filters by it must leave transcripts out.
 */
export function createSessionLookup(input: { stateDir: string; agentId: string }): SessionLookup {
  const folder = sessionsFolder(input);
  let known: { stamp: string; byKey: ReadonlyMap<string, Listed[]> } | undefined;

  async function load(): Promise<ReadonlyMap<string, Listed[]>> {
    return await withFile(path.join(folder, "sessions.json"), async (handle) => {
      const nowMs = Date.now();
      const stats = await handle.stat({ bigint: true });
      if (!stats.isFile() || stats.size > maxBytes) return new Map();
      const stamp = stampOf(stats);
      if (known?.stamp === stamp) return known.byKey;
      const byKey = listOf(JSON.parse((await handle.readFile("utf8")).replace(/^\uFEFF/, "")), folder);
      // A file that is being written may change again within the same time stamp.
      known = isLasting(stats, nowMs, false) ? { stamp, byKey } : undefined;
      return byKey;
    });
  }

  return async (sessionKey) => {
    let byKey;
    try {
      byKey = await load();
    } catch {
      // Missing, half written or not for us to read: the session is not known.
      return undefined;
    }
    const found = byKey.get(folded(sessionKey)) ?? [];
    const exact = found.filter((entry) => entry.sessionKey === sessionKey);
    const paths = new Set((exact.length > 0 ? exact : found).map((entry) => entry.path));
    return paths.size === 1 ? [...paths][0] : undefined;
  };
}

function listOf(sessions: unknown, folder: string): Map<string, Listed[]> {
  const byKey = new Map<string, Listed[]>();
  if (typeof sessions !== "object" || sessions === null || Array.isArray(sessions)) return byKey;
  for (const [sessionKey, entry] of Object.entries(sessions)) {
    const transcript = transcriptOf(entry, folder);
    if (transcript === undefined) continue;
    byKey.set(folded(sessionKey), [...(byKey.get(folded(sessionKey)) ?? []), { sessionKey, path: transcript }]);
  }
  return byKey;
}

/** `sessionFile` counts where it names a file of this folder; it may be absolute. */
function transcriptOf(entry: unknown, folder: string): string | undefined {
  if (typeof entry !== "object" || entry === null) return undefined;
  const { sessionFile, sessionId } = entry as { sessionFile?: unknown; sessionId?: unknown };
  if (typeof sessionFile === "string" && sessionFile.trim() !== "") {
    const file = path.resolve(folder, sessionFile.trim());
    if (path.dirname(file) === path.resolve(folder)) return transcriptPath(path.basename(file));
  }
  if (typeof sessionId !== "string" || !/^[^/\\\0]+$/.test(sessionId.trim())) return undefined;
  return transcriptPath(`${sessionId.trim()}.jsonl`);
}

function folded(sessionKey: string): string {
  return sessionKey.trim().toLowerCase();
}
