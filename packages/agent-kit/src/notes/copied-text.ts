import { visibleText } from "@memslot/core";
import { redactSecrets } from "@memslot/indexing/host";
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
