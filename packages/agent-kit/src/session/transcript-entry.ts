import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import { isObject, type JsonObject, jsonOf, textAt, textOf, timeOf } from "@memslot/indexing/host";
import type { ConversationMessage, ToolCall, NewMessage } from "../conversation-messages.ts";
import { invalid } from "../state-locks.ts";

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
  /** A line of another host: a setting, a label, a message of no role. */
  | { kind: "other" }
  | { kind: "blank" }
  /** Not a JSON object, or not UTF-8. */
  | { kind: "broken" };

const callTypes: ReadonlySet<unknown> = new Set(["toolCall", "tool_use", "tool_call"]);
const messageTypes: ReadonlySet<unknown> = new Set([undefined, "message", "user", "assistant"]);

/** Reads a line without its line end; undefined: it is too long. `lineNumber` names a message that has no id of its own. */
export function readEntry(line: Uint8Array | undefined, lineNumber: number): TranscriptEntry {
  if (line === undefined || !isUtf8(line)) return { kind: "broken" };
  const json = Buffer.from(line.buffer, line.byteOffset, line.byteLength)
    .toString("utf8")
    .replace(/^\uFEFF/, "");
  if (json.trim() === "") return { kind: "blank" };
  const record = jsonOf(json);
  if (!isObject(record)) return { kind: "broken" };
  const [id, at] = [idAt(record, "id"), isoAt(record)];
  if (record["type"] === "session") return { kind: "session", id, key: idAt(record, "sessionKey"), at };
  if (record["type"] === "compaction") {
    const [summary = "", firstKeptId] = [textAt(record, "summary"), idAt(record, "firstKeptEntryId")];
    return { kind: "compaction", id, at, summary, firstKeptId };
  }
  const message = messageTypes.has(record["type"]) ? messageOf(record, lineNumber) : undefined;
  return message ? { kind: "message", message } : { kind: "other" };
}

/** The first line of a transcript. The key serves to rebuild a lost `sessions.json`. */
export function sessionLine({ id, key, at, cwd }: { id: string; key: string; at: string; cwd: string }): string {
  return line({ type: "session", version: 3, id, timestamp: at, cwd, sessionKey: key });
}

export function messageLine(message: ConversationMessage, parentId: string | undefined): string {
  const { id, at, role, text } = message;
  const content: JsonObject[] = text === "" ? [] : [{ type: "text", text }];
  // The arguments stay the text that the model wrote, also if it is not JSON.
  if (role === "assistant") content.push(...(message.toolCalls ?? []).map((call) => ({ type: "toolCall", ...call })));
  const said =
    role === "tool"
      ? { role: "toolResult", content, toolCallId: message.toolCallId, toolName: message.toolName }
      : { role, content };
  const timestamp = Date.parse(at);
  return line({ type: "message", id, parentId: parentId ?? null, timestamp: at, message: { ...said, timestamp } });
}

export function compactionLine(
  compaction: { id: string; at: string; summary: string; firstKeptId: string | undefined; tokensBefore: number },
  parentId: string | undefined,
): string {
  const { id, at: timestamp, summary, firstKeptId: firstKeptEntryId, tokensBefore } = compaction;
  const type = "compaction";
  return line({ type, id, parentId: parentId ?? null, timestamp, summary, firstKeptEntryId, tokensBefore });
}

function line(record: JsonObject): string {
  return `${JSON.stringify(record)}\n`;
}

function messageOf(record: JsonObject, lineNumber: number): ConversationMessage | undefined {
  const message = isObject(record["message"]) ? record["message"] : record;
  const content = message["content"];
  const said = {
    id: idAt(record, "id") ?? `line-${lineNumber}`,
    at: isoAt(record) ?? isoAt(message) ?? new Date(0).toISOString(),
    text: textOf(content),
  };
  switch (message["role"]) {
    case "user":
      return { ...said, role: "user" };
    case "assistant": {
      const toolCalls = callsOf(content);
      return { ...said, role: "assistant", ...(toolCalls.length > 0 && { toolCalls }) };
    }
    case "toolResult":
    case "tool": {
      const toolCallId = message["toolCallId"] ?? message["tool_call_id"];
      if (typeof toolCallId !== "string") return undefined;
      return { ...said, role: "tool", toolCallId, toolName: textAt(message, "toolName") ?? "" };
    }
    default:
      return undefined;
  }
}

function callsOf(content: unknown): ToolCall[] {
  return (Array.isArray(content) ? content : []).flatMap((part: unknown) => {
    if (!isObject(part) || !callTypes.has(part["type"])) return [];
    const { id, name, arguments: own, input } = part;
    if (typeof id !== "string" || typeof name !== "string") return [];
    const given = own ?? input ?? {};
    return [{ id, name, arguments: typeof given === "string" ? given : JSON.stringify(given) }];
  });
}

/** The time of a line as ISO text. A text that is a time stays unchanged; hosts also write milliseconds and seconds. */
function isoAt(record: JsonObject): string | undefined {
  const value = record["timestamp"];
  if (typeof value === "string") return Number.isNaN(Date.parse(value)) ? undefined : value;
  const timeMs = timeOf(value);
  return timeMs === undefined ? undefined : new Date(timeMs).toISOString();
}

function idAt(record: JsonObject, name: string): string | undefined {
  return textAt(record, name) || undefined;
}

const maxIdLength = 256;

/** Checks a message and adds an id and a time if it has none. Throws `INVALID_ARGUMENT`. */
export function checkMessage(given: NewMessage, clock: () => Date): ConversationMessage {
  const { id = randomUUID(), at = clock().toISOString(), role } = given;
  const text = textField(given, "text");
  if (typeof (id as unknown) !== "string" || id === "" || id.length > maxIdLength)
    throw refused(`its id is not a text of 1 to ${maxIdLength} characters`);
  if (typeof (at as unknown) !== "string" || Number.isNaN(Date.parse(at)))
    throw refused(`its time ${JSON.stringify(at)} is not ISO text`);
  switch (role) {
    case "user":
      return { id, at, role, text };
    case "assistant": {
      const calls: unknown = given.toolCalls ?? [];
      if (!Array.isArray(calls)) throw refused("its toolCalls are not a list");
      const toolCalls = calls.map((call: unknown) => ({
        id: textField(call, "id"),
        name: textField(call, "name"),
        arguments: textField(call, "arguments"),
      }));
      return { id, at, role, text, ...(toolCalls.length > 0 && { toolCalls }) };
    }
    case "tool":
      return {
        id,
        at,
        role,
        text,
        toolCallId: textField(given, "toolCallId"),
        toolName: textField(given, "toolName"),
      };
    default:
      throw refused(`its role is ${JSON.stringify(role as unknown)}, not user, assistant or tool`);
  }
}

function textField(value: unknown, name: string): string {
  const text = textAt(value, name);
  if (text === undefined) throw refused(`${name} is missing or not a text`);
  return text;
}

function refused(problem: string): Error {
  return invalid(`a message of a conversation cannot be written: ${problem}`);
}
