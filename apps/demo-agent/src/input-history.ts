import { readFileSync } from "node:fs";
import { messageOf } from "@memslot/core";
import { codeOf, replaceFileSync } from "@memslot/core/files";

export const maxHistoryLines = 1_000;

/** Earlier lines, newest first, in a file private to the owner. */
export interface History {
  readonly lines: string[];
  /** Called with all lines after each one; removes those that must not be kept. */
  keep(lines: string[]): void;
}

/** Without a file nothing is kept. An unusable file is reported once, and the chat continues. */
export function openHistory(file: string | undefined, notify: (line: string) => void): History {
  let lines: string[] = [];
  let isReported = false;
  const trouble = (error: unknown): void => {
    if (!isReported) notify(`The history of the chat is not kept (${file}): ${messageOf(error)}`);
    isReported = true;
  };
  try {
    if (file !== undefined) lines = readFileSync(file, "utf8").split("\n").filter(Boolean).toReversed();
  } catch (error) {
    if (!(codeOf(error) === "ENOENT")) trouble(error);
  }
  return {
    lines: lines.slice(0, maxHistoryLines),
    keep: (typed) => {
      // As in a shell, a line that begins with a space is not kept.
      typed.splice(0, typed.length, ...typed.filter((line) => !line.startsWith(" ")).slice(0, maxHistoryLines));
      if (file === undefined || isReported) return;
      try {
        replaceFileSync(file, [...typed.toReversed(), ""].join("\n"));
      } catch (error) {
        trouble(error);
      }
    },
  };
}
