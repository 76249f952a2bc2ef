import { randomUUID } from "node:crypto";
import { MemoryError } from "@memslot/core";
import type { ConversationMessage, NewMessage, ToolCall } from "../conversation.ts";

const maxIdLength = 256;

/** A message as it is written, with an id and a time. Throws `INVALID_ARGUMENT` for what is none. */
export function checkMessage(given: NewMessage, clock: () => Date): ConversationMessage {
  const text = textOf(given, "text");
  const said = { id: idOf(given), at: timeOf(given, clock) };
  switch (given.role) {
    case "user":
      return { ...said, role: "user", text };
    case "assistant": {
      const toolCalls = callsOf(given.toolCalls);
      return { ...said, role: "assistant", text, ...(toolCalls.length > 0 && { toolCalls }) };
    }
    case "tool":
      return {
        ...said,
        role: "tool",
        toolCallId: textOf(given, "toolCallId"),
        toolName: textOf(given, "toolName"),
        text,
      };
    default:
      throw invalid(`its role is ${JSON.stringify((given as { role?: unknown }).role)}, not user, assistant or tool`);
  }
}

function idOf({ id }: NewMessage): string {
  if (id === undefined) return randomUUID();
  if (typeof id === "string" && id !== "" && id.length <= maxIdLength) return id;
  throw invalid(`its id is not a text of 1 to ${maxIdLength} characters`);
}

function timeOf({ at }: NewMessage, clock: () => Date): string {
  if (at === undefined) return clock().toISOString();
  if (typeof at === "string" && !Number.isNaN(Date.parse(at))) return at;
  throw invalid(`its time ${JSON.stringify(at)} is not ISO text`);
}

function callsOf(toolCalls: unknown): ToolCall[] {
  if (toolCalls === undefined) return [];
  if (!Array.isArray(toolCalls)) throw invalid("its toolCalls are no list");
  return toolCalls.map((call: unknown) => ({
    id: textOf(call, "id"),
    name: textOf(call, "name"),
    arguments: textOf(call, "arguments"),
  }));
}

function textOf(value: unknown, name: string): string {
  const text = (value as Record<string, unknown> | null | undefined)?.[name];
  if (typeof text !== "string") throw invalid(`${name} is missing or no text`);
  return text;
}

function invalid(problem: string): MemoryError {
  return new MemoryError("INVALID_ARGUMENT", `a message of a conversation cannot be written down: ${problem}`);
}
