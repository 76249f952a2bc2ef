import { createHash } from "node:crypto";
import type { MemorySource, MemorySearchSettings } from "@memslot/core";
import { type ChunkingOptions, chunkerVersion } from "../text/chunk-markdown.ts";
import { pathNamesVersion } from "../text/note-context.ts";
import type { FileRecord } from "../index-row-types.ts";
import { isLasting, mtimeMsOf, noteCursor, stampOf } from "./file-state.ts";
import { noteText, TextLines, textVersion, whyNotText } from "../text/file-text.ts";
import { holdsLines, type NoteBytes } from "./note-worker-tasks.ts";
import { noteTask } from "./note-worker-client.ts";
import { redactionVersion } from "../secrets/redact-secrets.ts";
import { pathTimesVersion } from "../text/times/note-days.ts";
import { readSettled } from "./open-file.ts";
import { type ScannedFile, scanMemory } from "./scan.ts";
import { wordsVersion } from "../text/index-terms.ts";
import type { FileReading, IndexedSource } from "../indexed-source.ts";
import path from "node:path";
import { createLineVerifier } from "./verify-lines.ts";
import { isMarkdown } from "./folder-rules.ts";
import { type MemoryRoot, memoryRoots, type Workspace, placeOf } from "./memory-roots.ts";

/** How files are redacted and cut, as a name: files that were done otherwise are done again. */
export function recipeOf(chunking: ChunkingOptions): string {
  return `text${textVersion} chunks${chunkerVersion}:${chunking.tokens}/${chunking.overlap} words${wordsVersion} names${pathNamesVersion} times${pathTimesVersion} redaction${redactionVersion}`;
}

/** Reads and cuts a file; only the record if unchanged, undefined if gone. Chunks are redacted. */
export async function readChunks(
  file: ScannedFile,
  source: MemorySource,
  stored: FileRecord | undefined,
  chunking: ChunkingOptions,
  signal: AbortSignal,
  recipe: string = recipeOf(chunking),
): Promise<FileReading | undefined> {
  const read = await readSettled(file.absolutePath, stored?.size, signal);
  if (!read) return undefined;
  const hash = createHash("sha256").update(read.bytes).digest("hex");
  // Without a reliable stamp the content is compared next time.
  const lasts = read.settled && isLasting(read.stats, read.lookedAtMs, stored?.hash === hash);
  const notText = whyNotText(read.bytes);
  const record: FileRecord = {
    path: file.path,
    source,
    hash,
    mtimeMs: read.settled ? mtimeMsOf(read.stats) : -1,
    size: read.bytes.length,
    recipe,
    cursor: noteCursor({ stamp: lasts ? stampOf(read.stats) : undefined, skipped: notText }),
  };
  if (stored?.hash === hash && stored.recipe === recipe) return { record, changed: undefined };
  if (notText !== undefined) return { record, changed: { ...record, chunks: [] } };

  const chunks = await noteTask("cut", { bytes: read.bytes, path: file.path, chunking }, signal);
  return { record, changed: { ...record, chunks } };
}

/** Whether a note still has the content that the record is about. Throws what the file system throws. */
export async function holdsContent(file: ScannedFile, { hash }: FileRecord, signal: AbortSignal): Promise<boolean> {
  const read = await readSettled(file.absolutePath, undefined, signal);
  return read !== undefined && createHash("sha256").update(read.bytes).digest("hex") === hash;
}

/** Compares what the index says of a note with the note, as it would be copied into the index now. */
export async function notesHold(
  absolutePath: string,
  found: NonNullable<NoteBytes["found"]>,
  signal: AbortSignal,
): Promise<boolean[]> {
  const read = await readSettled(absolutePath, undefined, signal);
  if (!read) return found.map(() => false);
  const written = new TextLines(noteText(read.bytes));
  const held = found.map((each) => holdsLines(each, written.slice(each.startLine, each.endLine)));
  if (held.every(Boolean)) return held;
  const redacted = await noteTask("hold", { bytes: read.bytes, found }, signal);
  return held.map((isHeld, index) => isHeld || redacted[index] === true);
}

export function createNotesSource(
  workspace: Workspace & { settings: Pick<MemorySearchSettings, "chunking"> },
): IndexedSource {
  const { workspaceDir, settings } = workspace;
  const known: Parameters<typeof memoryRoots>[1] = new Map();
  let roots: MemoryRoot[] | undefined;
  const rootsNow = (): MemoryRoot[] => {
    if (roots === undefined) queueMicrotask(() => (roots = undefined));
    return (roots ??= memoryRoots(workspace, known));
  };
  return {
    source: "memory",
    recipe: recipeOf(settings.chunking),
    scan: async (signal, _, look) => await scanMemory(workspace, signal, look, known),
    holdsContent,
    holds: createLineVerifier({
      placeOf(relPath) {
        const wanted = path.resolve(workspaceDir, relPath);
        const place = isMarkdown(wanted) ? placeOf(wanted, rootsNow()) : undefined;
        return place?.link === undefined ? place?.absolutePath : undefined;
      },
      compare: notesHold,
    }),
    read: async (file, stored, signal) => await readChunks(file, "memory", stored, settings.chunking, signal),
  };
}
