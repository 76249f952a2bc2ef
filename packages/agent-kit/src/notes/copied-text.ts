import { visibleText } from "@memslot/core";
import { redactSecrets, redactLines } from "@memslot/indexing/host";
import { withoutPromptMarks } from "./prompt-marks.ts";

/**
 * A text that others have written as it may stand in a note: LF line ends, without what looks like a secret, without
 * control characters and marks of prompts, and with what cannot be seen made visible.
 */
export function copiedText(text: string): string {
  const clean = text
    .toWellFormed()
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(/[^\P{Cc}\t\n]/gu, "");
  // It may repeat whatever a model has read.
  return visibleText(withoutPromptMarks(redactSecrets(clean))).trim();
}

const maxSlugLength = 40;

/** A few words as a part of a file's name: lower-case ASCII letters and digits, with `-` between; empty where none is left. */
export function slugOf(words: unknown): string {
  if (typeof words !== "string") return "";
  const [clean = ""] = redactLines([words.slice(0, 1_000)]);
  const ascii = clean
    .normalize("NFKD")
    .replaceAll(/\p{M}+/gu, "")
    .toLowerCase();
  return ascii
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, maxSlugLength + 1)
    .replace(/^-/, "")
    .slice(0, maxSlugLength)
    .replace(/-$/, "");
}
