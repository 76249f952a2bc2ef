import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import { MemoryError } from "@memslot/core";
import type { ConversationMessage, ToolCall, NewMessage } from "../conversation.ts";

/** What one line of a transcript says. */
export type TranscriptEntry =
  | { kind: "session"; id: string | undefined; key: string | undefined; at: string | undefined }
  | { kind: "message"; message: ConversationMessage }
  | {
      kind: "compaction";
      id: string | undefined;
      at: string | undefined;
      summary: string;
      firstKeptId: string | undefined;
    }
  /** A line of another host: a setting, a label, a message that nobody said. */
  | { kind: "other" }
  | { kind: "blank" }
  /** Not a JSON object, or not UTF-8. */
  | { kind: "broken" };

type JsonObject = Record<string, unknown>;

const textTypes: ReadonlySet<unknown> = new Set(["text", "input_text", "output_text"]);
const callTypes: ReadonlySet<unknown> = new Set(["toolCall", "tool_use", "tool_call"]);
const messageTypes: ReadonlySet<unknown> = new Set([undefined, "message", "user", "assistant"]);
const latestMs = 8.64e15;

/** Reads a line without its line end. `lineNumber` names a message that has no id of its own. */
export function readEntry(line: Uint8Array, lineNumber: number): TranscriptEntry {
  if (!isUtf8(line)) return { kind: "broken" };
  const json = Buffer.from(line.buffer, line.byteOffset, line.byteLength)
    .toString("utf8")
    .replace(/^\uFEFF/, "");
  if (json.trim() === "") return { kind: "blank" };
  let record: unknown;
  try {
    record = JSON.parse(json);
  } catch {
    return { kind: "broken" };
  }
  if (!isObject(record)) return { kind: "broken" };
  if (record["type"] === "session") {
    return { kind: "session", id: textAt(record, "id"), key: textAt(record, "sessionKey"), at: timeOf(record) };
  }
  if (record["type"] === "compaction") {
    return {
      kind: "compaction",
      id: textAt(record, "id"),
      at: timeOf(record),
      summary: textAt(record, "summary") ?? "",
      firstKeptId: textAt(record, "firstKeptEntryId"),
    };
  }
  const message = messageTypes.has(record["type"]) ? messageOf(record, lineNumber) : undefined;
  return message ? { kind: "message", message } : { kind: "other" };
}

/** The first line of a transcript. The key is for the case that `sessions.json` is lost. */
export function sessionLine(session: { id: string; key: string; at: string; cwd: string }): string {
  const { id, key, at, cwd } = session;
  return line({ type: "session", version: 3, id, timestamp: at, cwd, sessionKey: key });
}

export function messageLine(message: ConversationMessage, parentId: string | undefined): string {
  const { id, at } = message;
  return line({
    type: "message",
    id,
    parentId: parentId ?? null,
    timestamp: at,
    message: { ...spoken(message), timestamp: Date.parse(at) },
  });
}

export function compactionLine(
  compaction: { id: string; at: string; summary: string; firstKeptId: string | undefined; tokensBefore: number },
  parentId: string | undefined,
): string {
  const { id, at, summary, firstKeptId, tokensBefore } = compaction;
  return line({
    type: "compaction",
    id,
    parentId: parentId ?? null,
    timestamp: at,
    summary,
    firstKeptEntryId: firstKeptId,
    tokensBefore,
  });
}

/** Every line ends with the end of a line, so that the next one stands alone. */
function line(record: JsonObject): string {
  return `${JSON.stringify(record)}\n`;
}

function spoken(message: ConversationMessage): JsonObject {
  const content: JsonObject[] = message.text === "" ? [] : [{ type: "text", text: message.text }];
  if (message.role === "tool")
    return { role: "toolResult", content, toolCallId: message.toolCallId, toolName: message.toolName };
  if (message.role === "user") return { role: "user", content };
  // The arguments stay the text that the model wrote, also where it is no JSON.
  const calls = message.toolCalls?.map((call) => ({ type: "toolCall", ...call })) ?? [];
  return { role: "assistant", content: [...content, ...calls] };
}

function messageOf(record: JsonObject, lineNumber: number): ConversationMessage | undefined {
  const message = isObject(record["message"]) ? record["message"] : record;
  const id = textAt(record, "id") ?? `line-${lineNumber}`;
  const at = timeOf(record) ?? timeOf(message) ?? new Date(0).toISOString();
  const content = message["content"];
  const text = textOf(content);
  switch (message["role"]) {
    case "user":
      return { id, at, role: "user", text };
    case "assistant": {
      const toolCalls = callsOf(content);
      return { id, at, role: "assistant", text, ...(toolCalls.length > 0 && { toolCalls }) };
    }
    case "toolResult":
    case "tool": {
      const toolCallId = message["toolCallId"] ?? message["tool_call_id"];
      if (typeof toolCallId !== "string") return undefined;
      return { id, at, role: "tool", toolCallId, toolName: textAt(message, "toolName") ?? "", text };
    }
    default:
      return undefined;
  }
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return partsOf(content)
    .filter((part) => textTypes.has(part["type"]) && typeof part["text"] === "string")
    .map((part) => part["text"])
    .join("\n");
}

function callsOf(content: unknown): ToolCall[] {
  return partsOf(content).flatMap((part) => {
    const { id, name } = part;
    if (!callTypes.has(part["type"]) || typeof id !== "string" || typeof name !== "string") return [];
    const given = part["arguments"] ?? part["input"] ?? {};
    return [{ id, name, arguments: typeof given === "string" ? given : JSON.stringify(given) }];
  });
}

function partsOf(content: unknown): JsonObject[] {
  return Array.isArray(content) ? content.filter((part) => isObject(part)) : [];
}

/** The time of a line as ISO text. Text that is a time stays as it is; hosts also write milliseconds and seconds. */
function timeOf(record: JsonObject): string | undefined {
  const value = record["timestamp"];
  if (typeof value === "string") return Number.isNaN(Date.parse(value)) ? undefined : value;
  if (typeof value !== "number" || !(value > 0)) return undefined;
  const timeMs = value < 1e11 ? value * 1000 : value;
  return timeMs <= latestMs ? new Date(timeMs).toISOString() : undefined;
}

function textAt(record: JsonObject, name: string): string | undefined {
  const value = record[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const maxIdLength = 256;

/** A message as it is written, with an id and a time. Throws `INVALID_ARGUMENT` for what is none. */
export function checkMessage(given: NewMessage, clock: () => Date): ConversationMessage {
  const text = textField(given, "text");
  const said = { id: checkedId(given), at: checkedTime(given, clock) };
  switch (given.role) {
    case "user":
      return { ...said, role: "user", text };
    case "assistant": {
      const toolCalls = checkedCalls(given.toolCalls);
      return { ...said, role: "assistant", text, ...(toolCalls.length > 0 && { toolCalls }) };
    }
    case "tool":
      return {
        ...said,
        role: "tool",
        toolCallId: textField(given, "toolCallId"),
        toolName: textField(given, "toolName"),
        text,
      };
    default:
      throw invalid(`its role is ${JSON.stringify((given as { role?: unknown }).role)}, not user, assistant or tool`);
  }
}

function checkedId({ id }: NewMessage): string {
  if (id === undefined) return randomUUID();
  if (typeof id === "string" && id !== "" && id.length <= maxIdLength) return id;
  throw invalid(`its id is not a text of 1 to ${maxIdLength} characters`);
}

function checkedTime({ at }: NewMessage, clock: () => Date): string {
  if (at === undefined) return clock().toISOString();
  if (typeof at === "string" && !Number.isNaN(Date.parse(at))) return at;
  throw invalid(`its time ${JSON.stringify(at)} is not ISO text`);
}

function checkedCalls(toolCalls: unknown): ToolCall[] {
  if (toolCalls === undefined) return [];
  if (!Array.isArray(toolCalls)) throw invalid("its toolCalls are no list");
  return toolCalls.map((call: unknown) => ({
    id: textField(call, "id"),
    name: textField(call, "name"),
    arguments: textField(call, "arguments"),
  }));
}

function textField(value: unknown, name: string): string {
  const text = (value as Record<string, unknown> | null | undefined)?.[name];
  if (typeof text !== "string") throw invalid(`${name} is missing or no text`);
  return text;
}

function invalid(problem: string): MemoryError {
  return new MemoryError("INVALID_ARGUMENT", `a message of a conversation cannot be written down: ${problem}`);
}
