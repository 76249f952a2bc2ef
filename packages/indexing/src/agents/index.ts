import type { Agent, HookMoment } from "./agent.ts";
import withoutHooks from "./agents-without-hooks.json" with { type: "json" };
import { claudeCode } from "./claude-code.ts";
import { codex } from "./codex.ts";
import { cursor } from "./cursor.ts";
import { gemini } from "./gemini.ts";
import { opencode } from "./opencode.ts";
import { vscode } from "./vscode.ts";

/** The agents that memslot connects to, in the order of lists. After a change here: `pnpm generate`. */
export const agents: readonly Agent[] = [
  claudeCode,
  codex,
  gemini,
  opencode,
  cursor,
  vscode,
  ...(withoutHooks as readonly Agent[]),
];

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
