import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { MemorySource } from "@memslot/core";
import type { FileRecord } from "../chunk-index.ts";
import type { FileReading } from "../indexed-source.ts";
import { openForReading } from "../files/file-kind.ts";
import { isLasting, mtimeMsOf, stampOf } from "../files/file-stamp.ts";
import type { ScannedFile } from "../files/scan.ts";
import { loadStemmers } from "../text/languages/stemmers.ts";
import { createMessageChunker, type MessageChunker, type RenderedMessage } from "./chunk-messages.ts";
import { readAssistantText, readUserText, type Turn } from "./generated-text.ts";
import { renderMessage } from "./message-text.ts";
import { continues, marksOf, type Origin, parseCursor, type TranscriptCursor } from "./cursor.ts";
import { readLines, type TranscriptLine } from "./lines.ts";
import { readRecord, type RecordReader, type SaidRecord, type TranscriptRecord } from "./record.ts";
import { codeOf } from "@memslot/core/files";

/** One reading ends behind so many new bytes, or so many characters that were said. */
const bytesPerReading = 2 * 1024 * 1024;
const charactersPerReading = 100_000;
/** Several are read at the same time, each a slice in every turn of the event loop. */
const sliceMs = 1;
const piecesPerSlice = 32;
const readAttempts = 3;
const beginning: Origin = { bytes: 0, lines: 0, turn: "plain", day: "", passedOver: 0 };

export interface TranscriptReading {
  file: ScannedFile;
  stored: FileRecord | undefined;
  source: MemorySource;
  recipe: string;
  /** Estimated tokens that one chunk may have. */
  tokens: number;
  /** Where its program was at work, where its lines do not say so. */
  folder?: string | undefined;
  /** How its lines are read; as hosts with this kit write them, unless given. */
  recordOf?: RecordReader | undefined;
  /** Is told of every line once it is whole, by its number, in their order; never of one before `fromLine` of the reading. */
  onLine?: ((number: number, record: TranscriptRecord) => void) | undefined;
  signal: AbortSignal;
}

/**
 * Reads what has come to a transcript since it was read last, or all of it where it is another file by now. A last line
 * that is not whole yet is left for later. Gives `undefined` where the file is gone.
 */
export async function readTranscript(reading: TranscriptReading): Promise<FileReading | undefined> {
  for (let attempt = 1; ; attempt++) {
    reading.signal.throwIfAborted();
    let handle;
    try {
      handle = await open(reading.file.absolutePath, openForReading);
      return await readOpened(handle, reading);
    } catch (error) {
      const code = codeOf(error);
      if (code === "ENOENT") return undefined;
      // Cloud folders answer so while they fetch a file.
      if (attempt === readAttempts || (code !== "EAGAIN" && code !== "EDEADLK" && code !== "EBUSY")) throw error;
    } finally {
      await handle?.close();
    }
    await new Promise((resolve) => setTimeout(resolve, 25 * attempt));
  }
}

async function readOpened(handle: FileHandle, reading: TranscriptReading): Promise<FileReading> {
  const { file, stored, recipe } = reading;
  const nowMs = Date.now();
  const stats = await handle.stat({ bigint: true });
  const [size, mtimeMs, stamp] = [Number(stats.size), mtimeMsOf(stats), stampOf(stats)];
  if (!stats.isFile()) throw new Error("is not a regular file");
  const known = stored?.recipe === recipe ? parseCursor(stored.cursor) : undefined;
  // Lines are only ever added: the same size at another time is a file that somebody has edited.
  const edited = stored?.size === size && known?.stamp !== stamp && !known?.more;
  const cursor = known && !edited && (await continues(handle, known)) ? known : undefined;
  const base = {
    path: file.path,
    source: reading.source,
    mtimeMs: isLasting(stats, nowMs, known?.stamp === stamp) ? mtimeMs : -1,
    size,
    recipe,
  };
  if (stored && cursor && !cursor.more && stored.size === size) {
    return { record: { ...base, hash: stored.hash, cursor: stored.cursor }, changed: undefined };
  }

  const from = cursor?.from ?? beginning;
  const chunker = createMessageChunker<Origin>(reading.tokens, await loadStemmers());
  const end = await readOn(handle, reading, { chunker, from, cursor, sizeBytes: size });
  const openChunk = chunker.open();
  const marks = await marksOf(handle, end.bytes);
  const next: TranscriptCursor = {
    bytes: end.bytes,
    ended: end.ended,
    more: end.more,
    mtimeMs,
    stamp,
    ...marks,
    passedOver: end.origin.passedOver,
    from: openChunk?.origin ?? end.origin,
    skip: openChunk?.skip ?? 0,
    lines: end.origin.lines,
    folder: cursor?.folder ?? end.folder ?? reading.folder,
  };
  const record: FileRecord = {
    ...base,
    // Until the end is reached the file counts as changed.
    mtimeMs: end.more ? -1 : base.mtimeMs,
    hash: createHash("sha256").update(`${end.bytes}\0${marks.head}\0${marks.tail}`).digest("hex"),
    cursor: JSON.stringify(next),
  };
  return {
    record,
    changed: { ...record, chunks: chunker.chunks(), ...(cursor ? { fromLine: from.lines + 1 } : {}) },
    more: end.more,
  };
}

/** Where a reading has ended. `origin` is where the next begins when no chunk is open. */
interface ReadingEnd {
  bytes: number;
  ended: boolean;
  more: boolean;
  origin: Origin;
  folder?: string | undefined;
}

async function readOn(
  handle: FileHandle,
  { tokens, recordOf = readRecord, onLine, signal }: TranscriptReading,
  given: { chunker: MessageChunker<Origin>; from: Origin; cursor: TranscriptCursor | undefined; sizeBytes: number },
): Promise<ReadingEnd> {
  const { chunker, cursor, sizeBytes } = given;
  // Up to there nothing is new.
  const knownBytes = cursor?.bytes ?? 0;
  let origin = given.from;
  let skip = cursor?.skip ?? 0;
  let folder: string | undefined;
  const pause = createPause(signal);
  for await (const lines of readLines(handle, origin.bytes, sizeBytes, signal)) {
    for (const line of lines) {
      const record = line.bytes === undefined ? ({ kind: "broken" } as const) : recordOf(line.bytes);
      const taken = takeLine(line, record, origin, tokens);
      if (taken === undefined) return { bytes: line.start, ended: true, more: false, origin, folder };
      folder ??= "folder" in record ? record.folder : undefined;
      chunker.reach(line.start);
      const { message } = taken;
      for (let index = skip; index < (message?.rendered.length ?? 0); index += piecesPerSlice) {
        if (message) chunker.add(message, index, index + piecesPerSlice);
        await pause();
      }
      // The line may yet turn out to be longer: then it is read again.
      if (!line.ended) return { bytes: line.end, ended: false, more: false, origin, folder };
      onLine?.(taken.after.lines, record);
      origin = taken.after;
      skip = 0;
      const enough = line.end >= knownBytes + bytesPerReading || chunker.characters() >= charactersPerReading;
      if (enough && line.end > knownBytes && line.end < sizeBytes)
        return { bytes: line.end, ended: true, more: true, origin, folder };
      await pause();
    }
  }
  return { bytes: origin.bytes, ended: true, more: false, origin, folder };
}

/** What a line says, and what holds behind it; undefined where it has no end yet and is not whole either. */
function takeLine(
  line: TranscriptLine,
  record: TranscriptRecord,
  before: Origin,
  tokens: number,
): { after: Origin; message?: RenderedMessage<Origin> } | undefined {
  if (!line.ended && (record.kind === "broken" || record.kind === "blank")) return undefined;
  const after: Origin = { ...before, bytes: line.end, lines: before.lines + 1 };
  if (record.kind === "broken" || (record.kind === "message" && record.cut)) after.passedOver++;
  if (record.kind === "broken" || record.kind === "blank") return { after };
  if (record.timeMs !== undefined) after.day = localDay(record.timeMs);
  // What saves notes before a compaction ends with it.
  if (record.kind === "compaction") after.turn = "plain";
  if (record.kind !== "message") return { after };

  const { role } = record;
  const { turn, rendered } = renderSaid(record, before.turn, tokens);
  after.turn = turn;
  if (rendered.length === 0) return { after };
  return {
    after,
    message: { line: after.lines, startByte: line.start, role, day: after.day, rendered, origin: before },
  };
}

/** A message without what hosts have put into it, as lines, and what kind of turn it leaves. */
export function renderSaid(
  { role, text }: Pick<SaidRecord, "role" | "text">,
  turn: Turn,
  tokens: number,
): { turn: Turn; rendered: string[] } {
  if (role === "assistant") return { turn, rendered: renderMessage(role, readAssistantText(text, turn), tokens) };
  const read = readUserText(text);
  return { turn: read.turn, rendered: renderMessage(role, read.text, tokens) };
}

/** Lets others work once a slice of time is used up. */
function createPause(signal: AbortSignal): () => Promise<void> | undefined {
  let sliceStart = performance.now();
  return () => {
    if (performance.now() - sliceStart <= sliceMs) return undefined;
    return nextTurn(undefined, { signal }).then(() => void (sliceStart = performance.now()));
  };
}

/** The day as people here have it: "yesterday" in a question is counted by the same clock. */
export function localDay(timeMs: number): string {
  const time = new Date(timeMs);
  const pad = (value: number, length: number): string => String(value).padStart(length, "0");
  return `${pad(time.getFullYear(), 4)}-${pad(time.getMonth() + 1, 2)}-${pad(time.getDate(), 2)}`;
}
