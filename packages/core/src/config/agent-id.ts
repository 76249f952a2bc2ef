import { quoteText } from "./layer.ts";

/** What is wrong with an agent id, in words that follow the id; undefined where nothing is. It becomes part of file names. */
export function agentIdProblem(id: unknown): string | undefined {
  if (typeof id !== "string") return "it must be a text";
  if (id.trim() === "") return "it must not be blank";
  if (id === "." || id === "..") return "it must be more than dots";
  if (id.length > 64) return "it must have at most 64 characters";
  if (!/^[\w.-]+$/.test(id)) return `${quoteText(id)} must have only letters, digits, "_", "-" and "."`;
  return undefined;
}
