import { lstat } from "node:fs/promises";
import path from "node:path";
import { type Memory, MemoryError, messageOf, visibleMessage, visibleText } from "@memslot/core";
import { nameFromVisible } from "@memslot/core/host";
import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError } from "@modelcontextprotocol/server";

const BASE = "memslot://memory/";
const RECENT_DAYS = 7;

export interface NoteResource {
  uri: string;
  name: string;
  title: string;
  description: string;
  mimeType: string;
  size: number;
  annotations: { lastModified: string };
}

/** Readable beyond the list: every memory file by its path. */
export const noteTemplate: Record<"uriTemplate" | "name" | "title" | "description" | "mimeType", string> = {
  uriTemplate: `${BASE}{+path}`,
  name: "memory-file",
  title: "Memory file",
  description: "A memory file by its path relative to the workspace, as memory_search names it, read as a whole.",
  mimeType: "text/markdown",
};

/** `MEMORY.md` and the daily logs of the last seven days, newest first. */
export async function listNotes(input: { workspaceDir: string; now: Date; timeZone: string }): Promise<NoteResource[]> {
  const days = recentDays(input.now, input.timeZone);
  const wanted = [
    { relPath: "MEMORY.md", title: "Long-term memory", description: "What the agent keeps for good." },
    ...days.map((day) => ({
      relPath: `memory/${day}.md`,
      title: `Daily log ${day}`,
      description: `What was noted on ${day}.`,
    })),
  ];
  const found = await Promise.all(
    wanted.map(async ({ relPath, title, description }): Promise<NoteResource | undefined> => {
      // Links are not followed when a note is read, so they are not listed.
      const stats = await lstat(path.join(input.workspaceDir, relPath)).catch(() => undefined);
      if (stats?.isFile() !== true) return undefined;
      return {
        uri: uriOf(relPath),
        name: relPath,
        title,
        description,
        mimeType: "text/markdown",
        size: stats.size,
        annotations: { lastModified: stats.mtime.toISOString() },
      };
    }),
  );
  return found.filter((note) => note !== undefined);
}

/** Reads the note of a URI. Every refusal is the same "not found". */
export async function readNote(
  uri: string,
  open: () => Promise<Memory>,
  signal: AbortSignal,
): Promise<{ uri: string; mimeType: string; text: string }> {
  const relPath = pathOf(uri);
  if (relPath === undefined) throw new ResourceNotFoundError(uri);
  let text: string | undefined;
  try {
    text = await readWholeNote(await open(), relPath, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    if (MemoryError.is(error, "PATH_NOT_ALLOWED")) throw new ResourceNotFoundError(uri);
    const code = MemoryError.is(error, "INVALID_ARGUMENT")
      ? ProtocolErrorCode.InvalidParams
      : ProtocolErrorCode.InternalError;
    throw new ProtocolError(code, visibleMessage(messageOf(error)));
  }
  if (text === undefined) throw new ResourceNotFoundError(uri);
  return { uri, mimeType: "text/markdown", text: visibleText(text) };
}

function uriOf(relPath: string): string {
  return BASE + relPath.split("/").map(encodeURIComponent).join("/");
}

/** The path in a URI; undefined for another kind. The memory decides whether it may be read. */
function pathOf(uri: string): string | undefined {
  if (!uri.startsWith(BASE)) return undefined;
  try {
    const relPath = nameFromVisible(decodeURIComponent(uri.slice(BASE.length)));
    return relPath.trim() === "" || relPath.includes("\0") ? undefined : relPath;
  } catch {
    return undefined;
  }
}

/** The last days by the user's calendar, today first. */
function recentDays(now: Date, timeZone: string): string[] {
  // This locale writes a day as YYYY-MM-DD.
  const today = new Intl.DateTimeFormat("en-CA", { timeZone, calendar: "gregory", dateStyle: "short" }).format(now);
  const [year = 0, month = 1, date = 1] = today.split("-").map(Number);
  return Array.from({ length: RECENT_DAYS }, (_, back) =>
    new Date(Date.UTC(year, month - 1, date - back)).toISOString().slice(0, 10),
  );
}

/** A resource is read as a whole, so its size is limited. */
const MAX_RESOURCE_BYTES = 1_000_000;

/** Lines of one window; a read is cut to its budget of characters before that. */
const WINDOW_LINES = 5000;
const cutLine = /\n\[Line \d+ is \d+ characters long and is cut here;[^\n]*\]$/u;

/** All lines of a memory file; undefined if missing. Throws `PATH_NOT_ALLOWED`, and `INVALID_ARGUMENT` if too large. */
async function readWholeNote(memory: Memory, relPath: string, signal: AbortSignal): Promise<string | undefined> {
  const parts: string[] = [];
  let bytes = 0;
  let from: number | undefined = 1;
  while (from !== undefined) {
    const { status, text, nextFrom } = await memory.readFile({ path: relPath, from, lines: WINDOW_LINES, signal });
    if (status === "not_found") return undefined;
    if (cutLine.test(text)) throw tooLarge(relPath, "has a line that is too long to be given whole");
    const window = withoutNotice(text, nextFrom);
    parts.push(window);
    bytes += Buffer.byteLength(window) + 1;
    if (bytes > MAX_RESOURCE_BYTES) throw tooLarge(relPath, `is larger than ${MAX_RESOURCE_BYTES / 1_000_000} MB`);
    // A backend without progress would loop forever.
    if (nextFrom !== undefined && nextFrom <= from)
      throw new MemoryError("PLUGIN", `reading ${relPath} does not get beyond line ${from}`);
    from = nextFrom;
  }
  const text = parts.join("\n");
  return text === "" ? "" : `${text}\n`;
}

/** The notice about more lines, which agents need, is not part of the file. */
function withoutNotice(text: string, nextFrom: number | undefined): string {
  if (nextFrom === undefined) return text;
  const notice = `\n[More content available. Use from=${nextFrom} to continue.]`;
  return text.endsWith(notice) ? text.slice(0, -notice.length) : text;
}

function tooLarge(relPath: string, why: string): MemoryError {
  return new MemoryError("INVALID_ARGUMENT", `${relPath} ${why}: read it in parts with the tool memory_get`);
}
