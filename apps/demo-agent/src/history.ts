import { readFileSync } from "node:fs";
import { messageOf } from "@memslot/core";
import { codeOf, replaceFileSync } from "@memslot/core/files";

export const maxHistoryLines = 1_000;

/** The lines typed before, the newest first, kept in a file that only its owner can read. */
export interface History {
  readonly lines: string[];
  /** Called with all lines after each one; takes out those that are not to be kept. */
  keep(lines: string[]): void;
}

/** Without a file nothing is kept. A file that cannot be read or written is told once, and the chat goes on. */
export function openHistory(file: string | undefined, notify: (line: string) => void): History {
  let lines: string[] = [];
  let told = false;
  const trouble = (error: unknown): void => {
    if (!told) notify(`The history of the chat is not kept (${file}): ${messageOf(error)}`);
    told = true;
  };
  try {
    if (file !== undefined) lines = readFileSync(file, "utf8").split("\n").filter(Boolean).toReversed();
  } catch (error) {
    if (!(codeOf(error) === "ENOENT")) trouble(error);
  }
  return {
    lines: lines.slice(0, maxHistoryLines),
    keep: (typed) => {
      // As in a shell: what begins with a space is nobody's business.
      typed.splice(0, typed.length, ...typed.filter((line) => !line.startsWith(" ")).slice(0, maxHistoryLines));
      if (file === undefined || told) return;
      try {
        replaceFileSync(file, [...typed.toReversed(), ""].join("\n"));
      } catch (error) {
        trouble(error);
      }
    },
  };
}
