import type { BigIntStats, Dirent } from "node:fs";
import path from "node:path";
import { type ManagerSyncParams, type MemorySearchSettings, messageOf, type Sentence } from "@memslot/core";
import { sentence } from "@memslot/core/host";
import { codeOf } from "@memslot/core/files";
import { statOf, isLasting, stampOf } from "../scan/file-state.ts";
import { withFile } from "../scan/open-file.ts";
import { type ScanResult, type FolderLook, plainLook } from "../scan/scan.ts";
import type { IndexedSource } from "../indexed-source.ts";
import { createLineVerifier } from "../scan/verify-lines.ts";
import { redactionVersion } from "../secrets/redact-secrets.ts";
import { wordsVersion } from "../text/index-terms.ts";
import { verifyLines } from "./conversation-window.ts";
import { Finder } from "./conversation-finder.ts";
import { type SessionLookup, sessionsFolder, transcriptPath } from "./session-folders.ts";
import { isTranscriptDue, passedOverIn, readTranscript } from "./read-conversation.ts";
import { isObject, jsonOf, textAt } from "../json-values.ts";
import { readRecord } from "./transcript-lines.ts";

const transcriptVersion = 2;
const maxListBytes = 64 * 1024 * 1024;
/** Copies and deleted transcripts that hosts leave in the folder. */
const copies = /\.(?:deleted|reset|bak|checkpoint|trajectory|tmp)(?:\.[^/]*)?\.jsonl$/i;

interface AgentInput {
  stateDir: string;
  agentId: string;
}

/** Transcripts as a source, redacted. Throws `INVALID_ARGUMENT` for an invalid agent id. */
export function createSessionSource(input: AgentInput & { settings: MemorySearchSettings }): IndexedSource {
  const { settings } = input;
  const transcripts = transcriptsIn(sessionsFolder(input), "sessions", {
    recipe: `transcripts${transcriptVersion}`,
    tokens: settings.chunking.tokens,
  });
  const { recipe } = transcripts;
  const lookup = createSessionLookup(input);
  return {
    ...transcripts,
    issueOf: passedOverIn,
    // If sessions are named, only these.
    isDue: async (file, stored, { reason, sessions }) =>
      sessions
        ? await isNamed(file.path, sessions, lookup)
        : await isTranscriptDue(file, stored, { reason, recipe, sync: settings.sync.sessions }),
  };
}

/** The file name is the session id, with `-topic-…` if the session has topics. */
async function isNamed(
  file: string,
  sessions: NonNullable<ManagerSyncParams["sessions"]>,
  lookup: SessionLookup,
): Promise<boolean> {
  for (const { sessionId, sessionKey } of sessions) {
    const name = transcriptPath(sessionId);
    if (file === `${name}.jsonl` || file.startsWith(`${name}-topic-`)) return true;
    if (sessionKey !== undefined && (await lookup(sessionKey)) === file) return true;
  }
  return false;
}

export function transcriptsIn(
  folder: string,
  source: "sessions" | "journal",
  { tokens, ...options }: { recipe: string; tokens: number },
): IndexedSource {
  const recipe = `${options.recipe}:${tokens} words${wordsVersion} redaction${redactionVersion}`;
  return {
    source,
    recipe,
    scan: async (signal, _, look) => await findTranscripts(folder, source, signal, look),
    holds: createLineVerifier({
      placeOf(transcript) {
        const name = path.posix.basename(transcript);
        return `${source}/${name}` === transcript ? path.join(folder, name) : undefined;
      },
      compare: async (absolutePath, found, signal, place) =>
        await verifyLines({ path: place, absolutePath, kind: "lines", mtimeMs: 0, size: 0 }, found, tokens, signal),
    }),
    read: async (file, stored, signal) =>
      await readTranscript({ ...file, kind: "lines" }, stored, { source, recipe, tokens, signal }),
  };
}

/** Finds the transcripts in a folder: no links, and each file once, whatever its names. The folder may be missing. */
async function findTranscripts(
  folder: string,
  label: string,
  signal: AbortSignal,
  look: FolderLook = plainLook,
): Promise<ScanResult> {
  const finder = new Finder(`${label}/`, readRecord, signal, look);
  let entries: Dirent[] = [];
  let problem = problemOf(folder);
  try {
    if (!problem) entries = look.list(folder);
  } catch (error) {
    problem = { reason: `cannot be listed: ${messageOf(error)}`, unknown: true };
  }
  if (problem) {
    finder.skip(label, { reason: problem.reason });
    if (problem.unknown) finder.missed(label, problem.reason);
    return finder.done();
  }
  const known = new Map<string, string>();
  for (const { name } of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (!isTranscript(name)) continue;
    const shown = finder.pathOf(name);
    const refuse = ({ dev, ino }: BigIntStats): Sentence | undefined => {
      const identity = ino === 0n ? shown : `${dev}:${ino}`;
      const earlier = known.get(identity);
      if (earlier === undefined) known.set(identity, shown);
      return earlier === undefined ? undefined : sentence("file.same", { path: earlier });
    };
    if (finder.files.has(shown)) finder.skip(shown, sentence("file.same", { path: shown }));
    else await finder.take(name, path.join(folder, name), { kind: "lines" }, { shown, refuse });
  }
  signal.throwIfAborted();
  const { roots, ...result } = finder.done();
  return { ...result, roots: [{ path: label, state: "indexed", files: result.files.length }, ...roots] };
}

function isTranscript(name: string): boolean {
  return /\.jsonl$/i.test(name) && !name.startsWith(".") && !copies.test(name);
}

function problemOf(folder: string): { reason: string; unknown: boolean } | undefined {
  // A link could lead to the folder of another agent.
  for (const place of [path.dirname(path.dirname(folder)), path.dirname(folder), folder]) {
    const stats = statOf(place);
    if (stats instanceof Error) {
      const missing = codeOf(stats) === "ENOENT";
      return { reason: missing ? "does not exist" : `cannot be read: ${messageOf(stats)}`, unknown: !missing };
    }
    const shown = place === folder ? "" : `${place} `;
    if (stats.isSymbolicLink())
      return { reason: `${shown}${sentence("file.link").reason}: put a real folder there`, unknown: false };
    if (!stats.isDirectory()) return { reason: `${shown}is not a folder`, unknown: false };
  }
  return undefined;
}

interface Listed {
  sessionKey: string;
  path: string;
}

/** Looks up session keys in `sessions.json`; undefined if unknown, ambiguous or unreadable. */
export function createSessionLookup(input: AgentInput): SessionLookup {
  const folder = sessionsFolder(input);
  let known: { stamp: string; byKey: ReadonlyMap<string, Listed[]> } | undefined;

  async function load(): Promise<ReadonlyMap<string, Listed[]>> {
    return await withFile(path.join(folder, "sessions.json"), async (handle) => {
      const nowMs = Date.now();
      const stats = await handle.stat({ bigint: true });
      if (!stats.isFile() || stats.size > maxListBytes) return new Map();
      const stamp = stampOf(stats);
      if (known?.stamp === stamp) return known.byKey;
      const sessions = jsonOf((await handle.readFile("utf8")).replace(/^\uFEFF/, ""));
      const listed = Object.entries(isObject(sessions) ? sessions : {}).flatMap(([sessionKey, entry]): Listed[] => {
        const transcript = transcriptOf(entry, folder);
        return transcript === undefined ? [] : [{ sessionKey, path: transcript }];
      });
      const byKey = Map.groupBy(listed, ({ sessionKey }) => folded(sessionKey));
      known = isLasting(stats, nowMs, false) ? { stamp, byKey } : undefined;
      return byKey;
    });
  }

  return async (sessionKey) => {
    const byKey = await load().catch(() => undefined);
    const found = byKey?.get(folded(sessionKey)) ?? [];
    const exact = found.filter((entry) => entry.sessionKey === sessionKey);
    const paths = new Set((exact.length > 0 ? exact : found).map((entry) => entry.path));
    return paths.size === 1 ? [...paths][0] : undefined;
  };
}

/** `sessionFile` counts if it names a file of this folder; it may be absolute. */
function transcriptOf(entry: unknown, folder: string): string | undefined {
  const named = textAt(entry, "sessionFile")?.trim() ?? "";
  const file = path.resolve(folder, named);
  if (named !== "" && path.dirname(file) === path.resolve(folder)) return transcriptPath(path.basename(file));
  const id = textAt(entry, "sessionId")?.trim() ?? "";
  return /^[^/\\\0]+$/.test(id) ? transcriptPath(`${id}.jsonl`) : undefined;
}

function folded(sessionKey: string): string {
  return sessionKey.trim().toLowerCase();
}
