import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import type { MemorySource } from "@memslot/core";
import { codeOf } from "@memslot/core/files";
import type { FileRecord } from "../chunk-index.ts";
import { isLasting, mtimeMsOf, stampOf } from "../scan/file-state.ts";
import { withFile } from "../scan/open-file.ts";
import type { ScannedFile } from "../scan/scan.ts";
import type { FileReading } from "../indexed-source.ts";
import { loadStemmers } from "../text/languages/stemmers.ts";
import { createTimeSlices } from "../time-slices.ts";
import { createMessageChunker, type MessageChunker } from "./chunk-messages.ts";
import { type LineChoice, readLines } from "./lines.ts";
import { localDay, renderSaid, type Turn } from "./message-text.ts";
import {
  isObject,
  jsonOf,
  type NumberedRecords,
  readRecord,
  type RecordReader,
  recordsOfLines,
  type TranscriptRecord,
  unknownSize,
} from "./record.ts";

/** One reading ends behind so many new bytes, or so many characters that were said. */
const bytesPerReading = 2 * 1024 * 1024;
const charactersPerReading = 100_000;
/** Of a conversation that is read whole so many characters are taken. */
const maxCharacters = 32_000_000;
/** Several are read at the same time, each a slice in every turn of the event loop. */
const sliceMs = 1;
const linesPerSlice = 32;
const readAttempts = 3;
const markBytes = 4096;

/** What an agent keeps, as one of its files or as a conversation in its database. */
export interface ConversationFile extends ScannedFile {
  /** `lines`: a transcript to which lines are added. `whole`: a conversation that is read from its beginning each time. */
  kind: "note" | "lines" | "whole";
  /** Bytes of the file; `unknownSize` for a part of a database. */
  size: number;
  /** Where the agent was at work, as far as that is known before the file is read, see `createProjectMatch`. */
  folder?: string | undefined;
  /** How its lines are read; absent: as hosts with this kit write them. */
  recordOf?: RecordReader | undefined;
  /** What is in it, each with its number, in order; absent: what its lines say. */
  records?: ((signal: AbortSignal) => NumberedRecords) | undefined;
}

/** What is in a conversation. Of a file of lines only the requested ones. */
export function recordsOf(file: ConversationFile, choice: LineChoice): NumberedRecords {
  return file.records?.(choice.signal) ?? recordsOfLines(file.absolutePath, file.recordOf ?? readRecord, choice);
}

/** What the lines up to a place in a conversation say about those behind it. */
interface Progress {
  turn: Turn;
  /** ISO day of the last time that was seen; empty where none was. */
  day: string;
  /** Lines that could not be read, or not to their end. */
  passedOver: number;
}

/** A place before a line. */
interface Origin extends Progress {
  bytes: number;
  /** Lines before it. */
  lines: number;
}

const beginning: Origin = { bytes: 0, lines: 0, turn: "plain", day: "", passedOver: 0 };

/** How a conversation was read, as it stands in `FileRecord.cursor`. */
interface ConversationCursor {
  /** What the file system reported of the file. */
  stamp?: string | undefined;
  /** Where the agent was at work, if its lines say so. */
  folder?: string | undefined;
  /** Lines that could not be read, or not to their end. */
  passedOver: number;
}

/** How far a transcript was read. */
interface TranscriptCursor extends ConversationCursor {
  /** Bytes that were read. What stands behind them is new, or a line that is not whole yet. */
  bytes: number;
  /** False where the last line was whole but had no line end. */
  ended: boolean;
  /** True where a reading stopped in the middle of a long transcript. */
  more: boolean;
  /** The file's own, which the record does not have while the file may change within the same time stamp. */
  mtimeMs: number;
  /** Hashes of the first bytes and of the last before `bytes`. */
  head: string;
  tail: string;
  /** Where the last chunk is cut from again. */
  from: Origin;
  /** Rendered lines of the first message there that stand in earlier chunks. */
  skip: number;
  /** Lines before `bytes` that have an end. */
  lines?: number | undefined;
}

/** How a conversation was read; undefined for a note, and for what is no cursor. */
export function cursorOf({ cursor }: Pick<FileRecord, "cursor">): ConversationCursor | undefined {
  const value = jsonOf(cursor);
  return isObject(value) && typeof value["passedOver"] === "number"
    ? (value as unknown as ConversationCursor)
    : undefined;
}

/** How far a transcript was read. Undefined for what is no cursor: the transcript is read whole. */
export function transcriptCursor(stored: Pick<FileRecord, "cursor"> | undefined): TranscriptCursor | undefined {
  const cursor = stored && cursorOf(stored);
  return cursor !== undefined && "bytes" in cursor && "from" in cursor ? (cursor as TranscriptCursor) : undefined;
}

/** What of a conversation was skipped, in a few words; undefined where nothing was. */
export function passedOverIn(stored: FileRecord): string | undefined {
  const count = cursorOf(stored)?.passedOver ?? 0;
  return count === 0 ? undefined : `${count} lines were passed over or cut: not JSON, not UTF-8 or too long`;
}

export interface ReadingOptions {
  source: MemorySource;
  recipe: string;
  /** Estimated tokens that one chunk may have. */
  tokens: number;
  /** Receives every line once it is whole, by its number, in their order; never one before `fromLine` of the reading. */
  onLine?: ((number: number, record: TranscriptRecord) => void) | undefined;
  signal: AbortSignal;
}

/**
 * Reads what has come to a transcript since it was read last, or all of it if it is another file by now. A last line
 * that is not whole yet is left for later. Returns `undefined` if the file is gone.
 */
export async function readTranscript(
  file: ConversationFile,
  stored: FileRecord | undefined,
  options: ReadingOptions,
): Promise<FileReading | undefined> {
  for (let attempt = 1; ; attempt++) {
    options.signal.throwIfAborted();
    try {
      return await withFile(file.absolutePath, (handle) => readOpened(handle, file, stored, options));
    } catch (error) {
      const code = codeOf(error);
      if (code === "ENOENT") return undefined;
      // Cloud folders answer so while they fetch a file.
      if (attempt === readAttempts || (code !== "EAGAIN" && code !== "EDEADLK" && code !== "EBUSY")) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 25 * attempt));
  }
}

async function readOpened(
  handle: FileHandle,
  file: ConversationFile,
  stored: FileRecord | undefined,
  options: ReadingOptions,
): Promise<FileReading> {
  const { source, recipe } = options;
  const nowMs = Date.now();
  const stats = await handle.stat({ bigint: true });
  if (!stats.isFile()) throw new Error("is not a regular file");
  const [size, mtimeMs, stamp] = [Number(stats.size), mtimeMsOf(stats), stampOf(stats)];
  const known = stored?.recipe === recipe ? transcriptCursor(stored) : undefined;
  // Lines are only ever added: the same size at another time is a file that was edited.
  const edited = stored?.size === size && known?.stamp !== stamp && !known?.more;
  const cursor = known && !edited && (await continues(handle, known)) ? known : undefined;
  const lastingMs = isLasting(stats, nowMs, known?.stamp === stamp) ? mtimeMs : -1;
  const base = { path: file.path, source, mtimeMs: lastingMs, size, recipe };
  if (stored && cursor && !cursor.more && stored.size === size)
    return { record: { ...base, hash: stored.hash, cursor: stored.cursor }, changed: undefined };

  const from = cursor?.from ?? beginning;
  const chunker = createMessageChunker<Origin>(options.tokens, await loadStemmers());
  const end = await readOn(handle, file, { ...options, chunker, from, cursor, size });
  const { origin, bytes, more } = end;
  const openChunk = chunker.open();
  const marks = await marksOf(handle, bytes);
  const next: TranscriptCursor = {
    bytes,
    ended: bytes === origin.bytes,
    more,
    mtimeMs,
    stamp,
    ...marks,
    passedOver: origin.passedOver,
    from: openChunk?.origin ?? origin,
    skip: openChunk?.skip ?? 0,
    lines: origin.lines,
    folder: cursor?.folder ?? end.folder ?? file.folder,
  };
  const record: FileRecord = {
    ...base,
    // Until the end is reached the file counts as changed.
    mtimeMs: more ? -1 : base.mtimeMs,
    hash: createHash("sha256").update(`${bytes}\0${marks.head}\0${marks.tail}`).digest("hex"),
    cursor: JSON.stringify(next),
  };
  return {
    record,
    changed: { ...record, chunks: chunker.chunks(), ...(cursor ? { fromLine: from.lines + 1 } : {}) },
    more,
  };
}

interface ReadOn extends ReadingOptions {
  chunker: MessageChunker<Origin>;
  from: Origin;
  cursor: TranscriptCursor | undefined;
  size: number;
}

/** `origin`: behind the last line that has an end, where the next reading begins when no chunk is open. */
async function readOn(
  handle: FileHandle,
  { recordOf = readRecord }: ConversationFile,
  { chunker, from, cursor, size, tokens, onLine, signal }: ReadOn,
): Promise<{ origin: Origin; bytes: number; more: boolean; folder: string | undefined }> {
  // Up to there nothing is new.
  const knownBytes = cursor?.bytes ?? 0;
  const slices = createTimeSlices(signal, sliceMs);
  let origin = from;
  let skip = cursor?.skip ?? 0;
  let folder: string | undefined;
  for await (const lines of readLines(handle, origin.bytes, size, signal))
    for (const { start, end, bytes, ended } of lines) {
      const record = recordOf(bytes);
      // It has no end yet and is not whole either.
      if (!ended && (record.kind === "broken" || record.kind === "blank"))
        return { origin, bytes: start, more: false, folder };
      const { progress, said } = follow(origin, record, tokens);
      const behind: Origin = { ...progress, bytes: end, lines: origin.lines + 1 };
      folder ??= "folder" in record ? record.folder : undefined;
      chunker.reach(start);
      if (said !== undefined) {
        const message = { ...said, line: behind.lines, startByte: start, origin };
        for (let index = skip; index < said.rendered.length; index += linesPerSlice) {
          chunker.add(message, index, index + linesPerSlice);
          if (slices.isOver()) await slices.pause();
        }
      }
      // The line may yet turn out to be longer: then it is read again.
      if (!ended) return { origin, bytes: end, more: false, folder };
      onLine?.(behind.lines, record);
      origin = behind;
      skip = 0;
      const isEnough = end >= knownBytes + bytesPerReading || chunker.characters() >= charactersPerReading;
      if (isEnough && end > knownBytes && end < size) return { origin, bytes: end, more: true, folder };
      if (slices.isOver()) await slices.pause();
    }
  return { origin, bytes: origin.bytes, more: false, folder };
}

/** Reads a conversation from its beginning. Its text is kept once, as chunks. */
export async function readWhole(
  file: ConversationFile,
  { source, recipe, tokens, onLine, signal }: ReadingOptions,
): Promise<FileReading> {
  const chunker = createMessageChunker<number>(tokens, await loadStemmers());
  const slices = createTimeSlices(signal);
  const hash = createHash("sha256");
  let before: Progress = beginning;
  let { folder } = file;
  let bytes = 0;
  for await (const [line, record] of recordsOf(file, { signal })) {
    if (slices.isOver()) await slices.pause();
    onLine?.(line, record);
    if ("folder" in record) folder ??= record.folder;
    const isTooMuch = record.kind === "message" && chunker.characters() > maxCharacters;
    const { progress, said } = follow(before, isTooMuch ? { kind: "broken" } : record, tokens);
    before = progress;
    if (said === undefined) continue;
    const { day, rendered } = said;
    hash.update(JSON.stringify([line, day, rendered]));
    bytes += rendered.reduce((sum, each) => sum + Buffer.byteLength(each), 0);
    chunker.add({ ...said, line, startByte: 0, origin: line }, 0, rendered.length);
  }
  const cursor: ConversationCursor = { stamp: file.stamp, folder, passedOver: before.passedOver };
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

/** What a record says, if anything, and what holds behind it. */
function follow(
  before: Progress,
  record: TranscriptRecord,
  tokens: number,
): { progress: Progress; said?: { role: "user" | "assistant"; day: string; rendered: string[] } } {
  let { turn, day, passedOver } = before;
  if (record.kind === "broken" || (record.kind === "message" && record.cut)) passedOver++;
  if ("timeMs" in record && record.timeMs !== undefined) day = localDay(record.timeMs);
  // What saves notes before a compaction ends with it.
  if (record.kind === "compaction") turn = "plain";
  if (record.kind !== "message") return { progress: { turn, day, passedOver } };
  const { role } = record;
  const { rendered, turn: next } = renderSaid(record, turn, tokens);
  const progress = { turn: next, day, passedOver };
  return rendered.length === 0 ? { progress } : { progress, said: { role, day, rendered } };
}

/** Hashes that tell whether a file still begins, and goes on up to `bytes`, as it did. */
async function marksOf(handle: FileHandle, bytes: number): Promise<{ head: string; tail: string }> {
  const headBytes = Math.min(bytes, markBytes);
  return { head: await hashOf(handle, 0, headBytes), tail: await hashOf(handle, bytes - headBytes, headBytes) };
}

/** Whether a file is the one that was read, grown or not. */
export async function continues(handle: FileHandle, cursor: TranscriptCursor): Promise<boolean> {
  if (!cursor.ended && !(await endsLine(handle, cursor.bytes))) return false;
  const { head, tail } = await marksOf(handle, cursor.bytes);
  return head === cursor.head && tail === cursor.tail;
}

/** A line that was taken as whole has ended, or nothing came behind it yet. */
async function endsLine(handle: FileHandle, position: number): Promise<boolean> {
  const next = Buffer.alloc(2);
  const { bytesRead } = await handle.read(next, 0, 2, position);
  const text = next.toString("latin1", 0, bytesRead);
  return text === "" || text === "\r" || text === "\r\n" || text.startsWith("\n");
}

async function hashOf(handle: FileHandle, position: number, length: number): Promise<string> {
  const bytes = Buffer.alloc(length);
  let read = 0;
  while (read < length) {
    const { bytesRead } = await handle.read(bytes, read, length - read, position + read);
    if (bytesRead === 0) break;
    read += bytesRead;
  }
  return createHash("sha256").update(bytes.subarray(0, read)).digest("hex");
}
