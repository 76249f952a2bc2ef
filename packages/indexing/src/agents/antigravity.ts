import type { Agent } from "./agent.ts";

export const antigravity: Agent = {
  id: "antigravity",
  name: "Antigravity",
  programs: ["agy", "antigravity"],
  signs: ["~/.gemini/antigravity", "~/.gemini/antigravity-cli", "~/.gemini/config"],
  files: [
    // The editor reads one, the command the other.
    {
      what: "server",
      user: "~/.gemini/antigravity/mcp_config.json",
      ifExists: "~/.gemini/antigravity",
      group: "mcpServers",
    },
    {
      what: "server",
      user: "~/.gemini/config/mcp_config.json",
      project: ".agents/mcp_config.json",
      group: "mcpServers",
    },
    { what: "instructions", project: "AGENTS.md" },
  ],
};
