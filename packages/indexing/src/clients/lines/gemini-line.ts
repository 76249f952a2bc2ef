import { ownText, textAt, textOf } from "./line-parts.ts";
import type { SaidLine } from "./said-line.ts";

/** `{id, timestamp, type: "user" | "gemini", content}` of Gemini; the same id once more is the same message. */
export function geminiMessage(line: Record<string, unknown>): SaidLine | undefined {
  const { type } = line;
  if (type !== "user" && type !== "gemini") return undefined;
  const role = type === "user" ? "user" : "assistant";
  const text = ownText(role, textOf(line["content"]));
  return { role, text, id: textAt(line, "id"), at: textAt(line, "timestamp") };
}
