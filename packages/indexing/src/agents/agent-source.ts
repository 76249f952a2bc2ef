import path from "node:path";
import {
  type ClientFolders,
  type ClientSource,
  type MemorySearchSettings,
  type SyncFailure,
  clientSources,
} from "@memslot/core";
import { statSync } from "node:fs";
import type { FileRecord } from "../index-row-types.ts";
import type { PathScope } from "../chunk-store.ts";
import { realPathOf, recordedState } from "../scan/file-state.ts";
import { holdsContent, notesHold, readChunks, recipeOf } from "../scan/read-note.ts";
import { notReadable } from "../scan/read-memory-file.ts";
import type { ScanResult } from "../scan/scan.ts";
import type { FileReading, IndexedSource } from "../indexed-source.ts";
import { createLineVerifier } from "../scan/verify-lines.ts";
import { redactCopies, KeptCopies, keptRecord } from "../sources/conversation-copies.ts";
import { redactionVersion } from "../secrets/redact-secrets.ts";
import { wordsVersion } from "../text/index-terms.ts";
import { createTimeSlices } from "../time-slices.ts";
import { readWindow, verifyLines } from "../sources/conversation-window.ts";
import { Finder } from "../sources/conversation-finder.ts";
import {
  type ConversationFile,
  isTranscriptDue,
  passedOverIn,
  readTranscript,
  readWhole,
  recordsOf,
  transcriptCursor,
} from "../sources/read-conversation.ts";
import { unknownSize } from "../sources/transcript-lines.ts";
import { recordReader } from "./agent.ts";
import { agentOf } from "./index.ts";
import { createProjectMatch, everywhere } from "../sources/project-match.ts";

/** Part of the recipe: increase it when the same conversation results in other chunks. */
const agentVersion = 2;
/** How long searches rely on a scan. */
const restMs = 30_000;
/** The working folder is in one of the first lines. */
const headBytes = 256 * 1024;
const headRecords = 50;

/** The conversations and notes of another agent as a source, read in place. */
export function createAgentSource(input: {
  source: ClientSource;
  settings: MemorySearchSettings;
  stateDir: string;
  agentId: string;
  projectDir: string;
}): IndexedSource {
  const { source, settings, stateDir, agentId } = input;
  const { chunking } = settings;
  const { tokens } = chunking;
  const { scope, keep, folders } = settings.clients;
  let areClean = !keep;
  const kept = new KeptCopies(path.join(stateDir, "agents", agentId, "kept", source));
  const recipe = `client${agentVersion}:${tokens} words${wordsVersion} redaction${redactionVersion} ${recipeOf(chunking)}`;
  const isInProject = createProjectMatch(input.projectDir);
  let found: ReadonlyMap<string, ConversationFile> = new Map();
  let narrowed: { stored: unknown; found: unknown; scope: PathScope } | undefined;
  let last: { atMs: number; result: ScanResult } | undefined;
  const rested = (): typeof last => (last && performance.now() - last.atMs < restMs ? last : undefined);
  const nameOf = (place: string): string => place.slice(source.length + 2);
  const isKept = ({ recordOf }: ConversationFile): boolean => recordOf === keptRecord;

  async function scan(signal: AbortSignal, stored?: ReadonlyMap<string, FileRecord>): Promise<ScanResult> {
    const finder = await findFiles(source, folders[source] ?? [], signal);
    const result = finder.done();
    const { files } = finder;
    areClean ||= await redactCopies(kept.folder, path.join(stateDir, "agents", agentId, `kept-${source}.rules`));
    // Conversations that the agent has deleted. A folder that cannot be read may still contain them.
    if (keep && result.unknown.length === 0) {
      const copies = new Finder(`${source}:/`, keptRecord, signal);
      await kept.find(copies);
      copies.done();
      for (const [place, file] of copies.files) if (!files.has(place)) files.set(place, file);
    }
    for (const file of files.values()) {
      const before = file.size === unknownSize ? stored?.get(file.path) : undefined;
      // An unchanged conversation has the size of its last reading.
      if (before !== undefined && recordedState(before).stamp === file.stamp) file.size = before.size;
      // A file without its copy is read again, to write one.
      if (keep && file.kind !== "note" && !isKept(file) && !kept.has(nameOf(file.path))) file.stamp = undefined;
    }
    found = files;
    result.roots.unshift({ path: `${source}:/`, state: "indexed", files: files.size });
    return { ...result, files: [...files.values()] };
  }

  async function read(
    file: ConversationFile,
    stored: FileRecord | undefined,
    signal: AbortSignal,
  ): Promise<FileReading | undefined> {
    if (file.kind === "note") return await readChunks(file, source, stored, chunking, signal, recipe);
    const copy = keep && !isKept(file) ? await kept.open(nameOf(file.path), file.folder) : undefined;
    const options = { source, recipe, tokens, onLine: copy?.onLine, signal };
    // A copy that does not end where the last reading ended is rewritten from the whole conversation.
    const isWhole = copy === undefined || transcriptCursor(stored)?.lines === copy.lines;
    const reading =
      file.kind === "lines"
        ? await readTranscript(file, isWhole ? stored : undefined, options)
        : await readWhole(file, options);
    await copy?.save();
    return reading;
  }

  return {
    source,
    recipe,
    isSettled: () => rested() !== undefined,
    async scan(signal, indexed, _look, isAsked = true) {
      const rest = isAsked ? undefined : rested();
      if (rest !== undefined) return rest.result;
      const result = await scan(signal, (await indexed()).get(source));
      // After a failure the next search scans again.
      last = result.failed.length > 0 ? undefined : { atMs: performance.now(), result };
      return result;
    },
    isDue: async (file, stored, { reason }) =>
      kindOf(file) !== "lines" ||
      (await isTranscriptDue(file, stored, { reason, recipe, sync: settings.sync.sessions })),
    holdsContent: async (file, stored, signal) => kindOf(file) === "note" && (await holdsContent(file, stored, signal)),
    issueOf: passedOverIn,
    holds: createLineVerifier({
      placeOf: (place) => found.get(place)?.absolutePath,
      async compare(absolutePath, lines, signal, place) {
        const file = found.get(place);
        if (file?.kind === "note") return await notesHold(absolutePath, lines, signal);
        return file === undefined ? lines.map(() => false) : await verifyLines(file, lines, tokens, signal);
      },
    }),
    read: async (file, stored, signal) => await read(file as ConversationFile, stored, signal),
    async readFile(params) {
      const { relPath, audience, signal } = params;
      const shown = relPath.replace(/^\.\//u, "").normalize("NFC");
      if (audience === "shared") throw notReadable(shown, " in a session that others read: it is private.");
      if (!found.has(shown)) await scan(signal);
      const file = found.get(shown);
      if (file === undefined) return { status: "not_found", text: "", path: shown };
      return await readWindow(file, params, async () => {
        // The content decides, which may have changed since it was indexed.
        if (scope === "all" || isInProject(file.folder ?? (await folderIn(file, signal)))) return;
        throw notReadable(
          shown,
          ' here: it is of another project. Ask from there, or set memorySearch.clients.scope to "all".',
        );
      });
    },
    scopeIn(stored) {
      if (scope === "all") return undefined;
      // Usually nothing has changed since the last query, and reading thousands of records is slower than the search.
      if (narrowed === undefined || narrowed.stored !== stored || narrowed.found !== found) {
        const within: string[] = [];
        for (const [place, record] of stored ?? [])
          if (isInProject(recordedState(record).folder ?? found.get(place)?.folder)) within.push(place);
        narrowed = { stored, found, scope: { within, without: [] } };
      }
      return narrowed.scope;
    },
  };
}

async function findFiles(source: ClientSource, folders: readonly string[], signal: AbortSignal): Promise<Finder> {
  const { conversations } = agentOf(source);
  if (conversations === undefined) throw new Error(`${source} keeps no conversations`);
  const finder = new Finder(`${source}:/`, recordReader(conversations), signal);
  // The folder may be a link into a folder with all settings of the user.
  for (const folder of folders) await conversations.find(finder, realPathOf(folder) ?? folder);
  return finder;
}

async function folderIn(file: ConversationFile, signal: AbortSignal): Promise<string | undefined> {
  if (file.kind === "note") return undefined;
  for await (const [number, record] of recordsOf(file, { signal, mostBytes: headBytes })) {
    if ("folder" in record && record.folder !== undefined) return record.folder;
    if (file.kind === "whole" && number > headRecords) break;
  }
  return undefined;
}

function kindOf(file: object): ConversationFile["kind"] {
  return (file as ConversationFile).kind;
}

export interface ClientSurvey {
  readonly source: ClientSource;
  readonly name: string;
  readonly folders: readonly string[];
  readonly conversations: number;
  readonly inProject: number;
  /** Different working folders, as far as they are known. */
  readonly projects: number;
  readonly notes: number;
  readonly bytes: number;
  readonly failed: readonly SyncFailure[];
}

/** Counts the conversations of other agents. Reads the beginnings of transcripts and indexes nothing. */
export async function surveyClients(input: {
  folders: ClientFolders;
  projectDir: string;
  signal: AbortSignal;
}): Promise<ClientSurvey[]> {
  const { signal } = input;
  const isInProject = createProjectMatch(input.projectDir);
  const slices = createTimeSlices(signal);
  const surveys: ClientSurvey[] = [];
  for (const source of clientSources) {
    const folders = input.folders[source] ?? [];
    const { files, result } = await findFiles(source, folders, signal);
    const conversations = [...files.values()].filter(({ kind }) => kind !== "note");
    const projects = new Map<string, number>();
    for (const file of conversations) {
      if (slices.isOver()) await slices.pause();
      const folder = file.folder ?? (await folderIn(file, signal).catch(() => signal.throwIfAborted()));
      if (folder !== undefined && folder !== everywhere) projects.set(folder, (projects.get(folder) ?? 0) + 1);
    }
    const places = new Set([...files.values()].map(({ absolutePath }) => absolutePath));
    surveys.push({
      source,
      name: agentOf(source).name,
      folders,
      conversations: conversations.length,
      inProject: [...projects].reduce((sum, [folder, count]) => sum + (isInProject(folder) ? count : 0), 0),
      projects: projects.size,
      notes: files.size - conversations.length,
      bytes: [...places].reduce((sum, place) => sum + (statSync(place, { throwIfNoEntry: false })?.size ?? 0), 0),
      failed: result.failed,
    });
  }
  return surveys;
}
