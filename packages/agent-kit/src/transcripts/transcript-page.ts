import type { FileHandle } from "node:fs/promises";
import { readLines, redactSecrets } from "@memslot/indexing/host";
import { readEntry, type TranscriptEntry } from "../session/transcript-entry.ts";
import { inTranscript } from "./open-transcript.ts";
import type {
  ShownText,
  TranscriptPage,
  TranscriptPageOptions,
  TranscriptPlace,
  TranscriptShown,
} from "./transcript-types.ts";

/** Bytes that are read for a page, or one line if that is longer. */
const pageBytes = 4 * 1024 * 1024;
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
    const most = clamp(limit, 1, 5_000);
    const how = { handle, textLimit: clamp(textLimit, 1, maxCharacters), signal };
    if (before === undefined) return pageOf(await linesIn(how, clamp(from, 0, bytes), bytes, most), bytes);
    const to = clamp(before, 0, bytes);
    // Larger and larger parts, until one has a line.
    for (let window = pageBytes; ; window *= 2) {
      // No small rest is left for a part of its own.
      const start = to < window * 1.25 ? 0 : to - window;
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
