// Made of packages/indexing/src/agents by `pnpm generate`.

/** The agents that memslot connects to. */
export const clientIds = [
  "claude-code",
  "codex",
  "gemini",
  "opencode",
  "copilot",
  "qwen",
  "cursor",
  "vscode",
  "claude-desktop",
  "zed",
  "windsurf",
  "antigravity",
  "crush",
  "amp",
] as const;

export type ClientId = (typeof clientIds)[number];

/** The folders of agents that keep conversations, in the form of `Conversations.folders` there. */
export const clientFolderPatterns = {
  "claude-code": ["$CLAUDE_CONFIG_DIR|~/.claude"],
  codex: ["$CODEX_HOME|~/.codex"],
  gemini: ["$GEMINI_CLI_HOME/.gemini|~/.gemini"],
  opencode: ["$XDG_DATA_HOME/opencode|~/.local/share/opencode"],
  copilot: ["$COPILOT_HOME|~/.copilot"],
  qwen: ["$QWEN_RUNTIME_DIR|$QWEN_HOME|~/.qwen"],
  cursor: ["~/.cursor", "@config/Cursor/User"],
} as const;
