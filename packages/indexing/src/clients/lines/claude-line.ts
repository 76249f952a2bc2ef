import { objectAt, ownText, textAt, textOf } from "./line-parts.ts";
import type { SaidLine } from "./said-line.ts";

/** `{type, uuid, timestamp, isSidechain, message: {role, content}}` of Claude Code. */
export function claudeMessage(line: Record<string, unknown>): SaidLine | undefined {
  const { type } = line;
  if (type !== "user" && type !== "assistant") return undefined;
  // Of a subagent, of the client itself, or the summary that stands for what was compacted.
  if (line["isSidechain"] === true || line["isMeta"] === true || line["isCompactSummary"] === true) return undefined;
  const text = ownText(type, textOf(objectAt(line, "message")?.["content"]));
  return { role: type, text, id: textAt(line, "uuid"), at: textAt(line, "timestamp") };
}
