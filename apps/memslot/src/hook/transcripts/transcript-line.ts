import type { ConversationMessage } from "@memslot/agent-kit";
import type { ClientId } from "../../connect/client.ts";
import { claudeMessage } from "./claude-line.ts";
import { codexMessage } from "./codex-line.ts";
import { cursorMessage } from "./cursor-line.ts";
import { geminiMessage } from "./gemini-line.ts";

/** What a line of a transcript says. A message without an id or a time gets those of its place and of now. */
export type SaidLine = Pick<ConversationMessage, "text"> & {
  readonly role: "user" | "assistant";
  readonly id?: string | undefined;
  readonly at?: string | undefined;
};

const readers: Partial<Record<ClientId, (line: Record<string, unknown>) => SaidLine | undefined>> = {
  "claude-code": claudeMessage,
  codex: codexMessage,
  cursor: cursorMessage,
  gemini: geminiMessage,
};

/** Whether the transcripts of a client can be read. */
export function readsTranscripts(client: ClientId): boolean {
  return readers[client] !== undefined;
}

/** What was said in one line of a client's transcript; undefined for all else that stands there, and for garbage. */
export function readLine(client: ClientId, line: string): SaidLine | undefined {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    const said = readers[client]?.(value as Record<string, unknown>);
    return said === undefined || said.text.trim() === "" ? undefined : said;
  } catch {
    return undefined;
  }
}
