import { isInjected, withoutInjected, objectAt, textOf } from "./line-parts.ts";
import type { SaidLine } from "./said-line.ts";

/** `{role, message: {content: […]}}` of Cursor, without ids and times. */
export function cursorMessage(line: Record<string, unknown>): SaidLine | undefined {
  const { role } = line;
  if (role !== "user" && role !== "assistant") return undefined;
  const said = textOf(objectAt(line, "message")?.["content"]).replaceAll(/<\/?user_query>/gu, "");
  const text = role === "user" ? withoutInjected(said) : said;
  return role === "user" && isInjected(text) ? undefined : { role, text };
}
