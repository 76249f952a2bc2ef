import { textAt } from "../json-values.ts";
import { additionalContext, type Agent, type AgentCode, type HookMoment } from "./agent.ts";
import table from "./agents.json" with { type: "json" };
import { claudeCode } from "./claude-code.ts";
import { codex } from "./codex.ts";
import { copilot } from "./copilot.ts";
import { cursor } from "./cursor.ts";
import { gemini } from "./gemini.ts";
import { opencode } from "./opencode.ts";
import { qwen } from "./qwen.ts";

const vscode: AgentCode = {
  files: { hooks: { handler: (command) => ({ type: "command", command, timeout: 10 }) } },
  hooks: {
    answers: { start: additionalContext },
    // It also runs the hooks of Claude Code and Copilot CLI, and is the only agent with names in camel case.
    isSender: (input, given) =>
      ["claude-code", "copilot"].includes(given) && (textAt(input, "hookEventName") ?? "").trim() !== "",
  },
};

const codeOf: Readonly<Record<string, AgentCode>> = {
  "claude-code": claudeCode,
  codex,
  copilot,
  cursor,
  gemini,
  opencode,
  qwen,
  vscode,
};

/** The agents that memslot connects to, in the order of lists. After a change here: `pnpm generate`. */
export const agents: readonly Agent[] = (table as unknown as readonly Agent[]).map((facts) => {
  const { files = {}, hooks, conversations, ...more } = codeOf[facts.id] ?? {};
  return {
    ...facts,
    ...more,
    files: facts.files.map((file) => ({ ...file, ...files[file.what] })),
    ...(facts.hooks && { hooks: { ...facts.hooks, ...hooks } }),
    ...(facts.conversations && { conversations: { ...facts.conversations, ...conversations } }),
  };
});

export function agentOf(id: string): Agent {
  const agent = agents.find((each) => each.id === id);
  if (agent === undefined) throw new Error(`there is no agent ${id}`);
  return agent;
}

const moments = new Map(
  agents.flatMap(({ hooks }) => Object.entries(hooks?.events ?? {})).map(([name, moment]) => [plain(name), moment]),
);

/** What an event of any agent is; undefined for events that memslot does not use. Agents run the hooks of others. */
export function momentOf(event: string): HookMoment | undefined {
  return moments.get(plain(event));
}

function plain(event: string): string {
  return event.replaceAll(/[_-]/gu, "").toLowerCase();
}
