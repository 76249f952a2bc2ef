import { type FileHandle, open } from "node:fs/promises";
import { pipeline } from "node:stream";
import { createZstdDecompress } from "node:zlib";
import path from "node:path";
import { openForReading, withFile } from "../scan/open-file.ts";
import { isUtf8 } from "node:buffer";
import { isObject, type JsonObject, jsonOf, objectAt } from "../json-values.ts";
import { surrogateSafe } from "../text/split-by-tokens.ts";
import { stripInjected } from "../text/strip-injected.ts";

/** Longer lines are skipped: they contain tool results, not messages. */
export const maxLineBytes: number = 4 * 1024 * 1024;

const blockBytes = 256 * 1024;

export interface TranscriptLine {
  start: number;
  end: number;
  /** Without the line end; undefined if the line is too long. Valid until the next lines are requested. */
  bytes: Buffer | undefined;
  ended: boolean;
}

/** The lines between two positions. `longest`: bytes of a line. Keeps one block and one line in memory. */
export async function* readLines(
  handle: FileHandle,
  from: number,
  to: number,
  signal?: AbortSignal | undefined,
  longest: number = maxLineBytes,
): AsyncGenerator<TranscriptLine[]> {
  const block = Buffer.allocUnsafe(Math.max(1, Math.min(blockBytes, to - from)));
  yield* linesOf(blocks(), from, longest);

  async function* blocks(): AsyncGenerator<Buffer> {
    for (let position = from; position < to;) {
      signal?.throwIfAborted();
      const { bytesRead } = await handle.read(block, 0, Math.min(block.length, to - position), position);
      if (bytesRead === 0) return;
      position += bytesRead;
      yield block.subarray(0, bytesRead);
    }
  }
}

async function* linesOf(blocks: AsyncIterable<Buffer>, from = 0, longest = maxLineBytes) {
  let carried: Buffer[] = [];
  let length = 0;
  let start = from;
  let position = from;

  const take = (end: number, rest: Buffer, ended: boolean): TranscriptLine => {
    const tooLong = length + rest.length > longest;
    const bytes = tooLong ? undefined : carried.length === 0 ? rest : Buffer.concat([...carried, rest]);
    const line = { start, end, bytes, ended };
    carried = [];
    length = 0;
    start = end;
    return line;
  };

  for await (const read of blocks) {
    const lines: TranscriptLine[] = [];
    let at = 0;
    for (let end = read.indexOf(10); end >= 0; end = read.indexOf(10, at)) {
      lines.push(take(position + end + 1, read.subarray(at, end), true));
      at = end + 1;
    }
    length += read.length - at;
    if (length > longest) carried = [];
    else if (at < read.length) carried.push(Buffer.from(read.subarray(at)));
    position += read.length;
    if (lines.length > 0) yield lines;
  }
  if (position > start) yield [take(position, Buffer.alloc(0), false)];
}

/** The requested lines of a file. */
export interface LineChoice {
  signal: AbortSignal;
  /** By number, from 1; absent: all. */
  isAsked?: ((number: number) => boolean) | undefined;
  /** Ends the reading after so many bytes. */
  mostBytes?: number | undefined;
}

/** The requested lines of a file with their numbers. Decompresses `.zst` files. */
export async function* numberedLines(
  file: string,
  { signal, isAsked = () => true, mostBytes = Infinity }: LineChoice,
): AsyncGenerator<readonly [number: number, line: TranscriptLine]> {
  const handle = await open(file, openForReading);
  try {
    const lines = /\.zst$/iu.test(file)
      ? linesOf(decompressed(handle, signal))
      : readLines(handle, 0, Math.min((await handle.stat()).size, mostBytes), signal);
    let number = 0;
    for await (const several of lines) for (const line of several) if (isAsked(++number)) yield [number, line];
  } finally {
    await handle.close();
  }
}

function decompressed(handle: FileHandle, signal: AbortSignal): AsyncIterable<Buffer> {
  // The reader of the stream gets the error.
  return pipeline(handle.createReadStream({ signal }), createZstdDecompress(), () => undefined);
}

export const unknownSize = -1;

/** Longer messages are cut: they contain pasted files. */
export const maxTextLength: number = 256 * 1024;

export interface SaidRecord {
  kind: "message";
  role: "user" | "assistant";
  text: string;
  cut: boolean;
  timeMs: number | undefined;
  folder?: string | undefined;
}

/** The content of one line of a transcript. */
export type TranscriptRecord =
  | SaidRecord
  /** The conversation was compacted here. */
  | { kind: "compaction"; timeMs: number | undefined }
  | { kind: "other"; timeMs: number | undefined; folder?: string | undefined }
  | { kind: "blank" }
  | { kind: "broken" };

/** Parses one line, without its line end; undefined: the line is too long. */
export type RecordReader = (line: Buffer | undefined) => TranscriptRecord;

export type NumberedRecords = AsyncGenerator<readonly [number: number, record: TranscriptRecord]>;

const textTypes: ReadonlySet<unknown> = new Set(["text", "input_text", "output_text"]);
/** Types of records with a message. A plain `{"role", "content"}` has no type. */
const messageTypes: ReadonlySet<unknown> = new Set([undefined, "message", "user", "assistant"]);
/** User messages that were not written by a person. */
const generatedOrigins: ReadonlySet<unknown> = new Set(["inter_session", "internal_system", "heartbeat"]);
const latestMs = Date.UTC(9999, 11, 31);

/** Parses a line of our own transcripts, without tool calls, thoughts and images. */
export function readRecord(line: Buffer | undefined): TranscriptRecord {
  return readJson(line, (record) => {
    const message = objectAt(record, "message") ?? record;
    const timeMs = timeOf(message["timestamp"]) ?? timeOf(record["timestamp"]);
    if (record["type"] === "compaction") return { kind: "compaction", timeMs };
    const role = message["role"];
    if (!messageTypes.has(record["type"]) || (role !== "user" && role !== "assistant"))
      return { kind: "other", timeMs };
    if (role === "user" && generatedOrigins.has(objectAt(message, "provenance")?.["kind"]))
      return { kind: "other", timeMs };
    return saidRecord({ role, text: textOf(message["content"]), timeMs });
  });
}

export function readJson(line: Buffer | undefined, read: (record: JsonObject) => TranscriptRecord): TranscriptRecord {
  if (line === undefined || !isUtf8(line)) return { kind: "broken" };
  const json = line.toString("utf8").replace(/^\uFEFF/, "");
  if (json.trim() === "") return { kind: "blank" };
  const record = jsonOf(json);
  return isObject(record) ? read(record) : { kind: "broken" };
}

/** A message without injected text, limited to `maxTextLength`. All messages of transcripts pass here. */
export function saidRecord(said: Omit<SaidRecord, "kind" | "cut">): SaidRecord {
  const cut = said.text.length > maxTextLength;
  return { ...said, kind: "message", text: stripInjected(cut ? beginningOf(said.text) : said.text, said.role), cut };
}

/** Ends at a space if one is near, so that no secret is cut in half. */
function beginningOf(text: string): string {
  const near = text.slice(0, maxTextLength).search(/\s\S{0,9999}$/);
  return text.slice(0, near > 0 ? near : surrogateSafe(text, maxTextLength));
}

/** The text of a content: a string, or the text parts of a list. `bare`: parts without a type are text, too. */
export function textOf(content: unknown, bare = false): string {
  if (typeof content === "string") return content;
  const parts = Array.isArray(content) ? (content as unknown[]) : [];
  return parts
    .map((part) => (bare && typeof part === "string" ? { text: part } : part))
    .filter(isObject)
    .flatMap(({ type = bare ? "text" : undefined, text }) =>
      textTypes.has(type) && typeof text === "string" ? text : [],
    )
    .join("\n");
}

export function timeOf(value: unknown): number | undefined {
  const time = typeof value === "string" ? Date.parse(value) : typeof value === "number" ? value : Number.NaN;
  if (!(time > 0)) return undefined;
  const timeMs = typeof value === "number" && time < 1e11 ? time * 1000 : time;
  return timeMs <= latestMs ? timeMs : undefined;
}

export async function* recordsOfLines(file: string, recordOf: RecordReader, choice: LineChoice): NumberedRecords {
  for await (const [number, { bytes }] of numberedLines(file, choice)) yield [number, recordOf(bytes)];
}

export async function* numbered(records: Iterable<TranscriptRecord>, signal: AbortSignal): NumberedRecords {
  let number = 0;
  for (const record of records) {
    signal.throwIfAborted();
    yield [++number, record];
  }
}

/** An absolute path of any system; undefined for other values, which could be mistaken for `everywhere`. */
export function absoluteFolder(value: unknown): string | undefined {
  const isFolder = typeof value === "string" && (path.posix.isAbsolute(value) || path.win32.isAbsolute(value));
  return isFolder ? value : undefined;
}

const maxSmallBytes = 4 * 1024 * 1024;

/** The text of a small file that an agent keeps beside its conversations; empty if it cannot be read. */
export async function readSmall(file: string): Promise<string> {
  try {
    return await withFile(file, async (handle) => {
      const stats = await handle.stat();
      return stats.isFile() && stats.size <= maxSmallBytes ? await handle.readFile("utf8") : "";
    });
  } catch {
    return "";
  }
}
