import path from "node:path";
import { type ClientSource, isConversation, type MemorySearchSettings } from "@memslot/core";
import type { FileRecord } from "../../chunk-index.ts";
import type { PathScope } from "../../chunk-store.ts";
import { holdsContent, notesHold, readChunks, recipeOf, skippedBecause, stampInNote } from "../../files/read-chunks.ts";
import type { ScanResult } from "../../files/scan.ts";
import type { FileReading, IndexedSource } from "../../indexed-source.ts";
import { createHeldLines } from "../../search/held-lines.ts";
import { redactCopies } from "../../secrets/redact-copies.ts";
import { redactionVersion } from "../../secrets/redact-secrets.ts";
import { readTranscript, localDay, renderSaid, type TranscriptReading } from "../read-transcript.ts";
import { parseCursor, passedOverIn } from "../cursor.ts";
import { createTranscriptDue } from "../transcript-due.ts";
import { areSaid } from "../transcript-holds.ts";
import { type RecordReader, readRecord } from "../record.ts";
import { wordsVersion } from "../../text/words.ts";
import { clients } from "./all-agents.ts";
import { type ClientFile, recordsOf, unknownSize } from "./agent.ts";
import { findFiles, folderIn } from "./find-files.ts";
import { KeptCopies, keptRecord } from "./kept-copies.ts";
import { createProjectMatch } from "./project.ts";
import { createHash } from "node:crypto";
import { createTimeSlices } from "../../time-slices.ts";
import { createMessageChunker } from "../chunk-messages.ts";
import type { Turn } from "../generated-text.ts";
import { loadStemmers } from "../../text/languages/stemmers.ts";

/** Part of the recipe: raise it when the same conversation gives other chunks. */
const clientVersion = 2;
/** For so long a search does not look again at what other programs keep. */
const restMs = 30_000;

/** A source whose files belong to projects. */
export interface ClientIndexedSource extends IndexedSource {
  /** What of it a session in this project may see. */
  scopeIn(stored: ReadonlyMap<string, FileRecord> | undefined): PathScope | undefined;
  /** Whether a session in this project may see a file as it is now. Throws what reading it throws. */
  mayShow(file: ClientFile, signal: AbortSignal): Promise<boolean>;
  /** A file as it was found last, with how its lines are read. */
  fileOf(path: string, signal: AbortSignal): Promise<{ file: ClientFile; recordOf: RecordReader } | undefined>;
}

/**
 * The conversations and notes of another program as a source of the index: read where the program keeps them, with nothing
 * changed there. Transcripts are read on from where they ended last time.
 */
export function createClientSource(input: {
  source: ClientSource;
  settings: MemorySearchSettings;
  stateDir: string;
  agentId: string;
  projectDir: string;
}): ClientIndexedSource {
  const { source, settings, stateDir, agentId } = input;
  const { chunking } = settings;
  const { tokens } = chunking;
  const client = clients[source];
  const { scope, keep, folders } = settings.clients;
  let areClean = !keep;
  const kept = new KeptCopies(path.join(stateDir, "agents", agentId, "kept", source));
  const recipe = `client${clientVersion}:${tokens} words${wordsVersion} redaction${redactionVersion} ${recipeOf(chunking)}`;
  const due = createTranscriptDue({ settings, recipe, lookup: async () => undefined });
  const isInProject = createProjectMatch(input.projectDir);
  let found: ReadonlyMap<string, ClientFile> = new Map();
  let narrowed: { stored: unknown; found: unknown; scope: PathScope } | undefined;
  let last: { atMs: number; result: ScanResult } | undefined;
  const rested = (): typeof last => (last && performance.now() - last.atMs < restMs ? last : undefined);
  const nameOf = (place: string): string => place.slice(source.length + 2);
  const isKept = ({ absolutePath }: ClientFile): boolean => absolutePath.startsWith(kept.folder + path.sep);
  const recordOf = (file: ClientFile): RecordReader => (isKept(file) ? keptRecord : client.recordOf);

  async function look(signal: AbortSignal, stored?: ReadonlyMap<string, FileRecord>): Promise<ScanResult> {
    const { files, result } = await findFiles(client, folders[source] ?? [], signal);
    const all = new Map(files);
    for (const file of all.values()) {
      const before = file.size === unknownSize ? stored?.get(file.path) : undefined;
      // What has not changed has the size that it had.
      if (before !== undefined && conversationCursor(before)?.stamp === file.stamp) file.size = before.size;
    }
    areClean ||= await redactCopies(kept.folder, path.join(stateDir, "agents", agentId, `kept-${source}.rules`));
    if (keep) await addKept(all, result, signal);
    // What has lost its copy is read again, to have one.
    if (keep)
      for (const file of all.values())
        if (file.kind !== "note" && !isKept(file) && !kept.has(nameOf(file.path))) file.stamp = undefined;
    found = all;
    result.roots.unshift({ path: `${source}:/`, state: "indexed", files: all.size });
    return { ...result, files: [...all.values()] };
  }

  /** What was kept of what the program has deleted since. */
  async function addKept(files: Map<string, ClientFile>, { unknown }: ScanResult, signal: AbortSignal): Promise<void> {
    // What cannot be looked at may still be there.
    if (unknown.length > 0) return;
    const own = await findFiles({ ...client, find: (finding) => kept.find(finding) }, [kept.folder], signal);
    for (const [place, file] of own.files) if (!files.has(place)) files.set(place, file);
  }

  async function read(
    file: ClientFile,
    stored: FileRecord | undefined,
    signal: AbortSignal,
  ): Promise<FileReading | undefined> {
    if (file.kind === "note") {
      const own = stored && { ...stored, recipe: stored.recipe === recipe ? recipeOf(chunking) : stored.recipe };
      const reading = await readChunks(file, source, own, chunking, signal);
      if (reading === undefined) return undefined;
      const record = { ...reading.record, recipe };
      return { record, changed: reading.changed && { ...reading.changed, recipe } };
    }
    const copy = keep && !isKept(file) ? await kept.open(nameOf(file.path), file.folder) : undefined;
    // A copy that does not end where the reading has ended is made anew, with it.
    const isWhole = copy === undefined || (stored && parseCursor(stored.cursor)?.lines) === copy.lines;
    const known = isWhole ? stored : undefined;
    const how = { source, recipe, tokens, recordOf: recordOf(file), onLine: copy?.onLine, signal };
    const reading =
      file.kind === "lines"
        ? await readTranscript({ ...how, file, stored: known, folder: file.folder })
        : await readConversation(file, how);
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
      const result = await look(signal, (await indexed()).get(source));
      // Of what could not be looked at, the next search asks again.
      last = result.failed.length > 0 ? undefined : { atMs: performance.now(), result };
      return result;
    },
    isDue: async (file, stored, params) =>
      kindOf(file) !== "lines" || (await due(file, stored, { reason: params.reason })),
    stampOf: (stored) => (isConversation(stored) ? cursorOf(stored)?.stamp : stampInNote(stored)),
    holdsContent: async (file, stored, signal) => kindOf(file) === "note" && (await holdsContent(file, stored, signal)),
    skippedBecause: (stored) => (isConversation(stored) ? undefined : skippedBecause(stored)),
    issueOf: (stored) => passedOverIn(cursorOf(stored)),
    holds: createHeldLines({
      placeOf: (place) => found.get(place)?.absolutePath,
      async compare(_absolutePath, lines, signal, place) {
        const file = found.get(place);
        if (file === undefined) return lines.map(() => false);
        if (file.kind === "note") return await notesHold(file.absolutePath, lines, signal);
        return await areSaid(lines, tokens, signal, (isAsked) => recordsOf(file, recordOf(file), { signal, isAsked }));
      },
    }),
    read: async (file, stored, signal) => await read(file as ClientFile, stored, signal),
    mayShow: async (file, signal) =>
      scope === "all" || isInProject(file.folder ?? (await folderIn(file, recordOf(file), signal))),
    async fileOf(place, signal) {
      if (!found.has(place)) await look(signal);
      const file = found.get(place);
      return file && { file, recordOf: recordOf(file) };
    },
    scopeIn(stored) {
      if (scope === "all") return undefined;
      // As a rule nothing has changed since the last question, and reading thousands of records takes longer than the search.
      if (narrowed === undefined || narrowed.stored !== stored || narrowed.found !== found) {
        const within: string[] = [];
        for (const [place, record] of stored ?? [])
          if (isInProject(cursorOf(record)?.folder ?? found.get(place)?.folder)) within.push(place);
        narrowed = { stored, found, scope: { within, without: [] } };
      }
      return narrowed.scope;
    },
  };
}

function kindOf(file: object): ClientFile["kind"] {
  return (file as ClientFile).kind;
}

/** What the record of a conversation says of its reading; undefined for a note. */
function cursorOf(
  stored: FileRecord,
): { stamp?: string | undefined; folder?: string | undefined; passedOver: number } | undefined {
  return parseCursor(stored.cursor) ?? conversationCursor(stored);
}

/** Of one conversation so many characters are taken. */
const maxCharacters = 32_000_000;

/** What the record of a conversation says of how it was read. */
interface ConversationCursor {
  stamp?: string | undefined;
  folder?: string | undefined;
  passedOver: number;
}

/** Undefined for a record of something else. */
function conversationCursor({ cursor }: Pick<FileRecord, "cursor">): ConversationCursor | undefined {
  try {
    const value = JSON.parse(cursor ?? "") as ConversationCursor | null;
    return typeof value?.passedOver === "number" ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Reads a conversation from its beginning. Its text is kept once, as chunks. */
async function readConversation(
  file: ClientFile,
  { source, recipe, tokens, onLine, signal, recordOf = readRecord }: Omit<TranscriptReading, "file" | "stored">,
): Promise<FileReading> {
  const chunker = createMessageChunker<number>(tokens, await loadStemmers());
  const slices = createTimeSlices(signal);
  const hash = createHash("sha256");
  let bytes = 0;
  let [turn, day, folder, passedOver]: [Turn, string, string | undefined, number] = ["plain", "", file.folder, 0];
  for await (const [line, record] of recordsOf(file, recordOf, { signal })) {
    if (slices.isOver()) await slices.pause();
    onLine?.(line, record);
    const isFull = chunker.characters() > maxCharacters;
    if (record.kind === "broken" || (record.kind === "message" && (record.cut || isFull))) passedOver++;
    if (record.kind === "broken" || record.kind === "blank") continue;
    if (record.timeMs !== undefined) day = localDay(record.timeMs);
    if ("folder" in record) folder ??= record.folder;
    if (record.kind === "compaction") turn = "plain";
    if (record.kind !== "message" || isFull) continue;
    const { role } = record;
    const said = renderSaid(record, turn, tokens);
    ({ turn } = said);
    const { rendered } = said;
    if (rendered.length === 0) continue;
    hash.update(JSON.stringify([line, day, rendered]));
    bytes += rendered.reduce((sum, each) => sum + Buffer.byteLength(each), 0);
    chunker.add({ line, startByte: 0, role, day, rendered, origin: line }, 0, rendered.length);
  }
  const cursor: ConversationCursor = { stamp: file.stamp, folder, passedOver };
  const record: FileRecord = {
    path: file.path,
    source,
    mtimeMs: file.stamp === undefined ? -1 : file.mtimeMs,
    size: file.size === unknownSize ? bytes : file.size,
    recipe,
    hash: hash.digest("hex"),
    cursor: JSON.stringify(cursor),
  };
  return { record, changed: { ...record, chunks: chunker.chunks() } };
}
