import type { Agent } from "./agent.ts";

export const windsurf: Agent = {
  id: "windsurf",
  name: "Windsurf",
  programs: ["windsurf"],
  signs: ["~/.codeium/windsurf"],
  files: [{ what: "server", user: "~/.codeium/windsurf/mcp_config.json", group: "mcpServers" }],
  notes: { always: "Refresh the list of MCP servers in Windsurf, or restart it." },
};
