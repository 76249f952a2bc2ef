import { objectAt, textAt, textOf } from "./line-parts.ts";
import type { SaidLine } from "./said-line.ts";

/** `{type, uuid, timestamp, isSidechain, message: {role, content}}` of Claude Code. */
export function claudeMessage(line: Record<string, unknown>): SaidLine | undefined {
  const { type } = line;
  if (type !== "user" && type !== "assistant") return undefined;
  // Of a subagent, of the client itself, or the summary that stands for what was compacted.
  if (line["isSidechain"] === true || line["isMeta"] === true || line["isCompactSummary"] === true) return undefined;
  return {
    role: type,
    text: textOf(objectAt(line, "message")?.["content"]),
    id: textAt(line, "uuid"),
    at: textAt(line, "timestamp"),
  };
}

/** `{id, timestamp, type: "user" | "gemini", content}` of Gemini; the same id once more is the same message. */
export function geminiMessage(line: Record<string, unknown>): SaidLine | undefined {
  const { type } = line;
  if (type !== "user" && type !== "gemini") return undefined;
  const role = type === "user" ? "user" : "assistant";
  return { role, text: textOf(line["content"]), id: textAt(line, "id"), at: textAt(line, "timestamp") };
}

/** `{timestamp, type: "response_item", payload: {type: "message", role, content}}` of Codex. Its `event_msg` say it twice. */
export function codexMessage(line: Record<string, unknown>): SaidLine | undefined {
  const payload = objectAt(line, "payload");
  if (line["type"] !== "response_item" || payload?.["type"] !== "message") return undefined;
  const { role } = payload;
  if (role !== "user" && role !== "assistant") return undefined;
  const text = textOf(payload["content"], ["input_text", "output_text", "text"]);
  return { role, text, id: textAt(payload, "id"), at: textAt(line, "timestamp") };
}

/** `{role, message: {content: […]}}` of Cursor, without ids and times. */
export function cursorMessage(line: Record<string, unknown>): SaidLine | undefined {
  const { role } = line;
  if (role !== "user" && role !== "assistant") return undefined;
  return { role, text: textOf(objectAt(line, "message")?.["content"]).replaceAll(/<\/?user_query>/gu, "") };
}
