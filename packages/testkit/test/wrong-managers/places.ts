import type { MemoryPluginContext, MemorySearchManager } from "@memslot/core";
import type { WrongManager } from "./wrong-manager.ts";

/** Keeps one index for all that have the same name: whoever opens it first fills it, and it answers everybody. */
function sharing(nameOf: (context: MemoryPluginContext) => string): WrongManager["spoil"] {
  const kept = new Map<string, MemorySearchManager>();
  return (right, context) => {
    const first = kept.get(nameOf(context)) ?? right;
    kept.set(nameOf(context), first);
    return {
      search: (query, options) => first.search(query, options),
      // It is closed with the process.
      close: async () => undefined,
    };
  };
}

export const misplacing: readonly WrongManager[] = [
  {
    fault: "keeps the index of an agent under its id alone",
    caughtBy: "places: two workspaces of one agent, open at once, find their own notes alone",
    spoil: sharing(({ stateDir, agentId }) => `${stateDir} ${agentId}`),
  },
  {
    fault: "goes on with the index of an agent in another workspace",
    caughtBy: "places: two workspaces of one agent, open one after the other, find their own notes alone",
    spoil: sharing(({ stateDir, agentId }) => `${stateDir} ${agentId}`),
  },
  {
    fault: "has one index for all agents",
    caughtBy: "places: two agents, each with a workspace, open at once, find their own notes alone",
    spoil: sharing(({ stateDir }) => stateDir),
  },
  {
    fault: "goes on with the index of another agent",
    caughtBy: "places: two agents, each with a workspace, open one after the other, find their own notes alone",
    spoil: sharing(({ stateDir }) => stateDir),
  },
];
