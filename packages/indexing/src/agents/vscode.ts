import { textAt } from "../sources/lines.ts";
import { additionalContext, type Agent } from "./agent.ts";

export const vscode: Agent = {
  id: "vscode",
  name: "VS Code",
  programs: ["code"],
  signs: ["@config/Code/User"],
  files: [
    {
      what: "server",
      user: "@config/Code/User/mcp.json",
      project: ".vscode/mcp.json",
      group: "servers",
      before: { type: "stdio" },
    },
    {
      what: "hooks",
      user: "~/.copilot/hooks/memslot.json",
      project: ".github/hooks/memslot.json",
      handler: (command) => ({ type: "command", command, timeout: 10 }),
    },
    { what: "instructions", project: ".github/copilot-instructions.md" },
  ],
  notes: { always: "VS Code asks once whether it may start the server. Hooks are a preview there." },
  hooks: {
    events: { SessionStart: "start", PreCompact: "compact", Stop: "turn-end" },
    answers: { start: additionalContext },
    // It also runs the hooks of Claude Code, and is the only agent with names in camel case.
    isSender: (input, given) => given === "claude-code" && (textAt(input, "hookEventName") ?? "").trim() !== "",
  },
};
