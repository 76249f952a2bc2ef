import { lstat } from "node:fs/promises";
import path from "node:path";
import { type Memory, MemoryError, messageOf, nameFromVisible, visibleMessage, visibleText } from "@memslot/core";
import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError } from "@modelcontextprotocol/server";
import { readWholeNote } from "./whole-note.ts";

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

/** What can be read beyond the list: every memory file by its path. */
export const noteTemplate: Record<"uriTemplate" | "name" | "title" | "description" | "mimeType", string> = {
  uriTemplate: `${BASE}{+path}`,
  name: "memory-file",
  title: "Memory file",
  description: "A memory file by its path relative to the workspace, as memory_search names it, read as a whole.",
  mimeType: "text/markdown",
};

/** `MEMORY.md` and the daily logs of the last seven days, the newest first, as far as they exist. */
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

/** Reads what a URI names. Every reason why it may not be read is the same "not found" outside. */
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

/** The path that a URI holds; undefined for a URI of another kind. Whether it may be read is the memory's to say. */
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
