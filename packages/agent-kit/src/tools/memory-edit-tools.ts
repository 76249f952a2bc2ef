import { existsSync } from "node:fs";
import path from "node:path";
import { MemoryError, type MemorySearchSettings, messageOf, nameFromVisible } from "@memslot/core";
import { formatCitation, parseCitation } from "../citations.ts";
import { inTime, isAboutTheCall, type ToolSetting } from "./tool-setting.ts";
import { type EditedNote, editNote, forgetNote } from "../edit/edit-note.ts";
import type { ChangePlace } from "../edit/make-change.ts";
import { noteProblem } from "../edit/note-text.ts";
import type { MemoryToolResult, MemoryTool } from "./memory-tool.ts";
import { lateAnswer, type InputFields, checkInput, inputSchemaOf, badInput } from "./tool-input.ts";

/** What a tool needs that changes notes. */
export interface ChangeSetting {
  readonly stateDir: string;
  readonly settings: Pick<MemorySearchSettings, "extraPaths" | "notes">;
  readonly timeZone: string;
  readonly clock: () => Date;
}

/** Hexadecimal digits of the hash that a model hands back. */
const hashLength = 16;

/** The name of a state of a file, short enough for a model to copy. */
export function shortHash(sha256: string): string {
  return sha256.slice(0, hashLength);
}

/** Runs a change of a note that a model has asked for, and tells what became of it. Throws for the caller's abort alone. */
async function changeAnswer(
  name: string,
  setting: ToolSetting,
  change: ChangeSetting,
  signal: AbortSignal | undefined,
  run: (place: ChangePlace & { timeZone: string }) => Promise<EditedNote>,
): Promise<MemoryToolResult> {
  const { opened, deadlineMs, sessionKey } = setting;
  if ("error" in opened) return failure(name, opened.error);
  const { workspaceDir, agentId } = opened.memory;
  const { settings, stateDir, timeZone, clock } = change;
  const changer = { agentId, session: sessionKey, by: name };
  try {
    const outcome = await inTime(
      (limit) => run({ workspaceDir, settings, stateDir, changer, at: clock(), timeZone, signal: limit }),
      { timeoutMs: deadlineMs, signal },
    );
    const look = `Read the note with memory_get to see whether it was changed, before you call ${name} again.`;
    if (outcome.timedOut) return lateAnswer("the change", deadlineMs, look);
    if (outcome.value.state === "unchanged")
      return { status: "ok", state: "unchanged", note: "The note says so already. Nothing was written." };
    const { change: made, note } = outcome.value;
    const lines = made.after.split("\n").length - (made.after.endsWith("\n") || made.after === "" ? 1 : 0);
    const place = { path: made.path, startLine: made.startLine, endLine: made.startLine + Math.max(1, lines) - 1 };
    return {
      status: "ok",
      state: made.kind === "forget" ? "forgotten" : "edited",
      ...(lines > 0 ? { ...place, citation: formatCitation(place) } : { path: made.path }),
      hash: shortHash(note.sha256),
      change: made.id,
      ...(made.trash !== undefined && { trash: made.trash }),
    };
  } catch (error) {
    if (signal?.aborted) throw error;
    return failure(name, error);
  }
}

/**
 * The place that a model names: a path as a search has shown it, or a citation. `\\` between folders is taken for `/` unless
 * a file of that very name is there.
 */
export function notePlace(given: string, workspaceDir: string): { relPath: string; from?: number; lines?: number } {
  const cited = parseCitation(given);
  const name = nameFromVisible(cited?.path ?? given.trim());
  const relPath = existsSync(path.join(workspaceDir, name)) ? name : name.replaceAll("\\", "/");
  return cited === undefined
    ? { relPath }
    : { relPath, from: cited.startLine, lines: cited.endLine - cited.startLine + 1 };
}

function failure(name: string, error: unknown): MemoryToolResult {
  const code = MemoryError.is(error) ? error.code : "UNAVAILABLE";
  const isCall = isAboutTheCall(error);
  const field = code === "PATH_NOT_ALLOWED" ? "path" : /^(?:old|new)\b/.exec(messageOf(error))?.[0];
  return {
    status: "error",
    code,
    ...(isCall && field !== undefined && { field }),
    error: messageOf(error) || "unknown error",
    action: isCall
      ? `Nothing was changed. Read the note with memory_get, then call ${name} again with its hash and exact text.`
      : "Nothing is known to have been changed. Tell the user, with the reason.",
  };
}

const editFields = {
  path: { type: "string", required: true, description: "The note, as memory_get has named it." },
  hash: { type: "string", required: true, description: "hash of the answer of memory_get that the old text is from." },
  old: {
    type: "string",
    required: true,
    description:
      "The text to be replaced, exactly as the note has it, without the frame. It must stand there only once.",
  },
  new: { type: "string", required: true, description: "The text that takes its place, at most 8,000 characters." },
  supersedes: {
    type: "boolean",
    description:
      "true where a fact has changed: the old lines stay below the new one, struck and linked, as history. Give whole lines. Leave it out to correct a mistake.",
  },
} as const satisfies InputFields;

/** Replaces a text in a note, with the hash of what was read as proof that it still says so. */
export function memoryEditTool(setting: ToolSetting, change: ChangeSetting): MemoryTool {
  return {
    name: "memory_edit",
    description:
      "Correct a note: replaces one exact text by another. Read the note with memory_get first, and give its hash. " +
      "Refuses when the note has changed since, or when the old text is not there exactly once. Every change is logged and can be undone by the user.",
    inputSchema: inputSchemaOf(editFields),
    execute: async (input, { signal } = {}) => {
      const checked = checkInput(editFields, input);
      if (!checked.ok) return badInput("memory_edit", checked.field, checked.error);
      const { path, hash, old, new: text, supersedes } = checked.values;
      return await changeAnswer("memory_edit", setting, change, signal, (place) =>
        editNote({
          ...place,
          relPath: notePlace(path, place.workspaceDir).relPath,
          hash,
          old: old.replaceAll("\r\n", "\n"),
          text,
          supersedes,
        }),
      );
    },
  };
}

const forgetFields = {
  path: { type: "string", required: true, description: "The note, as memory_get has named it." },
  hash: { type: "string", required: true, description: "hash of the answer of memory_get that the lines are from." },
  old: {
    type: "string",
    required: true,
    description: "The whole lines to be forgotten, exactly as the note has them, without the frame.",
  },
  reason: { type: "string", required: true, description: "Why, in one sentence, for the user who looks at it later." },
} as const satisfies InputFields;

/** Takes lines out of a note and keeps them where no search looks. */
export function memoryForgetTool(setting: ToolSetting, change: ChangeSetting): MemoryTool {
  return {
    name: "memory_forget",
    description:
      "Forget lines of a note: they go to a trash that is not searched, and the user can bring them back. " +
      "Read the note with memory_get first, and give its hash. For a fact that has changed, use memory_edit with supersedes instead.",
    inputSchema: inputSchemaOf(forgetFields),
    execute: async (input, { signal } = {}) => {
      const checked = checkInput(forgetFields, input);
      if (!checked.ok) return badInput("memory_forget", checked.field, checked.error);
      const { path, hash, old, reason } = checked.values;
      const problem = noteProblem({ text: reason, tags: [] });
      if (problem !== undefined) return badInput("memory_forget", "reason", problem.error);
      return await changeAnswer("memory_forget", setting, change, signal, (place) =>
        forgetNote({
          ...place,
          relPath: notePlace(path, place.workspaceDir).relPath,
          hash,
          old: old.replaceAll("\r\n", "\n"),
          reason,
        }),
      );
    },
  };
}
