import { hashOf } from "./session-state.ts";

/** The lines of a text that could be known again, as hashes. Blank lines and mere marks are none. */
export function linesShown(text: string): string[] {
  const lines = text.split("\n").map((line) => line.normalize("NFC").replaceAll(/\s+/gu, " ").trim());
  return [...new Set(lines.filter((line) => /[\p{L}\p{N}]{2}/u.test(line)).map((line) => hashOf([line]).slice(0, 12)))];
}

/** Whether a text says nothing that was not shown already. */
export function wasShown(text: string, shown: ReadonlySet<string>): boolean {
  return linesShown(text).every((line) => shown.has(line));
}
