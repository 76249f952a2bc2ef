import type { ClientSource } from "@memslot/core";
import { claudeMessage, codexMessage, cursorMessage, geminiMessage } from "./message-lines.ts";

/** What a line of a program's transcript says. */
export interface SaidLine {
  readonly role: "user" | "assistant";
  readonly text: string;
  readonly id?: string | undefined;
  /** As it is written there. */
  readonly at?: string | undefined;
}

/** Reads a line that is a JSON object. Undefined for all else that stands in transcripts: tools, settings, summaries. */
export type LineReader = (line: Record<string, unknown>) => SaidLine | undefined;

/** Of the programs that write their transcripts line by line. */
export const lineReaders: Readonly<Partial<Record<ClientSource, LineReader>>> = {
  "claude-code": claudeMessage,
  codex: codexMessage,
  cursor: cursorMessage,
  gemini: geminiMessage,
};
