import { type Memory, MemoryError, messageOf } from "@memslot/core";
import { appendNote, noteName } from "../edit/append-note.ts";
import { inTime, type ToolSetting } from "./tool-setting.ts";
import { localDay } from "../edit/local-day.ts";
import type { MemoryTool, MemoryToolResult } from "./memory-tool.ts";
import { noteProblem } from "../edit/note-text.ts";
import type { RecentRecalls } from "./recalled-text.ts";
import { type InputFields, badInput, checkInput, inputSchemaOf, lateAnswer } from "./tool-input.ts";

const fields = {
  text: {
    type: "string",
    required: true,
    description:
      "The note, in the user's language, to be understood without this conversation: one fact, at most 8,000 characters. No secrets.",
  },
  kind: {
    type: "string",
    required: true,
    values: ["daily", "longterm"],
    description:
      '"daily": what happened, was decided or is to be done, for the log of today. "longterm": a lasting fact or preference that the user has stated, for MEMORY.md.',
  },
  tags: {
    type: "strings",
    description: 'Up to 8 words to find it by, of letters, digits, "-" and "_".',
  },
} as const satisfies InputFields;

/** The note that a model asks for; undefined for what the tool refuses. */
export function noteInput(input: unknown): { text: string; kind: "daily" | "longterm" } | undefined {
  const checked = checkInput(fields, input);
  return checked.ok ? checked.values : undefined;
}

/** Where `memory_append` gets the day and the stamp from. */
export interface AppendSetting {
  readonly timeZone: string;
  readonly clock: () => Date;
}

/** Where it writes, or why it cannot: of memory it needs no more than the folder. */
interface AppendTarget extends Pick<ToolSetting, "deadlineMs"> {
  readonly opened: { readonly memory: Pick<Memory, "workspaceDir"> } | { readonly error: unknown };
}

/** Writes straight to the files, and so keeps working while the search is in its cooldown. */
export function memoryAppendTool(setting: AppendTarget, append: AppendSetting, recalls: RecentRecalls): MemoryTool {
  return {
    name: "memory_append",
    description:
      "Add a note to long-term memory: to the log of today, or to MEMORY.md. It only ever adds; nothing that is there is changed. " +
      'Answers with the citation of what it wrote. State "duplicate" means that memory says so already, and is no error. ' +
      "Do not write down what you have just recalled, unless it is to stand in another place as well.",
    inputSchema: inputSchemaOf(fields),
    execute: async (input, options = {}) => {
      const checked = checkInput(fields, input);
      if (!checked.ok) return badInput("memory_append", checked.field, checked.error);
      const { text, kind, tags = [] } = checked.values;
      const problem = noteProblem({ text, tags });
      if (problem !== undefined) return badInput("memory_append", problem.field, problem.error);
      if ("error" in setting.opened) return failure(setting.opened.error);
      const { workspaceDir } = setting.opened.memory;
      try {
        const at = append.clock();
        const day = localDay(at, append.timeZone);
        const recalled = recalls.holding(text, await noteName({ workspaceDir, kind, day }));
        if (recalled !== undefined) {
          const { path, startLine, endLine, citation } = recalled;
          return { status: "ok", state: "duplicate", path, startLine, endLine, citation, day, note: recalledNote };
        }
        const outcome = await inTime(
          (signal) => appendNote({ workspaceDir, text, kind, tags, at, timeZone: append.timeZone, signal }),
          { timeoutMs: setting.deadlineMs, signal: options.signal },
        );
        if (outcome.timedOut) return lateAnswer("the note", setting.deadlineMs, lateAdvice);
        const note = outcome.value.state === "duplicate" ? { note: duplicateNote } : {};
        return { status: "ok", ...outcome.value, ...note };
      } catch (error) {
        if (options.signal?.aborted) throw error;
        // The text has been checked, so it is about the file that the kind names.
        if (MemoryError.is(error, "INVALID_ARGUMENT")) return badInput("memory_append", "kind", error.message);
        return failure(error);
      }
    },
  };
}

const duplicateNote = "Memory says so already, at the citation. Nothing was written.";
const lateAdvice =
  "Call memory_append again with the same note: if it was written after all, it is recognised as a duplicate.";
const recalledNote = "This was just recalled from memory, at the citation. Nothing was written.";

function failure(error: unknown): MemoryToolResult {
  return {
    status: "error",
    code: MemoryError.is(error) ? error.code : "UNAVAILABLE",
    error: messageOf(error) || "unknown error",
    action: "Nothing was noted. Tell the user, with the reason; do not say that you will remember it.",
  };
}
