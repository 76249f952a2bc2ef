import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import type { Turn } from "./generated-text.ts";
import { isObject } from "./record.ts";

const markBytes = 4096;

/** A place before a line, and what the lines before it have to say about those behind. */
export interface Origin {
  bytes: number;
  /** Lines before it. */
  lines: number;
  turn: Turn;
  /** ISO day of the last time that was seen; empty where none was. */
  day: string;
  /** Lines before it that could not be read, or not to their end. */
  passedOver: number;
}

/** How far a transcript was read, as it stands in `FileRecord.cursor`. */
export interface TranscriptCursor {
  /** Bytes that were read. What stands behind them is new, or a line that is not whole yet. */
  bytes: number;
  /** False where the last line was whole but had no line end. */
  ended: boolean;
  /** True where a reading stopped in the middle of a long transcript. */
  more: boolean;
  /** The file's own, which the record does not have while the file may change within the same time stamp. */
  mtimeMs: number;
  /** All that the file system told of it. */
  stamp?: string | undefined;
  /** Hashes of the first bytes and of the last before `bytes`. */
  head: string;
  tail: string;
  /** Lines that could not be read, or not to their end. */
  passedOver: number;
  /** Where the last chunk is cut from anew. */
  from: Origin;
  /** Rendered lines of the first message there that stand in earlier chunks. */
  skip: number;
  /** Where a program was at work, where its lines say so. */
  folder?: string | undefined;
  /** Lines before `bytes` that have an end. */
  lines?: number | undefined;
}

/** Undefined for what is no cursor: the transcript is read whole. */
export function parseCursor(text: string | undefined): TranscriptCursor | undefined {
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return isCursor(value) ? value : undefined;
}

/** What of a conversation was passed over, in a few words; undefined where nothing was. */
export function passedOverIn(cursor: Pick<TranscriptCursor, "passedOver"> | undefined): string | undefined {
  if (cursor === undefined || cursor.passedOver === 0) return undefined;
  return `${cursor.passedOver} lines were passed over or cut: not JSON, not UTF-8 or too long`;
}

/** Hashes that tell whether a file still begins, and goes on up to `bytes`, as it did. */
export async function marksOf(handle: FileHandle, bytes: number): Promise<{ head: string; tail: string }> {
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

function isCursor(value: unknown): value is TranscriptCursor {
  if (!has(value, "number", "bytes", "mtimeMs", "passedOver", "skip")) return false;
  if (!has(value, "boolean", "ended", "more") || !has(value, "string", "head", "tail")) return false;
  const from = (value as { from?: unknown }).from;
  return has(from, "number", "bytes", "lines", "passedOver") && has(from, "string", "turn", "day");
}

function has(value: unknown, type: string, ...names: readonly string[]): boolean {
  return isObject(value) && names.every((name) => typeof value[name] === type);
}
