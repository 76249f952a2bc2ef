import type { Agent } from "./agent.ts";

export const claudeDesktop: Agent = {
  id: "claude-desktop",
  name: "Claude Desktop",
  programs: [],
  signs: ["@config/Claude"],
  files: [{ what: "server", user: "@config/Claude/claude_desktop_config.json", group: "mcpServers" }],
  notes: { always: "Quit Claude Desktop completely and restart it." },
};
