import { MemoryError, type MemoryReadResult } from "@memslot/core";
import { isObject } from "@memslot/indexing/host";
import { citationsShown, formatCitation } from "../citations.ts";
import { readNote } from "../edit/replace-note.ts";
import { type ChangeSetting, notePlace, shortHash } from "./memory-note-tools.ts";
import type { MemoryTool, MemoryToolResult } from "./tool-types.ts";
import { frameRecalled, recalledTextNote, type RecentRecalls } from "./recalled-text.ts";
import { toolOf } from "./tool-input.ts";
import { adviceForTimeout, codeOf, failureText, inTime, isAboutTheCall, type ToolSetting } from "./tool-failures.ts";

interface GetInput {
  readonly path: string;
  readonly from?: number;
  readonly lines?: number;
}

/** `memory_get`. Reads the files directly, and so works while the search is in its cooldown. */
export function memoryGetTool(
  setting: ToolSetting,
  recalls: RecentRecalls,
  change?: ChangeSetting | undefined,
): MemoryTool {
  const { opened, sessionKey, deadlineMs } = setting;
  return toolOf<GetInput>(
    "memory_get",
    async (input, signal) => {
      if ("error" in opened) return failure(input.path, codeOf(opened.error), failureText(opened.error, setting));
      const { memory } = opened;
      const { relPath, ...cited } = notePlace(input.path, memory.workspaceDir);
      const { from, lines } = input.from === undefined && input.lines === undefined ? cited : input;
      try {
        const hash = change && (await hashOf(memory.workspaceDir, change, relPath));
        const read = (inner: AbortSignal): Promise<MemoryReadResult> =>
          memory.readFile({ path: relPath, from, lines, sessionKey, signal: inner });
        const outcome = await inTime(read, deadlineMs, signal);
        if (outcome.timedOut)
          return failure(relPath, "UNAVAILABLE", adviceForTimeout(deadlineMs).error, { timedOut: true });
        return outcome.value.status === "ok"
          ? { ...answer(setting, recalls, outcome.value), ...(hash !== undefined && { hash }) }
          : { ...outcome.value };
      } catch (error) {
        if (signal?.aborted) throw error;
        const field = isAboutTheCall(error) ? { field: "path" } : {};
        return failure(relPath, codeOf(error), failureText(error, setting), field);
      }
    },
    (field, error, input) => {
      const path = isObject(input) && typeof input["path"] === "string" ? input["path"] : "";
      return failure(path, "INVALID_ARGUMENT", error, { field });
    },
  );
}

function answer(setting: ToolSetting, recalls: RecentRecalls, read: MemoryReadResult): MemoryToolResult {
  const { path, text, from = 1, lines = 1 } = read;
  if (text === "") return { ...read };
  const place = { path, startLine: from, endLine: from + Math.max(1, lines) - 1 };
  recalls.keep([{ ...place, text }]);
  const label = citationsShown(setting.citations, setting.chatType) ? formatCitation(place) : "note";
  return { ...read, text: frameRecalled(label, text), note: recalledTextNote };
}

async function hashOf(workspaceDir: string, change: ChangeSetting, relPath: string): Promise<string | undefined> {
  try {
    const note = await readNote({ ...change, workspaceDir, relPath });
    return note && shortHash(note.sha256);
  } catch (error) {
    if (MemoryError.is(error)) return undefined;
    throw error;
  }
}

function failure(path: string, code: string, error: string, more: object = {}): MemoryToolResult {
  return { path, text: "", status: "error", code, error, ...more };
}
