import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import type { MemorySearchSettings, MemorySource } from "@memslot/core";
import type { FileRecord } from "../index-row-types.ts";
import { isLasting, mtimeMsOf, type RecordedState, recordedState, stampOf } from "../scan/file-state.ts";
import { untilRead, withFile } from "../scan/open-file.ts";
import type { ScannedFile } from "../scan/scan.ts";
import type { FileReading } from "../indexed-source.ts";
import { loadStemmers } from "../text/languages/chunk-terms.ts";
import { createTimeSlices } from "../time-slices.ts";
import { isoDate, localDay } from "../text/times/calendar.ts";
import { MessageChunker, type Origin, type RenderedMessage, renderSaid } from "./message-chunks.ts";
import {
  type LineChoice,
  type NumberedRecords,
  readLines,
  readRecord,
  type RecordReader,
  recordsOfLines,
  type TranscriptRecord,
  unknownSize,
} from "./transcript-lines.ts";

/** One reading ends after so many new bytes, or so many characters of messages. */
const bytesPerReading = 2 * 1024 * 1024;
const charactersPerReading = 100_000;
const maxCharacters = 32_000_000;
/** Several readings run at the same time, each for a slice per turn of the event loop. */
const sliceMs = 1;
const linesPerSlice = 32;
const markBytes = 4096;

export interface ConversationFile extends ScannedFile {
  /** `lines`: a transcript that grows. `whole`: a conversation that is read from its beginning each time. */
  kind: "note" | "lines" | "whole";
  /** In bytes; `unknownSize` for a part of a database. */
  size: number;
  /** The working folder, if it is known before the file is read, in the form of `createProjectMatch`. */
  folder?: string | undefined;
  recordOf?: RecordReader | undefined;
  records?: ((signal: AbortSignal) => NumberedRecords) | undefined;
}

/** The records of a conversation. Of a file only the requested lines. */
export function recordsOf(file: ConversationFile, choice: LineChoice): NumberedRecords {
  return file.records?.(choice.signal) ?? recordsOfLines(file.absolutePath, file.recordOf ?? readRecord, choice);
}

const beginning: Origin = { bytes: 0, lines: 0, turn: "plain", day: "", passedOver: 0 };

interface TranscriptCursor extends RecordedState {
  bytes: number;
  /** False if the last line was complete but had no line end. */
  ended: boolean;
  /** True if the reading stopped in a long transcript. */
  more: boolean;
  /** Hashes of the first bytes and of the last before `bytes`. */
  head: string;
  tail: string;
  from: Origin;
  /** Rendered lines of the first message there that are in earlier chunks. */
  skip: number;
  /** Complete lines before `bytes`. */
  lines?: number | undefined;
}

/** The cursor of a record. Undefined: the transcript is read whole. */
export function transcriptCursor(stored: Pick<FileRecord, "cursor"> | undefined): TranscriptCursor | undefined {
  const cursor = recordedState(stored ?? {});
  return "bytes" in cursor && "from" in cursor ? (cursor as TranscriptCursor) : undefined;
}

/** Reports skipped and cut lines; undefined if there are none. */
export function passedOverIn(stored: FileRecord): string | undefined {
  const count = recordedState(stored).passedOver ?? 0;
  return count === 0 ? undefined : `skipped or cut lines: ${count} (not JSON, not UTF-8 or too long)`;
}

export interface ReadingOptions {
  source: MemorySource;
  recipe: string;
  tokens: number;
  /** Receives complete lines in order, none before `fromLine` of the reading. */
  onLine?: ((number: number, record: TranscriptRecord) => void) | undefined;
  signal: AbortSignal;
}

/** Reads the new lines of a transcript, or all of another file. `undefined`: no file. */
export async function readTranscript(
  file: ConversationFile,
  stored: FileRecord | undefined,
  options: ReadingOptions,
): Promise<FileReading | undefined> {
  return await untilRead(options.signal, () =>
    withFile(file.absolutePath, (handle) => readOpened(handle, file, stored, options)),
  );
}

async function readOpened(
  handle: FileHandle,
  file: ConversationFile,
  stored: FileRecord | undefined,
  { source, recipe, tokens, onLine, signal }: ReadingOptions,
): Promise<FileReading> {
  const nowMs = Date.now();
  const stats = await handle.stat({ bigint: true });
  if (!stats.isFile()) throw new Error("is not a regular file");
  const [size, mtimeMs, stamp] = [Number(stats.size), mtimeMsOf(stats), stampOf(stats)];
  const known = stored?.recipe === recipe ? transcriptCursor(stored) : undefined;
  // Transcripts only grow: the same size at another time means an edited file.
  const edited = stored?.size === size && known?.stamp !== stamp && !known?.more;
  const cursor = known && !edited && (await continues(handle, known)) ? known : undefined;
  const lastingMs = isLasting(stats, nowMs, known?.stamp === stamp) ? mtimeMs : -1;
  const base = { path: file.path, source, mtimeMs: lastingMs, size, recipe };
  if (stored && cursor && !cursor.more && stored.size === size)
    return { record: { ...base, hash: stored.hash, cursor: stored.cursor }, changed: undefined };

  const { recordOf = readRecord } = file;
  const chunker = new MessageChunker(tokens, await loadStemmers());
  const slices = createTimeSlices(signal, { sliceMs });
  const from = cursor?.from ?? beginning;
  // After the last line with an end: the next reading begins there if no chunk is open.
  let origin = from;
  let { bytes } = origin;
  let folder = cursor?.folder;
  let more = false;

  async function readOn(): Promise<void> {
    let skip = cursor?.skip ?? 0;
    for await (const lines of readLines(handle, from.bytes, size, signal))
      for (const { end, bytes: line, ended } of lines) {
        const record = recordOf(line);
        if (!ended && (record.kind === "broken" || record.kind === "blank")) return;
        const message = follow(origin, record, tokens);
        if ("folder" in record) folder ??= record.folder;
        chunker.reach(origin.bytes);
        for (let index = skip; index < message.rendered.length; index += linesPerSlice) {
          chunker.add(message, index, index + linesPerSlice);
          if (slices.isOver()) await slices.pause();
        }
        bytes = end;
        // The line may still grow: then it is read again.
        if (!ended) return;
        origin = { ...message.next, bytes: end, lines: origin.lines + 1 };
        onLine?.(origin.lines, record);
        skip = 0;
        // Nothing is new before the end of the last reading.
        const newBytes = end - (cursor?.bytes ?? 0);
        const isEnough = newBytes >= bytesPerReading || chunker.characters >= charactersPerReading;
        more = isEnough && newBytes > 0 && end < size;
        if (more) return;
        if (slices.isOver()) await slices.pause();
      }
  }
  await readOn();

  const open = chunker.open();
  const marks = await marksOf(handle, bytes);
  const next: TranscriptCursor = {
    bytes,
    ended: bytes === origin.bytes,
    more,
    stamp,
    ...marks,
    passedOver: origin.passedOver,
    from: open?.origin ?? origin,
    skip: open?.skip ?? 0,
    lines: origin.lines,
    folder: folder ?? file.folder,
  };
  const record: FileRecord = {
    ...base,
    // Until its end the file counts as changed.
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

export async function readWhole(
  file: ConversationFile,
  { source, recipe, tokens, onLine, signal }: ReadingOptions,
): Promise<FileReading> {
  const chunker = new MessageChunker(tokens, await loadStemmers());
  const slices = createTimeSlices(signal);
  const hash = createHash("sha256");
  let origin = beginning;
  let { folder } = file;
  let bytes = 0;
  for await (const [line, record] of recordsOf(file, { signal })) {
    if (slices.isOver()) await slices.pause();
    onLine?.(line, record);
    if ("folder" in record) folder ??= record.folder;
    const isTooMuch = record.kind === "message" && chunker.characters > maxCharacters;
    const message = follow({ ...origin, lines: line - 1 }, isTooMuch ? { kind: "broken" } : record, tokens);
    const { next, day, rendered } = message;
    origin = next;
    if (rendered.length === 0) continue;
    hash.update(JSON.stringify([line, day, rendered]));
    bytes += rendered.reduce((sum, each) => sum + Buffer.byteLength(each), 0);
    chunker.add(message, 0, rendered.length);
  }
  const cursor: RecordedState = { stamp: file.stamp, folder, passedOver: origin.passedOver };
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

/** Renders the message of a record, and returns the state after it. */
function follow(origin: Origin, record: TranscriptRecord, tokens: number): RenderedMessage & { next: Origin } {
  let { turn, day, passedOver } = origin;
  let rendered: string[] = [];
  if (record.kind === "broken" || (record.kind === "message" && record.cut)) passedOver++;
  if ("timeMs" in record && record.timeMs !== undefined) day = isoDate(localDay(new Date(record.timeMs)));
  if (record.kind === "compaction") turn = "plain";
  if (record.kind === "message") ({ rendered, turn } = renderSaid(record, turn, tokens));
  const role = record.kind === "message" ? record.role : "assistant";
  return { origin, role, day, rendered, next: { ...origin, turn, day, passedOver } };
}

/** Hashes that show whether a file is the same up to `bytes`. */
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

/** Whether a last line without an end has ended or is still the last. */
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

const background: ReadonlySet<string> = new Set(["search", "watch", "interval"]);

/** Whether a sync reads a changed transcript: in the background only above the thresholds. */
export async function isTranscriptDue(
  file: ScannedFile,
  stored: FileRecord | undefined,
  { reason, recipe, sync }: { reason: string; recipe: string; sync: MemorySearchSettings["sync"]["sessions"] },
): Promise<boolean> {
  if (!background.has(reason) && (reason !== "compaction" || sync.postCompactionForce)) return true;
  const cursor = stored?.recipe === recipe ? transcriptCursor(stored) : undefined;
  if (!cursor || cursor.more || file.size <= (stored?.size ?? 0)) return true;
  if (file.size - cursor.bytes >= sync.deltaBytes) return true;
  try {
    return await withFile(file.absolutePath, async (handle) => {
      if (!(await continues(handle, cursor))) return true;
      let lines = 0;
      for await (const more of readLines(handle, cursor.bytes, file.size)) {
        lines += more.filter(({ ended }) => ended).length;
        if (lines >= sync.deltaMessages) return true;
      }
      return sync.deltaMessages <= 0;
    });
  } catch {
    // Reading it reports the error.
    return true;
  }
}
