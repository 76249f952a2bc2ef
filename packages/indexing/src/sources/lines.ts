import { type FileHandle, open } from "node:fs/promises";
import { pipeline } from "node:stream";
import { createZstdDecompress } from "node:zlib";
import path from "node:path";
import { openForReading, withFile } from "../scan/open-file.ts";
import { isUtf8 } from "node:buffer";
import { surrogateSafe } from "../text/token-weight.ts";
import { stripInjected } from "./strip-injected.ts";

/** Longer lines are skipped: no message that a person or a model wrote is that long. */
export const maxLineBytes: number = 4 * 1024 * 1024;

const blockBytes = 256 * 1024;

/** One line of a file, by its place in bytes. */
export interface TranscriptLine {
  start: number;
  /** Behind the line end. */
  end: number;
  /** Without the line end. Valid until the next lines are requested. Undefined if the line is too long. */
  bytes: Buffer | undefined;
  /** False for a last line that has no line end, so that more of it may come. */
  ended: boolean;
}

/**
 * The lines of a part of a file, several at a time; `from` is where a line begins, `longest` how many bytes one may have. Holds one block and one line, however
 * long the file and its lines are.
 */
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

/** The lines of consecutive blocks. A block may be used again once the next one is requested. */
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

/** Which lines of a file are read. */
export interface LineChoice {
  signal: AbortSignal;
  /** Absent: all of them. */
  isAsked?: ((number: number) => boolean) | undefined;
  /** Lines that begin behind so many bytes are not. */
  mostBytes?: number | undefined;
}

/** The requested lines of a file, each with its number. A file that is named `.zst` is decompressed meanwhile. */
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

/** The size of a conversation in a database, before it is read: then it is the bytes of what was said. */
export const unknownSize = -1;

/** What one message says beyond this is left out: it is a pasted file, and nothing else is done while it is read. */
export const maxTextLength: number = 256 * 1024;

/** What was said. */
export interface SaidRecord {
  kind: "message";
  role: "user" | "assistant";
  text: string;
  /** The text went on. */
  cut: boolean;
  timeMs: number | undefined;
  /** The working folder of the agent, if the line names it. */
  folder?: string | undefined;
}

/** What one line of a transcript is, as far as memory cares. */
export type TranscriptRecord =
  | SaidRecord
  /** The conversation was compacted here. */
  | { kind: "compaction"; timeMs: number | undefined }
  /** Tool calls and results, system lines, settings: nothing that was said. */
  | { kind: "other"; timeMs: number | undefined; folder?: string | undefined }
  | { kind: "blank" }
  /** Too long, not a JSON object, or not UTF-8. */
  | { kind: "broken" };

/** Reads one line, without its line end; undefined for a line that is too long. */
export type RecordReader = (line: Buffer | undefined) => TranscriptRecord;

/** The records of a conversation, each with its number. */
export type NumberedRecords = AsyncGenerator<readonly [number: number, record: TranscriptRecord]>;

export type JsonObject = Record<string, unknown>;

const textTypes: ReadonlySet<unknown> = new Set(["text", "input_text", "output_text"]);
/** Records that hold a message. A plain `{"role", "content"}` has no type. */
const messageTypes: ReadonlySet<unknown> = new Set([undefined, "message", "user", "assistant"]);
/** User messages that no person has written. */
const generatedOrigins: ReadonlySet<unknown> = new Set(["inter_session", "internal_system", "heartbeat"]);
const latestMs = 8.64e15;

/** Reads a line as hosts with this kit write it. Keeps the texts of a message: no tool calls, thinking or images. */
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

/** Reads a line that is a JSON object. */
export function readJson(line: Buffer | undefined, read: (record: JsonObject) => TranscriptRecord): TranscriptRecord {
  if (line === undefined || !isUtf8(line)) return { kind: "broken" };
  const json = line.toString("utf8").replace(/^\uFEFF/, "");
  if (json.trim() === "") return { kind: "blank" };
  const record = jsonOf(json);
  return isObject(record) ? read(record) : { kind: "broken" };
}

/** What was said in a message, limited to `maxTextLength`. Every transcript's messages pass here. */
export function saidRecord(said: Omit<SaidRecord, "kind" | "cut">): SaidRecord {
  const cut = said.text.length > maxTextLength;
  return { ...said, kind: "message", text: stripInjected(cut ? beginningOf(said.text) : said.text, said.role), cut };
}

/** Ends at a space where one is near, so that no half of a secret is left. */
function beginningOf(text: string): string {
  const near = text.slice(0, maxTextLength).search(/\s\S{0,9999}$/);
  return text.slice(0, near > 0 ? near : surrogateSafe(text, maxTextLength));
}

/** The text of a content that is a text, or a list of parts of which some are texts; those without a type too with `bare`. */
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

/** A time as ISO text, or in seconds or milliseconds since 1970. */
export function timeOf(value: unknown): number | undefined {
  const time = typeof value === "string" ? Date.parse(value) : typeof value === "number" ? value : Number.NaN;
  if (!(time > 0)) return undefined;
  const timeMs = typeof value === "number" && time < 1e11 ? time * 1000 : time;
  return timeMs <= latestMs ? timeMs : undefined;
}

/** What the requested lines of a file say. */
export async function* recordsOfLines(file: string, recordOf: RecordReader, choice: LineChoice): NumberedRecords {
  for await (const [number, { bytes }] of numberedLines(file, choice)) yield [number, recordOf(bytes)];
}

/** Records of what has no lines, numbered from 1. */
export async function* numbered(records: Iterable<TranscriptRecord>, signal: AbortSignal): NumberedRecords {
  let number = 0;
  for (const record of records) {
    signal.throwIfAborted();
    yield [++number, record];
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function objectAt(value: unknown, name: string): JsonObject | undefined {
  const inner = isObject(value) ? value[name] : undefined;
  return isObject(inner) ? inner : undefined;
}

export function textAt(value: unknown, name: string): string | undefined {
  const inner = isObject(value) ? value[name] : undefined;
  return typeof inner === "string" ? inner : undefined;
}

/** Parses a text or its bytes; undefined for what is not JSON. */
export function jsonOf(value: unknown): unknown {
  const text = typeof value === "string" ? value : value instanceof Uint8Array ? Buffer.from(value).toString() : "";
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A folder as an agent writes it, of any system; undefined for other values, which could be mistaken for `everywhere`. */
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
