import { type CitationsMode, memoryPromptSection, sessionStartContext } from "@memslot/agent-kit";
import type { SessionKind } from "@memslot/core";

export interface SystemPrompt {
  text: string;
  /** The notes that stand in it. */
  paths: string[];
}

/** What the model is told: who it is, how it uses its memory, what a session starts with, and what was compacted. */
export async function buildSystemPrompt(options: {
  workspaceDir: string;
  kind: SessionKind;
  toolNames: readonly string[];
  citations: CitationsMode;
  now: Date;
  timeZone: string;
  summary?: string | undefined;
  budgetChars: number;
}): Promise<SystemPrompt> {
  const { workspaceDir, kind, toolNames, citations, now, timeZone, summary, budgetChars } = options;
  const section = memoryPromptSection({ availableTools: new Set(toolNames), citations });
  const session = { kind, private: kind !== "group" };
  const context = await sessionStartContext({ workspaceDir, now, timeZone, session, budgetChars });
  const today = new Intl.DateTimeFormat("en-GB", { timeZone, dateStyle: "full" }).format(now);
  const parts = [
    "You are a personal assistant in a terminal, with a long-term memory made of the user's Markdown notes. Answer briefly and in the language of the question.\n" +
      `Today is ${today}, time zone ${timeZone}.`,
    section.join("\n"),
    context.text,
    summary === undefined ? "" : `# The conversation before this, summarised\n\n${summary}`,
  ];
  const shown = context.files.filter(({ state }) => state === "whole" || state === "cut");
  return { text: parts.filter((part) => part !== "").join("\n\n"), paths: shown.map(({ path }) => path) };
}
