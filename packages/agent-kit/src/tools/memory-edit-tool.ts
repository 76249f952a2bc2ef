import { editNote } from "../edit/edit-note.ts";
import { type ChangeSetting, changeAnswer, notePlace } from "./change-answer.ts";
import type { MemoryTool } from "./memory-tool.ts";
import { type InputFields, checkInput, inputSchemaOf, badInput } from "./tool-input.ts";
import type { ToolSetting } from "./tool-setting.ts";

const fields = {
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
    inputSchema: inputSchemaOf(fields),
    execute: async (input, { signal } = {}) => {
      const checked = checkInput(fields, input);
      if (!checked.ok) return badInput("memory_edit", checked.field, checked.error);
      const { path, hash, old, new: text, supersedes } = checked.values;
      return await changeAnswer({ name: "memory_edit", setting, change, signal }, (place) =>
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
