import { existsSync } from "node:fs";
import path from "node:path";
import { type Memory, MemoryError, type MemorySearchSettings, messageOf } from "@memslot/core";
import { nameFromVisible } from "@memslot/core/host";
import { formatCitation, parseCitation } from "../citations.ts";
import { appendNote, type NoteKind, noteName } from "../edit/append-note.ts";
import { type EditedNote, editNote, forgetNote } from "../edit/edit-note.ts";
import { localDay } from "../edit/local-day.ts";
import type { ChangePlace } from "../edit/change-log.ts";
import { noteProblem } from "../edit/validate-note.ts";
import type { MemoryTool, MemoryToolResult } from "./tool-types.ts";
import type { RecentRecalls } from "./recalled-text.ts";
import { badInput, inputOf, toolOf } from "./tool-input.ts";
import { codeOf, failure, inTime, isAboutTheCall, lateAnswer, type ToolSetting } from "./tool-failures.ts";

interface AppendInput {
  readonly text: string;
  readonly kind: NoteKind;
  readonly tags?: readonly string[];
}

export function noteInput(input: unknown): AppendInput | undefined {
  const checked = inputOf<AppendInput>("memory_append", input);
  return checked.ok ? checked.values : undefined;
}

/** Where `memory_append` gets the day and the stamp from. */
export interface AppendSetting {
  readonly timeZone: string;
  readonly clock: () => Date;
}

interface AppendTarget extends Pick<ToolSetting, "deadlineMs"> {
  readonly opened: { readonly memory: Pick<Memory, "workspaceDir"> } | { readonly error: unknown };
}

/** `memory_append`. Writes to the files directly, and so works while the search is in its cooldown. */
export function memoryAppendTool(setting: AppendTarget, append: AppendSetting, recalls: RecentRecalls): MemoryTool {
  const { opened, deadlineMs } = setting;
  const { timeZone } = append;
  return toolOf<AppendInput>("memory_append", async ({ text, kind, tags = [] }, signal) => {
    const problem = noteProblem({ text, tags });
    if (problem !== undefined) return badInput("memory_append", problem.field, problem.error);
    if ("error" in opened) return failure(opened.error, { action: notNoted });
    const { workspaceDir } = opened.memory;
    try {
      const at = append.clock();
      const day = localDay(at, timeZone);
      const recalled = recalls.holding(text, await noteName({ workspaceDir, kind, day }));
      if (recalled !== undefined) return { status: "ok", state: "duplicate", ...recalled, day, note: recalledNote };
      const outcome = await inTime(
        (inner) => appendNote({ workspaceDir, text, kind, tags, at, timeZone, signal: inner }),
        deadlineMs,
        signal,
      );
      if (outcome.timedOut) return lateAnswer("the note", deadlineMs, lateAdvice);
      const note = outcome.value.state === "duplicate" ? { note: duplicateNote } : {};
      return { status: "ok", ...outcome.value, ...note };
    } catch (error) {
      if (signal?.aborted) throw error;
      // The text has been checked, so the error is about the file that the kind names.
      if (MemoryError.is(error, "INVALID_ARGUMENT")) return badInput("memory_append", "kind", error.message);
      return failure(error, { action: notNoted });
    }
  });
}

const duplicateNote = "Memory says so already, at the citation. Nothing was written.";
const lateAdvice =
  "Call memory_append again with the same note: if it was written after all, it is recognised as a duplicate.";
const recalledNote = "This was just recalled from memory, at the citation. Nothing was written.";
const notNoted = "Nothing was noted. Tell the user, with the reason; do not say that you will remember it.";

/** What the tools need that change notes. */
export interface ChangeSetting extends AppendSetting {
  readonly stateDir: string;
  readonly settings: Pick<MemorySearchSettings, "extraPaths" | "notes">;
}

export function shortHash(sha256: string): string {
  return sha256.slice(0, 16);
}

/** The file and lines that a model names. `\\` counts as `/` unless a file has that very name. */
export function notePlace(given: string, workspaceDir: string): { relPath: string; from?: number; lines?: number } {
  const cited = parseCitation(given);
  const name = nameFromVisible(cited?.path ?? given.trim());
  const relPath = existsSync(path.join(workspaceDir, name)) ? name : name.replaceAll("\\", "/");
  return cited === undefined
    ? { relPath }
    : { relPath, from: cited.startLine, lines: cited.endLine - cited.startLine + 1 };
}

interface ChangeInput {
  readonly path: string;
  readonly hash: string;
  readonly old: string;
}

export function memoryEditTool(setting: ToolSetting, change: ChangeSetting): MemoryTool {
  type Input = ChangeInput & { readonly new: string; readonly supersedes?: boolean };
  return changeTool<Input>("memory_edit", setting, change, ({ new: text, supersedes }, place) =>
    editNote({ ...place, text, supersedes }),
  );
}

/** `memory_forget`: moves lines of a note to a trash that no search reads. */
export function memoryForgetTool(setting: ToolSetting, change: ChangeSetting): MemoryTool {
  type Input = ChangeInput & { readonly reason: string };
  return changeTool<Input>("memory_forget", setting, change, ({ reason }, place) => forgetNote({ ...place, reason }));
}

function changeTool<Input extends ChangeInput & { reason?: string }>(
  name: string,
  setting: ToolSetting,
  { settings, stateDir, timeZone, clock }: ChangeSetting,
  run: (input: Input, place: ChangePlace & Omit<ChangeInput, "path"> & NoteAt) => Promise<EditedNote>,
): MemoryTool {
  const { opened, deadlineMs, sessionKey } = setting;
  return toolOf<Input>(name, async (input, signal) => {
    const problem = input.reason === undefined ? undefined : noteProblem({ text: input.reason });
    if (problem !== undefined) return badInput(name, "reason", problem.error);
    if ("error" in opened) return changeFailure(name, opened.error);
    const { workspaceDir, agentId } = opened.memory;
    const place = {
      workspaceDir,
      settings,
      stateDir,
      timeZone,
      changer: {
        agentId,
        session: sessionKey,
        by: name,
      },
      relPath: notePlace(input.path, workspaceDir).relPath,
      hash: input.hash,
      old: input.old.replaceAll("\r\n", "\n"),
    };
    try {
      const limited = (inner: AbortSignal): Promise<EditedNote> => run(input, { ...place, at: clock(), signal: inner });
      const outcome = await inTime(limited, deadlineMs, signal);
      const look = `Read the note with memory_get to see whether it was changed, before you call ${name} again.`;
      return outcome.timedOut ? lateAnswer("the change", deadlineMs, look) : changeAnswer(outcome.value);
    } catch (error) {
      if (signal?.aborted) throw error;
      return changeFailure(name, error);
    }
  });
}

interface NoteAt {
  relPath: string;
  timeZone: string;
}

function changeAnswer(edited: EditedNote): MemoryToolResult {
  if (edited.state === "unchanged")
    return { status: "ok", state: "unchanged", note: "The note says so already. Nothing was written." };
  const { change, note } = edited;
  const { after, startLine } = change;
  const lines = after.split("\n").length - (after.endsWith("\n") || after === "" ? 1 : 0);
  const place = { path: change.path, startLine, endLine: startLine + Math.max(1, lines) - 1 };
  return {
    status: "ok",
    state: change.kind === "forget" ? "forgotten" : "edited",
    ...(lines > 0 ? { ...place, citation: formatCitation(place) } : { path: change.path }),
    hash: shortHash(note.sha256),
    change: change.id,
    ...(change.trash !== undefined && { trash: change.trash }),
  };
}

function changeFailure(name: string, error: unknown): MemoryToolResult {
  const isCall = isAboutTheCall(error);
  const field = codeOf(error) === "PATH_NOT_ALLOWED" ? "path" : /^(?:old|new)\b/.exec(messageOf(error))?.[0];
  return failure(error, {
    ...(isCall && field !== undefined && { field }),
    action: isCall
      ? `Nothing was changed. Read the note with memory_get, then call ${name} again with its hash and exact text.`
      : "Nothing is known to have been changed. Tell the user, with the reason.",
  });
}
