import { forgetNote } from "../edit/edit-note.ts";
import { noteProblem } from "../notes/note-text.ts";
import { type ChangeSetting, changeAnswer, notePlace } from "./change-answer.ts";
import type { MemoryTool } from "./memory-tool.ts";
import { type InputFields, checkInput, inputSchemaOf, badInput } from "./tool-input.ts";
import type { ToolSetting } from "./tool-setting.ts";

const fields = {
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
    inputSchema: inputSchemaOf(fields),
    execute: async (input, { signal } = {}) => {
      const checked = checkInput(fields, input);
      if (!checked.ok) return badInput("memory_forget", checked.field, checked.error);
      const { path, hash, old, reason } = checked.values;
      const problem = noteProblem({ text: reason, tags: [] });
      if (problem !== undefined) return badInput("memory_forget", "reason", problem.error);
      return await changeAnswer({ name: "memory_forget", setting, change, signal }, (place) =>
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
