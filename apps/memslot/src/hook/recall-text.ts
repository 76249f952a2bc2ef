import { formatCitation, frameRecalled } from "@memslot/agent-kit";
import { type Memory, type MemorySearchResult } from "@memslot/core";
import { ownTexts } from "@memslot/indexing/host";
import type { RecallMode } from "../connect/recall-mode.ts";
import { unshownPart } from "./shown-lines.ts";
import { tokensAtMost } from "./tokens-at-most.ts";

const mostTokens = 400;
/** Of the question that a prompt makes. What comes behind is mostly pasted. */
const mostCharacters = 600;
const leastWords = 2;

/** What a prompt asks the memory: its words, with nothing in it that the search would take for a filter. */
function questionOf(prompt: string): string {
  const text = prompt.trim();
  if (/^[/!#]/u.test(text)) return "";
  const prose = text
    .replaceAll(/```[^]*?(?:```|$)/gu, " ")
    .replaceAll(/<[^<>\n]{1,200}>/gu, " ")
    .slice(0, mostCharacters)
    .toWellFormed();
  const words = prose
    .replaceAll(/["“”]/gu, " ")
    .replaceAll(/(?<=^|\s)-+(?=\S)/gu, "")
    .replaceAll(/(?<=\p{L}):(?=\S)/gu, " ");
  const question = words.replaceAll(/\s+/gu, " ").trim();
  const count = question.split(" ").length;
  return count >= leastWords ||
    /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}/u.test(question)
    ? question
    : "";
}

/**
 * What the notes say on a prompt, in at most 400 tokens, without what this session was shown; empty where nothing answers
 * it. Throws as a search does.
 */
export async function recallText(
  memory: Memory,
  prompt: string,
  { mode, shown, signal }: { mode: RecallMode; shown: ReadonlySet<string>; signal: AbortSignal },
): Promise<string> {
  const question = mode === "off" ? "" : questionOf(prompt);
  if (question === "") return "";
  const { results, report } = await memory.ask(question, {
    maxTokens: mostTokens,
    // What was said is long, and its digest is in the notes.
    sources: ["memory"],
    signal,
  });
  if (mode === "strong" && report.match?.level !== "strong") return "";
  return fitted(results, shown);
}

function fitted(results: readonly MemorySearchResult[], shown: ReadonlySet<string>): string {
  const parts: string[] = [ownTexts.recallIntro];
  for (const result of results) {
    const text = unshownPart(result.snippet, shown);
    const frame = text === "" ? "" : frameRecalled(formatCitation(result), text);
    if (frame === "" || tokensAtMost([...parts, frame].join("\n")) > mostTokens) continue;
    parts.push(frame);
  }
  return parts.length > 1 ? parts.join("\n") : "";
}
