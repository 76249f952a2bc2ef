import { MemoryError, type MemoryReadResult } from "@memslot/core";
import { readNote } from "../edit/replace-note.ts";
import { type ChangeSetting, notePlace, shortHash } from "./memory-edit-tools.ts";
import { citationsShown, formatCitation } from "../citations.ts";
import { inTime, adviceForTimeout, failureText, isAboutTheCall, type ToolSetting } from "./tool-setting.ts";
import type { MemoryTool, MemoryToolResult } from "./memory-tool.ts";
import { frameRecalled, recalledTextNote, type RecentRecalls } from "./recalled-text.ts";
import { type InputFields, checkInput, inputSchemaOf } from "./tool-input.ts";

const fields = {
  path: {
    type: "string",
    required: true,
    description:
      "A path as memory_search gives it, relative to the workspace. A citation (path#L3-L9) reads those lines.",
  },
  from: { type: "integer", minimum: 1, description: "First line, counted from 1." },
  lines: { type: "integer", minimum: 1, description: "How many lines; 120 if left out." },
} as const satisfies InputFields;

/** Reads files straight away and so keeps working while the search is in its cooldown. */
export function memoryGetTool(
  setting: ToolSetting,
  recalls: RecentRecalls,
  change?: ChangeSetting | undefined,
): MemoryTool {
  return {
    name: "memory_get",
    description:
      "Read lines of a note that memory_search has named. " +
      `Ask only for the lines you need; nextFrom says where more begins. ${recalledTextNote}`,
    inputSchema: inputSchemaOf(fields),
    execute: async (input, options = {}) => {
      const checked = checkInput(fields, input);
      if (!checked.ok) return failure(pathOf(input), "INVALID_ARGUMENT", checked.error, { field: checked.field });
      const { path: given } = checked.values;
      const { opened, sessionKey } = setting;
      if ("error" in opened) return failure(given, codeOf(opened.error), failureText(opened.error, setting));
      const { memory } = opened;
      const { relPath, ...cited } = notePlace(given, memory.workspaceDir);
      const named = checked.values.from !== undefined || checked.values.lines !== undefined;
      const { from, lines } = named ? checked.values : cited;
      try {
        // Before the text: where the file changes in between, an edit of that text is refused.
        const hash = change && (await hashOf(memory.workspaceDir, change, relPath));
        const outcome = await inTime((signal) => memory.readFile({ path: relPath, from, lines, sessionKey, signal }), {
          timeoutMs: setting.deadlineMs,
          signal: options.signal,
        });
        if (outcome.timedOut)
          return failure(relPath, "UNAVAILABLE", adviceForTimeout(setting.deadlineMs).error, {
            timedOut: true,
          });
        return outcome.value.status === "ok"
          ? { ...answer(setting, recalls, outcome.value), ...(hash !== undefined && { hash }) }
          : { ...outcome.value };
      } catch (error) {
        if (options.signal?.aborted) throw error;
        const field = isAboutTheCall(error) ? { field: "path" } : {};
        return failure(relPath, codeOf(error), failureText(error, setting), field);
      }
    },
  };
}

function answer(setting: ToolSetting, recalls: RecentRecalls, read: MemoryReadResult): MemoryToolResult {
  const { path, text, from = 1, lines = 1 } = read;
  if (text === "") return { ...read };
  const place = { path, startLine: from, endLine: from + Math.max(1, lines) - 1 };
  recalls.keep([{ ...place, text }]);
  const label = citationsShown(setting.citations, setting.chatType) ? formatCitation(place) : "note";
  return { ...read, text: frameRecalled(label, text), note: recalledTextNote };
}

/** Undefined for what is no note that can be changed. */
async function hashOf(workspaceDir: string, change: ChangeSetting, relPath: string): Promise<string | undefined> {
  try {
    const note = await readNote({ workspaceDir, settings: change.settings, stateDir: change.stateDir, relPath });
    return note && shortHash(note.sha256);
  } catch (error) {
    if (MemoryError.is(error)) return undefined;
    throw error;
  }
}

function failure(path: string, code: string, error: string, more: object = {}): MemoryToolResult {
  return { path, text: "", status: "error", code, error, ...more };
}

function codeOf(error: unknown): string {
  return MemoryError.is(error) ? error.code : "UNAVAILABLE";
}

function pathOf(input: unknown): string {
  if (typeof input !== "object" || input === null || !("path" in input)) return "";
  return typeof input.path === "string" ? input.path : "";
}
