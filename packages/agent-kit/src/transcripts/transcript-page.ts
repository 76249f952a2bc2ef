import { constants, lstatSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import path from "node:path";
import { MemoryError } from "@memslot/core";
import { codeOf, noSurprises, unlessMissing } from "@memslot/core/files";
import { journalFolder, readLines, redactSecrets, sessionsFolder } from "@memslot/indexing/host";
import { closing } from "../edit/safe-writes.ts";
import { readEntry, type TranscriptEntry } from "../session/transcript-entry.ts";

export interface TranscriptPlace {
  stateDir: string;
  agentId: string;
}

/** The folders of transcripts by the name that results have for them. */
export type TranscriptLabel = "sessions" | "journal";

export interface ShownText {
  text: string;
  /** Characters of the whole text, if this is not all of it. */
  characters?: number | undefined;
}

export type TranscriptShown = {
  /** Its begin, in bytes. */
  start: number;
  /** ISO 8601; absent if the line has no time. */
  at?: string | undefined;
} & (
  | ({
      kind: "message";
      role: "user" | "assistant";
      toolCalls?: readonly { name: string; arguments: string }[] | undefined;
    } & ShownText)
  | ({ kind: "result"; tool: string } & ShownText)
  | ({ kind: "compaction" } & ShownText)
);

export interface TranscriptPage {
  entries: readonly TranscriptShown[];
  /** Begin and end of the part, in bytes: the next `before` and `from`. */
  start: number;
  end: number;
  bytes: number;
  /** Lines of the part without a message: settings, labels of other hosts. */
  others: number;
  broken: number;
}

export interface TranscriptPageOptions {
  /** The first requested byte; 0 if left out. In the middle of a line, the next line is the first. */
  from?: number | undefined;
  /** Instead of `from`: the lines right before this byte. */
  before?: number | undefined;
  /** 1 to 500 lines with content; 100 if left out. */
  limit?: number | undefined;
  /** Characters of one text, 1 to 256 Ki; 4,000 if left out. */
  textLimit?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** Bytes that are read for a page, or one line if that is longer. */
const pageBytes = 512 * 1024;
const longestLine = 4 * 1024 * 1024;

/**
 * Reads a part of a transcript of any size, secrets masked. Returns undefined if it does not exist. Writes nothing and follows
 * no link; throws `PATH_NOT_ALLOWED` for a path that is not a transcript.
 */
export async function readTranscriptPage(
  place: TranscriptPlace,
  path: string,
  { from = 0, before, limit = 100, textLimit = 4_000, signal }: TranscriptPageOptions = {},
): Promise<TranscriptPage | undefined> {
  return await inTranscript(place, path, async (handle, bytes) => {
    const most = clamp(limit, 1, 500);
    const how = { handle, textLimit: clamp(textLimit, 1, maxCharacters), signal };
    if (before === undefined) return pageOf(await linesIn(how, clamp(from, 0, bytes), bytes, most), bytes);
    const to = clamp(before, 0, bytes);
    // Larger and larger parts, until one has a line.
    for (let window = pageBytes; ; window *= 2) {
      const start = Math.max(0, to - window);
      const part = await linesIn(how, start, to);
      if (part.at === to && start > 0 && window <= longestLine * 2) continue;
      const first = part.lines.filter(({ shown }) => shown !== undefined).at(-most);
      const isCut = part.lines.filter(({ shown }) => shown !== undefined).length > most && first !== undefined;
      return pageOf(isCut ? { at: first.start, lines: part.lines.slice(part.lines.indexOf(first)) } : part, bytes);
    }
  });
}

interface PageLine {
  start: number;
  end: number;
  kind: TranscriptEntry["kind"];
  shown: TranscriptShown | undefined;
}

interface PageLines {
  at: number;
  lines: PageLine[];
}

/** Reads until `most` lines with content or `pageBytes`; all lines if `most` is left out. */
async function linesIn(
  { handle, textLimit, signal }: { handle: FileHandle; textLimit: number; signal: AbortSignal | undefined },
  from: number,
  to: number,
  most?: number,
): Promise<PageLines> {
  const part: PageLines = { at: from, lines: [] };
  let isPart = from > 0 && !(await endsLine(handle, from));
  let count = 0;
  for await (const lines of readLines(handle, from, to, signal))
    for (const { start, end, bytes } of lines) {
      if (isPart) part.at = end;
      else {
        const entry = readEntry(bytes, 0);
        const shown = shownOf(entry, start, textLimit);
        part.lines.push({ start, end, kind: entry.kind, shown });
        if (shown !== undefined) count++;
      }
      isPart = false;
      if (most !== undefined && (count >= most || end - part.at >= pageBytes)) return part;
    }
  return part;
}

function pageOf({ at, lines }: PageLines, bytes: number): TranscriptPage {
  const countOf = (kind: PageLine["kind"]): number => lines.filter((line) => line.kind === kind).length;
  const entries = lines.flatMap(({ shown }) => shown ?? []);
  return {
    entries,
    start: at,
    end: lines.at(-1)?.end ?? at,
    bytes,
    others: countOf("other"),
    broken: countOf("broken"),
  };
}

/** Undefined for lines without content: the begin of the file, an empty line. */
function shownOf(entry: TranscriptEntry, start: number, limit: number): TranscriptShown | undefined {
  if (entry.kind === "compaction")
    return { kind: "compaction", start, at: entry.at, ...shownText(entry.summary, limit) };
  if (entry.kind !== "message") return undefined;
  const { message } = entry;
  const said = { start, at: timeOrNone(message.at), ...shownText(message.text, limit) };
  if (message.role === "tool") return { kind: "result", ...said, tool: message.toolName };
  const calls = message.role === "assistant" ? message.toolCalls : undefined;
  const toolCalls = calls?.map(({ name, arguments: given }) => ({ name, arguments: shownText(given, limit).text }));
  return { kind: "message", ...said, role: message.role, toolCalls };
}

async function endsLine(handle: FileHandle, at: number): Promise<boolean> {
  const last = Buffer.alloc(1);
  const { bytesRead } = await handle.read(last, 0, 1, at - 1);
  return bytesRead === 0 || last[0] === 10;
}

function clamp(value: number, least: number, most: number): number {
  return Number.isFinite(value) ? Math.min(most, Math.max(least, Math.trunc(value))) : least;
}

const fileName = /^(?!\.)[^/\\\0]{1,250}\.jsonl$/u;

/** The folder of a label; undefined if it does not exist or is behind a link. */
export function transcriptFolder(place: TranscriptPlace, label: TranscriptLabel): string | undefined {
  const folder = label === "sessions" ? sessionsFolder(place) : journalFolder(place);
  const parts = [path.dirname(path.dirname(folder)), path.dirname(folder), folder];
  const areFolders = parts.every((part) => lstatSync(part, { throwIfNoEntry: false })?.isDirectory() === true);
  return areFolders ? folder : undefined;
}

/**
 * Opens a transcript by its path, `sessions/<name>.jsonl` or `journal/<name>.jsonl`. Returns undefined if there is none.
 * Throws `PATH_NOT_ALLOWED` for another path and for a link.
 */
export async function inTranscript<T>(
  place: TranscriptPlace,
  relPath: string,
  read: (handle: FileHandle, bytes: number) => Promise<T>,
): Promise<T | undefined> {
  const notAllowed = new MemoryError(
    "PATH_NOT_ALLOWED",
    `${JSON.stringify(relPath)} is not a transcript: a path is like sessions/<id>.jsonl, and links are not followed`,
  );
  const [label, name = "", ...more] = relPath.split("/");
  if ((label !== "sessions" && label !== "journal") || more.length > 0 || !fileName.test(name)) throw notAllowed;
  const folder = transcriptFolder(place, label);
  if (folder === undefined) return undefined;
  const opened = await open(path.join(folder, name), constants.O_RDONLY | noSurprises).catch((error: unknown) => {
    if (codeOf(error) === "ELOOP") throw notAllowed;
    return unlessMissing(error);
  });
  if (opened === undefined) return undefined;
  return await closing(opened, async (handle) => {
    const stats = await handle.stat();
    if (!stats.isFile()) throw notAllowed;
    return await read(handle, stats.size);
  });
}

const maxCharacters = 256 * 1024;

/** The begin of a text, secrets masked, as in every copy of the user's files. */
export function shownText(text: string, limit: number): ShownText {
  const read = text.slice(0, Math.min(maxCharacters, Math.max(limit * 2, limit + 4_000)));
  const redacted = redactSecrets(read);
  if (text.length === read.length && redacted.length <= limit) return { text: redacted };
  return { text: redacted.slice(0, limit).toWellFormed(), characters: text.length };
}

export function shownLine(text: string, limit: number): string {
  const line = /\S[^\n\r]*/u.exec(text)?.[0] ?? "";
  const shown = shownText(line, limit);
  return shown.characters === undefined ? shown.text : `${shown.text.trimEnd()} …`;
}

/** A line without a time reads as 1970. */
export function timeOrNone(at: string): string | undefined {
  return Date.parse(at) > 0 ? at : undefined;
}
