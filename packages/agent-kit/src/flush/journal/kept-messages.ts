import path from "node:path";
import { journalFileName, redactSecrets } from "@memslot/indexing/host";
import type { ConversationMessage } from "../../conversation.ts";
import { replaceFile } from "@memslot/core/files";
import { messageLine } from "../../session/transcript-entry.ts";
import type { FlushRecord } from "./flush-record.ts";

/** Results of these were notes before. They stand in the file, and are not found in it. */
const memoryTools = /^memory_/;

/** The path of the messages of an entry below the folder of the journal: the same messages have the same one. */
export function keptFile(folder: string, sessionName: string, hash: string): string {
  return path.join(folder, journalFileName(sessionName, hash));
}

/**
 * Writes messages where searches find them: a transcript of its own, on disk when it resolves. What a tool gave stands
 * there as a text of the assistant, in full, as it is handed to a model in part only. What looks like a secret is left out.
 */
export async function keepMessages(
  file: string,
  {
    sessionId,
    sessionKey,
    createdAt,
    messages,
  }: Pick<FlushRecord, "sessionId" | "sessionKey" | "createdAt" | "messages">,
  journalDays: number,
): Promise<void> {
  const keptUntil = new Date(Date.parse(createdAt) + journalDays * 86_400_000);
  const header = {
    type: "session",
    version: 3,
    id: sessionId,
    timestamp: createdAt,
    sessionKey,
    ...(Number.isNaN(keptUntil.getTime()) ? {} : { keptUntil: keptUntil.toISOString() }),
  };
  const lines = messages.map((message, index) => messageLine(findable(message), messages[index - 1]?.id));
  await replaceFile(file, `${JSON.stringify(header)}\n${lines.join("")}`);
}

function findable(message: ConversationMessage): ConversationMessage {
  const text = redactSecrets(message.text);
  if (message.role === "assistant" && message.toolCalls !== undefined) {
    const toolCalls = message.toolCalls.map((call) => ({ ...call, arguments: redactSecrets(call.arguments) }));
    return { ...message, text, toolCalls };
  }
  if (message.role !== "tool" || memoryTools.test(message.toolName)) return { ...message, text };
  const { id, at, toolName } = message;
  return { role: "assistant", id, at, text: `[result of ${toolName}] ${text}` };
}
