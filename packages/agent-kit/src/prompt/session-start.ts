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
import { cloudStub, codeOf, openInPlace } from "@memslot/core/files";
import { ownTexts, decodeText } from "@memslot/indexing/host";
import { isDigestOfOther } from "../flush/flush-digest.ts";
import { curatedName } from "../edit/append-note.ts";
import { dayBefore, localDay } from "../edit/local-day.ts";
import { endOfEntry } from "../edit/note-entry.ts";
import { linesOf } from "../edit/note-text.ts";
import { frameRecalled } from "../tools/recalled-text.ts";
import { closing } from "../edit/safe-writes.ts";

export interface SessionStartOptions {
  workspaceDir: string;
  now: Date;
  /** The user's, as an IANA name: it decides which day is today. */
  timeZone: string;
  /** `startSession` takes it from the key of the session. */
  session: StartingSession;
  /** What the session works on, as `ConversationOrigin` names it: digests of other projects are left out of the logs. */
  project?: string | undefined;
  /** Characters of the whole text; 20,000 if left out. Frames and notices are put even where it is too small for them. */
  budgetChars?: number | undefined;
}

export interface StartingSession {
  kind: SessionKind;
  /** True when nobody but the user reads along. */
  private: boolean;
}

export interface SessionStartContext {
  /** Ready for a system prompt; empty when there is nothing to show. */
  text: string;
  files: SessionStartFile[];
}

export interface SessionStartFile {
  path: string;
  state: "whole" | "cut" | "absent" | "skipped";
  /** Lines that are missing or cut short. */
  omittedLines?: number | undefined;
  /** Why it was skipped. */
  reason?: string | undefined;
}

interface Part {
  path: string;
  text: string;
  /** A curated file is best at its start, a log at its end. */
  keep: "start" | "end";
  /** Lines that are not in the text, as they are about something else. */
  leftOut: number;
}

const intro = `${ownTexts.notesHeading}\n\n${ownTexts.notesIntro}`;

/**
 * What an agent should have before its first turn: the curated memory (in a private main session only) and the daily
 * logs of yesterday and today (in private sessions only: a group sees neither). Where the budget cuts a file, a line in the text says so and how to read the rest.
 * Throws `WORKSPACE` when the folder cannot be read and `INVALID_ARGUMENT` for an unknown time zone.
 */
export async function sessionStartContext(options: SessionStartOptions): Promise<SessionStartContext> {
  const { workspaceDir, budgetChars = 20_000 } = options;
  const today = localDay(options.now, options.timeZone);
  const curated = await curatedName(workspaceDir);
  const files: SessionStartFile[] = [];
  const parts: Part[] = [];
  const notices: string[] = [];

  const take = async (relPath: string, keep: Part["keep"], project?: string): Promise<void> => {
    const note = await readWorkspaceNote(workspaceDir, relPath);
    if (note.state === "absent") files.push({ path: relPath, state: "absent" });
    else if (note.state === "skipped") {
      files.push({ path: relPath, state: "skipped", reason: note.reason });
      notices.push(`[${relPath} is not shown: ${visibleMessage(note.reason)}.]`);
    } else {
      const { text, leftOut } =
        project === undefined ? { text: note.text, leftOut: 0 } : withoutOtherProjects(note.text, project);
      files.push(
        leftOut === 0 ? { path: relPath, state: "whole" } : { path: relPath, state: "cut", omittedLines: leftOut },
      );
      if (text.trim() !== "") parts.push({ path: relPath, text, keep, leftOut });
    }
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

  const blocks = fitParts(parts, budgetChars - intro.length - notices.join("\n\n").length - 2 * notices.length, files);
  const text = blocks.length + notices.length === 0 ? "" : [intro, ...blocks, ...notices].join("\n\n");
  return { text, files };
}

/** Frames each part, cut to its share of the budget, and records in `files` what was cut. */
function fitParts(parts: readonly Part[], budgetChars: number, files: SessionStartFile[]): string[] {
  const frames = parts.map((part) => {
    const totalLines = linesOf(part.text).length;
    // The longest notice that this part can get, so that the budget also holds when it is needed.
    const notice = noticeOf(part, { text: "", totalLines, omittedLines: totalLines });
    return framed(part, "x", notice).length - 1 + 2;
  });
  const available = budgetChars - frames.reduce((sum, length) => sum + length, 0);
  const shares = shareBudget(
    parts.map((part) => linesOf(part.text).join("\n").length),
    available,
  );
  return parts.map((part, index) => {
    const fitted = fitLines(part.text, shares[index] ?? 0, part.keep);
    if (fitted.omittedLines + part.leftOut === 0) return framed(part, fitted.text, undefined);
    const file = files.find(({ path: filePath }) => filePath === part.path);
    if (file) {
      file.state = "cut";
      file.omittedLines = fitted.omittedLines + part.leftOut;
    }
    return framed(part, fitted.text, noticeOf(part, fitted));
  });
}

/** The notice stands on the side that was cut. */
function framed(part: Part, text: string, notice: string | undefined): string {
  const block = frameRecalled(part.path, text);
  if (notice === undefined || block === "") return notice ?? block;
  return part.keep === "start" ? `${block}\n${notice}` : `${notice}\n${block}`;
}

function noticeOf(part: Part, fitted: FittedLines): string {
  if (part.leftOut > 0) {
    const more = fitted.omittedLines === 0 ? "" : `, and ${fitted.omittedLines} others,`;
    const what = `${part.leftOut} lines about conversations in other projects${more} are left out here`;
    return `[${part.path}: ${what}. Read it with memory_get: path "${part.path}".]`;
  }
  const { omittedLines, totalLines } = fitted;
  const from = part.keep === "start" ? totalLines - omittedLines + 1 : 1;
  const which = part.keep === "start" ? "last" : "first";
  return `[${part.path}: the ${which} ${omittedLines} of ${totalLines} lines are left out or cut here. Read them with memory_get: path "${part.path}", from ${from}, lines ${omittedLines}.]`;
}

export interface StartSessionOptions extends Omit<SessionStartOptions, "workspaceDir" | "session"> {
  memory: Memory;
  /** The session, as the host names it. Left out: the owner, at a terminal. */
  sessionKey?: string | undefined;
  /** Takes why the index could not be brought up to date. Searches say so too, and so does `status()`. */
  onSyncError?: ((error: unknown) => void) | undefined;
  /** Ends the sync, not the session. */
  signal?: AbortSignal | undefined;
}

/**
 * Starts a session: has the index brought up to date, where `sync.onSessionStart` says so, and gives the notes that the
 * session begins with. The sync is not waited for; a search that comes before its end says that it is `stale`, or waits
 * a little by itself. Throws as `sessionStartContext` does, and `INVALID_ARGUMENT` for a session of another agent.
 */
export async function startSession(options: StartSessionOptions): Promise<SessionStartContext> {
  const { memory, sessionKey, onSyncError, signal, ...rest } = options;
  const kind = sessionKindOf(sessionKey, memory.agentId, memory.ownerAllowFrom);
  try {
    return await sessionStartContext({
      ...rest,
      workspaceDir: memory.workspaceDir,
      session: { kind, private: kind !== "group" },
    });
  } finally {
    // After it: reading a few notes takes a moment, and behind a look at a large folder it would wait.
    memory.sync({ reason: "session-start", signal }).catch((error: unknown) => {
      // The host has ended it, and knows.
      if (!isAbort(error) && !MemoryError.is(error, "CLOSED")) onSyncError?.(error);
    });
  }
}

/** A log without the digests of conversations in other projects, and how many of its lines those are. */
function withoutOtherProjects(text: string, project: string): { text: string; leftOut: number } {
  const lines = text.split("\n");
  const kept: string[] = [];
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? "";
    if (isDigestOfOther(line, project)) index = endOfEntry(lines, index) - 1;
    else kept.push(line);
  }
  return { text: kept.join("\n"), leftOut: lines.length - kept.length };
}

/** The part of a text that is shown where its whole is too long. */
interface FittedLines {
  text: string;
  /** Lines of the whole text. */
  totalLines: number;
  /** Lines that are missing or cut short. */
  omittedLines: number;
}

/** Keeps as many whole lines as fit, from the start or from the end; where not one fits, a piece of the nearest. */
function fitLines(text: string, maxChars: number, keep: "start" | "end"): FittedLines {
  const lines = linesOf(text);
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
  if (kept.length === 0 && first !== undefined && maxChars > 0) kept.push(headOf(first, maxChars));
  return {
    text: (keep === "start" ? kept : kept.toReversed()).join("\n"),
    totalLines: lines.length,
    omittedLines,
  };
}

/** Shares a budget between parts: a part that needs less than its share leaves the rest to the others. */
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

/** Never ends in half a surrogate pair. */
function headOf(line: string, maxChars: number): string {
  const head = line.slice(0, maxChars);
  return /[\uD800-\uDBFF]$/.test(head) ? head.slice(0, -1) : head;
}

/** A note as it stands in the workspace, or why it is not there. */
type WorkspaceNote = { state: "read"; text: string } | { state: "absent" } | { state: "skipped"; reason: string };

/** More than this is no note that anybody wrote by hand; `memory_get` reads windows of it. */
const maxBytes = 4_000_000;

/**
 * Reads a note under an existing workspace. No part of the way is followed where it is a symbolic link, also where it
 * becomes one meanwhile, so nothing outside the workspace is ever read.
 */
async function readWorkspaceNote(workspaceDir: string, relPath: string): Promise<WorkspaceNote> {
  const parts = relPath.split("/");
  try {
    let place = await realpath(workspaceDir);
    for (const [index, part] of parts.entries()) {
      place = path.join(place, part);
      const found = await lstat(place);
      const name = parts.slice(0, index + 1).join("/");
      if (found.isSymbolicLink())
        return { state: "skipped", reason: `${name} is a symbolic link, which is not followed` };
      if (index < parts.length - 1) continue;
      if (!found.isFile()) return { state: "skipped", reason: "it is not a file" };
      if (found.size > maxBytes)
        return {
          state: "skipped",
          reason: `it is larger than ${maxBytes / 1_000_000} MB; memory_get reads parts of it`,
        };
    }
    return { state: "read", text: await readText(place) };
  } catch (error) {
    const code = codeOf(error);
    if (existsSync(cloudStub(path.join(workspaceDir, relPath))))
      return { state: "skipped", reason: "it is in iCloud and not downloaded" };
    if (code === "ENOENT" || code === "ENOTDIR") return { state: "absent" };
    return { state: "skipped", reason: `it cannot be read (${messageOf(error)})` };
  }
}

async function readText(file: string): Promise<string> {
  return await closing(await openInPlace(file, constants.O_RDONLY), async (handle) => {
    return decodeText(await handle.readFile())
      .replaceAll(/\r\n?/g, "\n")
      .replaceAll("\0", "\uFFFD");
  });
}
