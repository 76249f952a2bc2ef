import type { FileHandle } from "node:fs/promises";
import { readLines } from "@memslot/indexing/host";
import { readEntry, type TranscriptEntry } from "../session/transcript-entry.ts";
import type { ShownText, TranscriptPlace } from "./transcript.ts";
import { inTranscript, shownText, timeOf } from "./transcript-place.ts";

/** One line of a transcript that says something. `start` is where it begins, in bytes. */
export type TranscriptShown = {
  start: number;
  /** ISO 8601; absent where the line has no time. */ at?: string | undefined;
} & (
  | ({
      kind: "message";
      role: "user" | "assistant";
      toolCalls?: readonly { name: string; arguments: string }[] | undefined;
    } & ShownText)
  | ({ kind: "result"; tool: string } & ShownText)
  | ({ kind: "compaction" } & ShownText)
);

/** A part of a transcript, in its order. */
export interface TranscriptPage {
  entries: readonly TranscriptShown[];
  /** Where the part begins and ends, in bytes: what comes `before` it, and where to read on `from`. */
  start: number;
  end: number;
  /** Of the whole file. */
  bytes: number;
  /** Lines of the part that nobody said: settings, labels of other hosts. */
  others: number;
  /** Lines that cannot be read. */
  broken: number;
}

export interface TranscriptPageOptions {
  /** The first byte that is wanted; 0 if left out. In the middle of a line, the next line is the first. */
  from?: number | undefined;
  /** In place of `from`: what stands right before this byte. */
  before?: number | undefined;
  /** 1 to 500 lines that say something; 100 if left out. */
  limit?: number | undefined;
  /** Characters of one text, 1 to 256 Ki; 4,000 if left out. */
  textLimit?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** So much of a file is read for a page, and one line where that is longer. */
const pageBytes = 512 * 1024;
const longestLine = 4 * 1024 * 1024;
const lineEnd = 10;

/**
 * Reads a part of a transcript, however long it is, without secrets. Undefined where it is not there. Writes nothing and
 * follows no link; throws `PATH_NOT_ALLOWED` for what is no transcript.
 */
export async function readTranscriptPage(
  place: TranscriptPlace,
  path: string,
  { from = 0, before, limit = 100, textLimit = 4_000, signal }: TranscriptPageOptions = {},
): Promise<TranscriptPage | undefined> {
  return await inTranscript(place, path, async (handle, bytes) => {
    const limits = { limit: clamp(limit, 1, 500), textLimit: clamp(textLimit, 1, 256 * 1024) };
    const how: PageReading = { handle, bytes, ...limits, signal };
    if (before === undefined) return await readOn(how, clamp(from, 0, bytes));
    return await readBack(how, clamp(before, 0, bytes));
  });
}

interface PageReading {
  handle: FileHandle;
  bytes: number;
  limit: number;
  textLimit: number;
  signal: AbortSignal | undefined;
}

async function readOn(how: PageReading, from: number): Promise<TranscriptPage> {
  const isFull = (part: Part): boolean => part.entries.length >= how.limit || part.end - part.start >= pageBytes;
  return (await readPart(how, from, how.bytes, isFull)).page();
}

/** Looks at more and more in front of a place until there is a line. */
async function readBack(how: PageReading, before: number): Promise<TranscriptPage> {
  for (let window = pageBytes; ; window *= 2) {
    const from = Math.max(0, before - window);
    const part = await readPart(how, from, before);
    if (part.start < before || from === 0 || window > longestLine * 2) return part.last().page();
  }
}

async function readPart(
  how: PageReading,
  from: number,
  to: number,
  isFull: (part: Part) => boolean = () => false,
): Promise<Part> {
  const part = new Part(how, from);
  let isFirst = from > 0 && !(await endsLine(how.handle, from));
  for await (const lines of readLines(how.handle, from, to, how.signal))
    for (const line of lines) {
      if (isFirst) part.begin(line.end);
      else part.take(line);
      isFirst = false;
      if (isFull(part)) return part;
    }
  return part;
}

class Part {
  readonly #how: PageReading;
  entries: TranscriptShown[] = [];
  #others: number[] = [];
  #broken: number[] = [];
  start: number;
  end: number;

  constructor(how: PageReading, from: number) {
    this.#how = how;
    this.start = from;
    this.end = from;
  }

  begin(at: number): void {
    this.start = at;
    this.end = at;
  }

  take({ start, end, bytes }: { start: number; end: number; bytes: Buffer | undefined }): void {
    this.end = end;
    const entry: TranscriptEntry = bytes === undefined ? { kind: "broken" } : readEntry(bytes, 0);
    if (entry.kind === "broken") this.#broken.push(start);
    else if (entry.kind === "other") this.#others.push(start);
    else {
      const shown = shownOf(entry, start, this.#how.textLimit);
      if (shown !== undefined) this.entries.push(shown);
    }
  }

  /** Only the last of them. */
  last(): this {
    const { limit } = this.#how;
    const first = this.entries.at(-limit);
    if (this.entries.length <= limit || first === undefined) return this;
    this.entries = this.entries.slice(-limit);
    this.start = first.start;
    this.#others = this.#others.filter((at) => at >= first.start);
    this.#broken = this.#broken.filter((at) => at >= first.start);
    return this;
  }

  page(): TranscriptPage {
    const { entries, start, end } = this;
    return { entries, start, end, bytes: this.#how.bytes, others: this.#others.length, broken: this.#broken.length };
  }
}

/** Undefined for what is not shown: the beginning of the file, an empty line. */
function shownOf(entry: TranscriptEntry, start: number, limit: number): TranscriptShown | undefined {
  if (entry.kind === "compaction")
    return { kind: "compaction", start, at: entry.at, ...shownText(entry.summary, limit) };
  if (entry.kind !== "message") return undefined;
  const { message } = entry;
  const at = timeOf(message.at);
  if (message.role === "tool")
    return { kind: "result", start, at, tool: message.toolName, ...shownText(message.text, limit) };
  const calls = message.role === "assistant" ? message.toolCalls : undefined;
  return {
    kind: "message",
    start,
    at,
    role: message.role,
    ...shownText(message.text, limit),
    toolCalls: calls?.map(({ name, arguments: given }) => ({ name, arguments: shownText(given, limit).text })),
  };
}

async function endsLine(handle: FileHandle, at: number): Promise<boolean> {
  const last = Buffer.alloc(1);
  const { bytesRead } = await handle.read(last, 0, 1, at - 1);
  return bytesRead === 0 || last[0] === lineEnd;
}

function clamp(value: number, least: number, most: number): number {
  return Number.isFinite(value) ? Math.min(most, Math.max(least, Math.trunc(value))) : least;
}
