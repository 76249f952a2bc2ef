import { hashOf } from "./session-state.ts";

/** The lines of a text that could be known again, as hashes. Blank lines and mere marks are none. */
export function linesShown(text: string): string[] {
  const lines = text.split("\n").map((line) => line.normalize("NFC").replaceAll(/\s+/gu, " ").trim());
  return [...new Set(lines.filter((line) => /[\p{L}\p{N}]{2}/u.test(line)).map((line) => hashOf([line]).slice(0, 12)))];
}

/** What a text says that was not shown already, without the lines that were; empty where nothing is left. */
export function unshownPart(text: string, shown: ReadonlySet<string>): string {
  const isNew = (line: string): boolean => linesShown(line).every((hash) => !shown.has(hash));
  const left = text
    .split("\n")
    .filter(isNew)
    .join("\n")
    .replaceAll(/^\s*\n|\s+$/gu, "");
  return linesShown(left).length === 0 ? "" : left;
}
