import { isInjected, withoutInjected, textAt, textOf } from "./line-parts.ts";
import type { SaidLine } from "./said-line.ts";

/** `{id, timestamp, type: "user" | "gemini", content}` of Gemini; the same id once more is the same message. */
export function geminiMessage(line: Record<string, unknown>): SaidLine | undefined {
  const { type } = line;
  if (type !== "user" && type !== "gemini") return undefined;
  const said = textOf(line["content"]);
  const text = type === "user" ? withoutInjected(said) : said;
  if (type === "user" && isInjected(text)) return undefined;
  return { role: type === "user" ? "user" : "assistant", text, id: textAt(line, "id"), at: textAt(line, "timestamp") };
}
