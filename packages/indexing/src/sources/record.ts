import { isUtf8 } from "node:buffer";
import { surrogateSafe } from "../text/token-weight.ts";
import { type LineChoice, numberedLines } from "./lines.ts";
import { stripInjected } from "./strip-injected.ts";

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
