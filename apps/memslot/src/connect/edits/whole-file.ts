import type { TextEdit } from "./text-edit.ts";
import { UnusableFile } from "./unusable-file.ts";

/** A file that belongs to this program alone, known by a text in it. One of the same name that lacks it is left alone. */
export function wholeFile(content: string, mark: string): TextEdit {
  return {
    put(text) {
      if (text.trim() !== "" && !text.includes(mark))
        throw new UnusableFile("another file of this name is there, which memslot has not written");
      return content;
    },
    remove: (text) => (text.includes(mark) ? "" : text),
    isEmpty: (text) => text.trim() === "",
  };
}
