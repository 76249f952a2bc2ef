import { groupAt } from "./config.ts";
import type { HostConfig } from "./host.ts";

/** The turn of an agent before its conversation is compacted, with `read` and `write` only. */
export interface FlushPlan {
  softThresholdTokens: number;
  forceFlushTranscriptBytes: number;
  reserveTokensFloor: number;
  model?: string;
  prompt: string;
  systemPrompt: string;
  /** Where the turn may write: the daily log of the user's day. */
  relativePath: string;
}

/** Null if `compaction.memoryFlush.enabled` is false. A threshold beyond the context is reduced. */
export function flushPlan(input: { cfg?: HostConfig; nowMs?: number; contextWindowTokens?: number }): FlushPlan | null {
  const defaults = groupAt(input.cfg, "agents", "defaults");
  const compaction = groupAt(defaults, "compaction");
  const flush = groupAt(compaction, "memoryFlush");
  if (flush["enabled"] === false) return null;
  const day = dayIn(new Date(input.nowMs ?? Date.now()), defaults["userTimezone"]);
  const relativePath = `memory/${day}.md`;
  const window = tokens(input.contextWindowTokens) || Number.POSITIVE_INFINITY;
  const reserveTokensFloor = Math.min(tokens(compaction["reserveTokensFloor"], 20_000), Math.floor(window / 2));
  const softThresholdTokens = Math.min(
    tokens(flush["softThresholdTokens"], 4000),
    Math.floor((window - reserveTokensFloor) / 2),
  );
  const model = flush["model"];
  return {
    softThresholdTokens,
    forceFlushTranscriptBytes: tokens(flush["forceFlushTranscriptBytes"], 2 * 1024 * 1024),
    reserveTokensFloor,
    ...(typeof model === "string" && model.trim() !== "" && { model: model.trim() }),
    ...promptsFor(relativePath, day),
    relativePath,
  };
}

function promptsFor(relativePath: string, day: string): { prompt: string; systemPrompt: string } {
  const silence = "When nothing is worth keeping, or when you are done, answer with NO_REPLY and nothing else.";
  return {
    systemPrompt: [
      "Pre-compaction memory flush. The messages of this conversation will soon be gone from your context; what you do not note now cannot be recalled later.",
      `Write to ${relativePath} alone. What stands there stays as it is: add to its end. MEMORY.md and USER.md are only read.`,
      silence,
    ].join("\n"),
    prompt: [
      `Pre-compaction memory flush. Today is ${day}. Add to ${relativePath} what should still be known in a month:`,
      "- what the user decided, prefers, asked to be remembered, or promised, with names, dates and figures as they were said;",
      "- facts about people, projects and places that were new, and corrections of earlier ones;",
      "- how far open work has come, and what is next.",
      "One fact in each line, in the language of the conversation, so that it is understood without the conversation. Leave out what the notes hold already. Never write down passwords, keys, tokens or other secrets.",
      silence,
    ].join("\n"),
  };
}

function tokens(value: unknown, otherwise = 0): number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? Math.floor(value) : otherwise;
}

/** The day as YYYY-MM-DD, where the user is; where this machine is, for a time zone that is none. */
function dayIn(date: Date, timeZone: unknown): string {
  const parts = { year: "numeric", month: "2-digit", day: "2-digit" } as const;
  try {
    return date.toLocaleDateString("en-CA", { ...parts, ...(typeof timeZone === "string" && { timeZone }) });
  } catch {
    return date.toLocaleDateString("en-CA", parts);
  }
}
