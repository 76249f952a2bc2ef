import { objectAt, ownText, textAt, textOf } from "./line-parts.ts";
import type { SaidLine } from "./said-line.ts";

/** `{timestamp, type: "response_item", payload: {type: "message", role, content}}` of Codex. Its `event_msg` say it twice. */
export function codexMessage(line: Record<string, unknown>): SaidLine | undefined {
  const payload = objectAt(line, "payload");
  if (line["type"] !== "response_item" || payload?.["type"] !== "message") return undefined;
  const { role } = payload;
  if (role !== "user" && role !== "assistant") return undefined;
  const text = ownText(role, textOf(payload["content"], ["input_text", "output_text", "text"]));
  if (role === "user" && text.startsWith("# AGENTS.md instructions")) return undefined;
  return { role, text, id: textAt(payload, "id"), at: textAt(line, "timestamp") };
}
