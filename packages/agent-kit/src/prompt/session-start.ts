import { type SessionKind, visibleMessage } from "@memslot/core";
import { ownTexts } from "@memslot/indexing/host";
import { curatedName } from "../notes/append-note.ts";
import { type FittedLines, fitLines, linesOf, shareBudget } from "../tools/fit-lines.ts";
import { dayBefore, localDay } from "../notes/local-day.ts";
import { frameRecalled } from "../tools/recalled-text.ts";
import { withoutOtherProjects } from "./other-projects.ts";
import { readWorkspaceNote } from "../notes/workspace-note.ts";

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
