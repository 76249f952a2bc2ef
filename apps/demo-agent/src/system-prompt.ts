import {
  type CitationsMode,
  type MemoryTool,
  type Session,
  memoryPromptSection,
  sessionStartContext,
} from "@memslot/agent-kit";
import { type AgentConfig, sessionKindOf } from "@memslot/core";

export interface SystemPrompt {
  text: string;
  paths: string[];
}

/** The system prompt: role, use of memory, notes of the session start, and the compacted summary. */
export async function buildSystemPrompt(
  session: Session,
  tools: readonly MemoryTool[],
  {
    agent,
    citations,
    now,
    limitTokens,
  }: { agent: AgentConfig; citations: CitationsMode; now: Date; limitTokens: number },
): Promise<SystemPrompt> {
  const { workspaceDir, userTimezone: timeZone } = agent;
  const { summary } = session.context;
  const kind = sessionKindOf(session.key, agent.id, agent.ownerAllowFrom);
  const budgetChars = Math.min(20_000, Math.round(limitTokens));
  const section = memoryPromptSection({ availableTools: new Set(tools.map(({ name }) => name)), citations });
  const audience = { kind, private: kind !== "group" };
  const context = await sessionStartContext({ workspaceDir, now, timeZone, session: audience, budgetChars });
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
