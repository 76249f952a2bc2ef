import { sessionStartContext } from "@memslot/agent-kit";
import { type AgentConfig, visibleName } from "@memslot/core";
import { ownTexts } from "@memslot/indexing/host";
import type { SessionState } from "./session-state.ts";
import { tokensAtMost } from "./tokens-at-most.ts";

const mostTokens = 600;
/** Tokens are counted by the text, characters are what can be asked for. */
const mostTries = 6;

/** What a session begins with: the curated notes, today's and yesterday's, as data, in at most 600 tokens. */
export async function startText(input: {
  agent: AgentConfig;
  now: Date;
  readOnly: boolean;
  /** Of the session: what was said in others is left out. */
  project: string | undefined;
  dropped: SessionState["dropped"];
}): Promise<string> {
  const { agent, now, readOnly } = input;
  const head = [...droppedLines(input.dropped), ...(readOnly ? [] : [ownTexts.appendAdvice])].join("\n");
  let budgetChars = mostTokens * 4;
  for (let tries = 0; tries < mostTries; tries++) {
    const { text } = await sessionStartContext({
      workspaceDir: agent.workspaceDir,
      now,
      timeZone: agent.userTimezone,
      session: { kind: "main", private: true },
      project: input.project,
      budgetChars,
    });
    if (text === "" && input.dropped === undefined) return "";
    const whole = [text, head].filter((part) => part !== "").join("\n\n");
    const tokens = tokensAtMost(whole);
    if (tokens <= mostTokens) return whole;
    budgetChars = Math.floor(budgetChars * Math.min(0.9, mostTokens / tokens));
  }
  return head;
}

function droppedLines(dropped: SessionState["dropped"]): string[] {
  if (dropped === undefined || dropped.messages === 0) return [];
  const { messages, citations } = dropped;
  const where =
    citations.length === 0 ? "" : ` Their digest stands at ${citations.map((each) => visibleName(each)).join(", ")};`;
  return [
    `${ownTexts.dropped} ${messages} ${messages === 1 ? "message" : "messages"} from your context.${where} memory_search finds what was said in them. If something lasting is missing from the notes, write it down now.`,
  ];
}
