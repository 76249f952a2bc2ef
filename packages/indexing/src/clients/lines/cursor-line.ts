import { objectAt, ownText, textOf } from "./line-parts.ts";
import type { SaidLine } from "./said-line.ts";

/** `{role, message: {content: […]}}` of Cursor, without ids and times. */
export function cursorMessage(line: Record<string, unknown>): SaidLine | undefined {
  const { role } = line;
  if (role !== "user" && role !== "assistant") return undefined;
  const text = textOf(objectAt(line, "message")?.["content"]).replaceAll(/<\/?user_query>/gu, "");
  return { role, text: ownText(role, text) };
}
