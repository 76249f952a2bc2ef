import { constants, existsSync } from "node:fs";
import { lstat, realpath } from "node:fs/promises";
import path from "node:path";
import {
  type SessionKind,
  visibleMessage,
  type Memory,
  MemoryError,
  isAbort,
  sessionKindOf,
  messageOf,
} from "@memslot/core";
import { cloudStub, codeOf, openConfined } from "@memslot/core/files";
import { ownTexts, decodeText } from "@memslot/indexing/host";
import { curatedName } from "../edit/append-note.ts";
import { dayBefore, localDay } from "../edit/local-day.ts";
import { endOfEntry } from "../edit/note-entry.ts";
import { linesOf } from "../edit/validate-note.ts";
import { closing } from "../edit/safe-writes.ts";
import { isDigestOfOther } from "../flush/flush-digest.ts";
import { frameRecalled } from "../tools/recalled-text.ts";

export interface SessionStartOptions {
  workspaceDir: string;
  now: Date;
  /** The user's, as an IANA name: it decides which day is today. */
  timeZone: string;
  session: StartingSession;
  /** As in `ConversationOrigin`: digests of other projects are excluded from the logs. */
  project?: string | undefined;
  /** Characters of the whole text; 20,000 if left out. Delimiters and notices are written even if it is too small for them. */
  budgetChars?: number | undefined;
}

export interface StartingSession {
  kind: SessionKind;
  private: boolean;
}

export interface SessionStartContext {
  /** Ready for a system prompt; empty if there is nothing to show. */
  text: string;
  files: SessionStartFile[];
}

export interface SessionStartFile {
  path: string;
  state: "whole" | "cut" | "absent" | "skipped";
  omittedLines?: number | undefined;
  reason?: string | undefined;
}

interface Part {
  file: SessionStartFile;
  lines: string[];
  keep: "start" | "end";
  excluded: number;
}

const intro = `${ownTexts.notesHeading}\n\n${ownTexts.notesIntro}`;

/**
 * The notes a session starts with: curated memory and the last two daily logs, private sessions only. A line in the
 * text reports cuts. Throws `WORKSPACE` and `INVALID_ARGUMENT`.
 */
export async function sessionStartContext(options: SessionStartOptions): Promise<SessionStartContext> {
  const { workspaceDir, budgetChars = 20_000 } = options;
  const today = localDay(options.now, options.timeZone);
  const curated = await curatedName(workspaceDir);
  const files: SessionStartFile[] = [];
  const parts: Part[] = [];
  const notices: string[] = [];

  const take = async (relPath: string, keep: Part["keep"], project?: string): Promise<void> => {
    const { text, ...found } = await readWorkspaceNote(workspaceDir, relPath);
    const file: SessionStartFile = { path: relPath, ...found };
    files.push(file);
    if (found.reason !== undefined) notices.push(`[${relPath} is not shown: ${visibleMessage(found.reason)}.]`);
    if (text === undefined) return;
    const all = text.split("\n");
    const kept = project === undefined ? all : withoutOtherProjects(all, project);
    const excluded = all.length - kept.length;
    if (excluded > 0) Object.assign(file, { state: "cut", omittedLines: excluded });
    const left = kept.join("\n");
    if (left.trim() !== "") parts.push({ file, lines: linesOf(left), keep, excluded });
  };

  const skip = (relPath: string, reason: string): void => {
    files.push({ path: relPath, state: "skipped", reason });
  };

  const { kind } = options.session;
  const isPrivate = options.session.private && kind !== "group";
  if (isPrivate && kind === "main") await take(curated, "start");
  else skip(curated, "it is shown in a private main session only");
  for (const log of [`memory/${dayBefore(today)}.md`, `memory/${today}.md`]) {
    if (isPrivate) await take(log, "end", options.project);
    else skip(log, "it is shown in private sessions only");
  }

  const blocks = fitParts(parts, budgetChars - intro.length - notices.join("\n\n").length - 2 * notices.length);
  const text = blocks.length + notices.length === 0 ? "" : [intro, ...blocks, ...notices].join("\n\n");
  return { text, files };
}

function fitParts(parts: readonly Part[], budgetChars: number): string[] {
  // With the longest notice that a part can get, so that the budget holds in each case.
  const frames = parts.map((part) => framed(part, "x", noticeOf(part, part.lines.length)).length + 1);
  const available = budgetChars - frames.reduce((sum, length) => sum + length, 0);
  const needs = parts.map(({ lines }) => lines.join("\n").length);
  const shares = shareBudget(needs, available);
  return parts.map((part, index) => {
    const { text, omittedLines } = fitLines(part, shares[index] ?? 0);
    if (omittedLines + part.excluded === 0) return framed(part, text, undefined);
    Object.assign(part.file, { state: "cut", omittedLines: omittedLines + part.excluded });
    return framed(part, text, noticeOf(part, omittedLines));
  });
}

/** The notice is on the side that was cut. */
function framed({ file, keep }: Part, text: string, notice: string | undefined): string {
  const block = frameRecalled(file.path, text);
  if (notice === undefined || block === "") return notice ?? block;
  return keep === "start" ? `${block}\n${notice}` : `${notice}\n${block}`;
}

function noticeOf({ file: { path: name }, lines, keep, excluded }: Part, omittedLines: number): string {
  if (excluded > 0) {
    const more = omittedLines === 0 ? "" : `, and ${omittedLines} others,`;
    const what = `${excluded} lines about conversations in other projects${more} are left out here`;
    return `[${name}: ${what}. Read it with memory_get: path "${name}".]`;
  }
  const from = keep === "start" ? lines.length - omittedLines + 1 : 1;
  const which = keep === "start" ? "last" : "first";
  return `[${name}: the ${which} ${omittedLines} of ${lines.length} lines are left out or cut here. Read them with memory_get: path "${name}", from ${from}, lines ${omittedLines}.]`;
}

export interface StartSessionOptions extends Omit<SessionStartOptions, "workspaceDir" | "session"> {
  memory: Memory;
  sessionKey?: string | undefined;
  /** Called if the index could not be updated. Searches and `status()` report it too. */
  onSyncError?: ((error: unknown) => void) | undefined;
  /** Ends the sync, not the session. */
  signal?: AbortSignal | undefined;
}

/**
 * Starts a session: begins a sync if `sync.onSessionStart`, without waiting, and returns the notes to start with.
 * Throws as `sessionStartContext`, and `INVALID_ARGUMENT` for a session of another agent.
 */
export async function startSession(options: StartSessionOptions): Promise<SessionStartContext> {
  const { memory, sessionKey, onSyncError, signal, ...rest } = options;
  const { workspaceDir } = memory;
  const kind = sessionKindOf(sessionKey, memory.agentId, memory.ownerAllowFrom);
  try {
    return await sessionStartContext({ ...rest, workspaceDir, session: { kind, private: kind !== "group" } });
  } finally {
    // Afterwards: reading a few notes is fast, but would wait behind the scan of a large folder.
    memory.sync({ reason: "session-start", signal }).catch((error: unknown) => {
      // The host has aborted or closed it, and knows.
      if (!isAbort(error) && !MemoryError.is(error, "CLOSED")) onSyncError?.(error);
    });
  }
}

function withoutOtherProjects(lines: readonly string[], project: string): string[] {
  const kept: string[] = [];
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? "";
    if (isDigestOfOther(line, project)) index = endOfEntry(lines, index) - 1;
    else kept.push(line);
  }
  return kept;
}

function fitLines({ lines, keep }: Part, maxChars: number): { text: string; omittedLines: number } {
  const ordered = keep === "start" ? lines : lines.toReversed();
  const kept: string[] = [];
  let used = 0;
  for (const line of ordered) {
    const cost = line.length + (kept.length > 0 ? 1 : 0);
    if (used + cost > maxChars) break;
    kept.push(line);
    used += cost;
  }
  const omittedLines = lines.length - kept.length;
  const first = ordered[0];
  // Not half a surrogate pair.
  if (kept.length === 0 && first !== undefined && maxChars > 0)
    kept.push(first.slice(0, maxChars).replace(/[\uD800-\uDBFF]$/, ""));
  return { text: (keep === "start" ? kept : kept.toReversed()).join("\n"), omittedLines };
}

function shareBudget(needs: readonly number[], budget: number): number[] {
  const shares = needs.map(() => 0);
  let rest = Math.max(0, budget);
  const byNeed = needs.map((need, index) => ({ need, index })).sort((a, b) => a.need - b.need);
  for (const [position, { need, index }] of byNeed.entries()) {
    const share = Math.min(need, Math.floor(rest / (byNeed.length - position)));
    shares[index] = share;
    rest -= share;
  }
  return shares;
}

/** A larger file is not a note that a user wrote; `memory_get` reads parts of it. */
const maxBytes = 4_000_000;

async function readWorkspaceNote(
  workspaceDir: string,
  relPath: string,
): Promise<Pick<SessionStartFile, "state" | "reason"> & { text?: string }> {
  const skipped = (reason: string) => ({ state: "skipped" as const, reason });
  const parts = relPath.split("/");
  try {
    let place = await realpath(workspaceDir);
    for (const [index, part] of parts.entries()) {
      place = path.join(place, part);
      const found = await lstat(place);
      const name = parts.slice(0, index + 1).join("/");
      if (found.isSymbolicLink()) return skipped(`${name} is a symbolic link, which is not followed`);
      if (index < parts.length - 1) continue;
      if (!found.isFile()) return skipped("it is not a file");
      if (found.size > maxBytes)
        return skipped(`it is larger than ${maxBytes / 1_000_000} MB; memory_get reads parts of it`);
    }
    return await closing(await openConfined(place, constants.O_RDONLY), async (handle) => {
      const text = decodeText(await handle.readFile())
        .replaceAll(/\r\n?/g, "\n")
        .replaceAll("\0", "\uFFFD");
      return { state: "whole", text };
    });
  } catch (error) {
    if (existsSync(cloudStub(path.join(workspaceDir, relPath)))) return skipped("it is in iCloud and not downloaded");
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return { state: "absent" };
    return skipped(`it cannot be read (${messageOf(error)})`);
  }
}
