import { constants, existsSync } from "node:fs";
import path from "node:path";
import {
  type ManagerReadParams,
  MemoryError,
  type MemoryErrorCode,
  type MemoryReadResult,
  messageOf,
  type Sentence,
} from "@memslot/core";
import { isPrivateNote, sentence } from "@memslot/core/host";
import { MovedError, cloudStub, codeOf, openConfined } from "@memslot/core/files";
import { noteText, TextLines, whyNotText } from "../text/file-text.ts";
import { maxFileBytes } from "./file-state.ts";
import { isMarkdown } from "./folder-rules.ts";
import { agentLayout, memoryRoots, relativePath, toSlashes, type Workspace, placeOf } from "./memory-roots.ts";
import { surrogateSafe } from "../text/split-by-tokens.ts";

/** Characters that one answer may have, the notice included. */
const maxReadLength = 12_000;

/** Reads a window of a file that a scan would include. Missing: `not_found`. */
export async function readMemoryFile(params: ManagerReadParams, workspace: Workspace): Promise<MemoryReadResult> {
  const { relPath, from, signal } = params;
  // A shared audience must not learn which notes exist.
  const absolutePath = allowedPath(relPath, params.audience === "shared" ? agentLayout(workspace) : workspace);
  const shown = relativePath(workspace.workspaceDir, absolutePath);
  if (params.audience === "shared" && isPrivateNote(shown)) {
    throw notReadable(
      shown,
      " in a session that others read: it is a private note. Put what a group may see into a folder that extraPaths names.",
    );
  }
  const bytes = await readBytes(absolutePath, shown, signal);
  if (!bytes) return { status: "not_found", text: "", path: shown };

  const notText = whyNotText(bytes);
  if (notText !== undefined) throw notReadable(shown, `: it ${sentence(notText).reason}.`);
  const lines = new TextLines(noteText(bytes));
  const window = lines.slice(from, from - 1 + params.lines);
  if (window.length === 0) return { status: "ok", text: "", path: shown, from, lines: 0 };
  return fitWindow(window, shown, from, lines.count());
}

export function notReadable(
  shown: string,
  why: string,
  code: MemoryErrorCode = "PATH_NOT_ALLOWED",
  cause?: unknown,
): MemoryError {
  return new MemoryError(code, `${shown} cannot be read${why}`, cause === undefined ? undefined : { cause });
}

export function fitWindow(window: readonly string[], shown: string, from: number, total: number): MemoryReadResult {
  const notice = (next: number): string => `[More content available. Use from=${next} to continue.]`;
  let count = 0;
  let length = 0;
  // Room for the notice, should one be needed.
  const room = maxReadLength - notice(total).length - 1;
  for (const line of window) {
    const added = line.length + (count > 0 ? 1 : 0);
    if (length + added > (from + count >= total ? maxReadLength : room)) break;
    length += added;
    count++;
  }
  if (count === 0) return cutSingleLine(window[0] ?? "", shown, from, total);
  const next = from + count;
  const text = window.slice(0, count).join("\n");
  if (next > total) return { status: "ok", text, path: shown, from, lines: count };
  return {
    status: "ok",
    text: `${text}\n${notice(next)}`,
    path: shown,
    truncated: count < window.length,
    from,
    lines: count,
    nextFrom: next,
  };
}

/** One line that is over the budget by itself: its beginning, and the rest of the file behind it. */
function cutSingleLine(line: string, shown: string, from: number, total: number): MemoryReadResult {
  const next = from < total ? from + 1 : undefined;
  const more = next === undefined ? "" : ` Use from=${next} for the lines after it.`;
  const notice = `[Line ${from} is ${line.length} characters long and is cut here; open the file to see all of it.${more}]`;
  const text = line.slice(0, surrogateSafe(line, maxReadLength - notice.length - 1));
  return {
    status: "ok",
    text: `${text}\n${notice}`,
    path: shown,
    truncated: true,
    from,
    lines: 1,
    ...(next === undefined ? {} : { nextFrom: next }),
  };
}

/** The absolute path as spelled on disk. Throws `PATH_NOT_ALLOWED`. */
export function allowedPath(relPath: string, workspace: Workspace): string {
  const { workspaceDir } = workspace;
  const roots = memoryRoots(workspace);
  const isFolderOfNotes = roots.some(({ rules }) => rules !== undefined);
  const places = isFolderOfNotes ? sentence("note.placesAll") : "MEMORY.md, USER.md, memory/**/*.md";
  const refuse = (why: string | Sentence): never => {
    const about = { path: JSON.stringify(relPath), why, places };
    throw new MemoryError("PATH_NOT_ALLOWED", sentence("note.places", about));
  };
  if (relPath.includes("\0")) refuse("it contains a NUL byte");
  if (path.isAbsolute(relPath) || /^[A-Za-z]:/.test(relPath)) refuse(sentence("note.absolute"));
  if (relPath.startsWith("~")) refuse("~ is not expanded");
  const wanted = path.resolve(workspaceDir, relPath);
  if (!isMarkdown(wanted)) refuse(sentence("note.notMarkdown"));
  const place = placeOf(wanted, roots);
  if (!place) {
    const isExcluded = roots.some((root) => root.excludes(toSlashes(path.relative(root.absolutePath, wanted))));
    return refuse(sentence(isExcluded ? "why.chosen" : "note.outside"));
  }
  if (place.link !== undefined)
    refuse(`${relativePath(workspaceDir, place.link)} is a symbolic link, which is not followed`);
  return place.absolutePath;
}

async function readBytes(absolutePath: string, shown: string, signal: AbortSignal): Promise<Uint8Array | undefined> {
  signal.throwIfAborted();
  try {
    const handle = await openConfined(absolutePath, constants.O_RDONLY);
    try {
      const stats = await handle.stat();
      if (!stats.isFile()) throw notReadable(shown, ": it is not a regular file.");
      if (stats.size > maxFileBytes)
        throw notReadable(shown, `: it is larger than ${maxFileBytes / 1024 / 1024} MiB. Split it into smaller files.`);
      return await handle.readFile({ signal });
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (MemoryError.is(error) || signal.aborted) throw error;
    const code = codeOf(error);
    const isMissing = code === "ENOENT" || code === "ENOTDIR" || code === "ENAMETOOLONG";
    if (isMissing && existsSync(cloudStub(absolutePath)))
      throw notReadable(shown, `: ${sentence("file.cloud").reason}.`, "WORKSPACE");
    if (isMissing) return undefined;
    if (error instanceof MovedError)
      throw notReadable(shown, ": it leads out of the memory folder through a link.", "PATH_NOT_ALLOWED", error);
    if (code === "ELOOP")
      throw notReadable(shown, ": it is a symbolic link, which is not followed.", "PATH_NOT_ALLOWED", error);
    throw notReadable(shown, `: ${messageOf(error)}. Check the file and its permissions.`, "WORKSPACE", error);
  }
}
