import { splitLines } from "../text/file-text.ts";
import { redactLines } from "../secrets/redact-secrets.ts";
import { withoutData, withoutPictures } from "../text/embedded-data.ts";
import { splitLongLine } from "../text/split-long-line.ts";
import { estimateTokens } from "../text/token-weight.ts";

/** At a quarter of a token for a character: no line has more than 800 characters of what was said. */
const maxLineTokens = 200;
/** For whoever joins the lines again: only that one of them does not end in a word. */
export const wholeLineTokens = 1_000;
const labels = { user: "User: ", assistant: "Assistant: " } as const;
const said = /[\p{L}\p{N}\p{S}]/u;

/**
 * A message as lines that can stand alone: `User: …` or `Assistant: …`, each short enough for a chunk of `tokens`.
 * Secrets are taken out before anything is cut, once with the lines as they were written and once joined: neither a line
 * end nor a cut may hide one. Empty where nothing was said.
 */
export function renderMessage(role: "user" | "assistant", text: string, tokens: number): string[] {
  const clean = text.toWellFormed().replaceAll("\0", " ").normalize("NFC");
  const joined = redactLines(withoutPictures(splitLines(clean)))
    .join(" ")
    .replaceAll(/[\s\0]+/g, " ")
    .trim();
  const [content = ""] = withoutData(redactLines([joined]));
  if (!said.test(content)) return [];
  const label = labels[role];
  // Room for one character of any script, however small a chunk is.
  const room = Math.max(Math.min(tokens - estimateTokens(label) - 0.25, maxLineTokens), 2);
  return Array.from(splitLongLine(content, room, 0), (line) => label + line);
}

/** The lines of a message as one line, whatever its length, with its label at the beginning. */
export function asOneLine(rendered: readonly string[]): string {
  const [first = "", ...rest] = rendered;
  const label = labelOf(first).length;
  return [first, ...rest.map((line) => line.slice(label))].join(" ");
}

/** `User: ` or `Assistant: `; empty for a line of nobody. */
export function labelOf(line: string): string {
  return Object.values(labels).find((label) => line.startsWith(label)) ?? "";
}
