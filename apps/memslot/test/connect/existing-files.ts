import type { ClientId } from "../../src/connect/client.ts";

/** A file that somebody has already, as it is found in homes and projects. */
export interface ExistingFile {
  readonly name: string;
  readonly client: ClientId;
  /** In the home folder; with `project`, in the project. */
  readonly path: string;
  readonly project?: true;
  readonly text: string;
  readonly link?: true;
}

const bom = "\uFEFF";
const crlf = (text: string): string => text.replaceAll("\n", "\r\n");

const claudeState = `{
  "numStartups": 41,
  "mcpServers": {
    "github": { "command": "gh-mcp", "args": ["--stdio"], "env": { "GITHUB_TOKEN": "\${GITHUB_TOKEN}" } },
    "other-memory": { "command": "other-memory", "args": ["serve"] }
  },
  "projects": { "/home/ada/app": { "allowedTools": [], "history": [{ "display": "fix it" }] } }
}
`;

const claudeSettings = `{
  // what I like
  "model": "opus",
  "env": { "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "0" }, // stays as it is
  "hooks": {
    "Stop": [
      // a sound at the end
      { "hooks": [{ "type": "command", "command": "afplay done.wav" }] } // mine
    ],
    "PreToolUse": [{ "matcher": "Bash", "hooks": [{ "type": "command", "command": "guard" }] }]
  }
}
`;

const codexConfig = `# my own
model = "gpt-5"   # the good one
approval_policy = "on-request"

[mcp_servers.docs] # do not touch
command = "docs-mcp"
args = ["--stdio",
  "--verbose", # so that I see it
]

[tui]
notifications = true
`;

/** Thirty and more of them, each odd in its own way. */
export const existingFiles: readonly ExistingFile[] = [
  { name: "state of Claude Code", client: "claude-code", path: ".claude.json", text: claudeState },
  {
    name: "the same on one line",
    client: "claude-code",
    path: ".claude.json",
    text: JSON.stringify(JSON.parse(claudeState)),
  },
  { name: "the same with CRLF", client: "claude-code", path: ".claude.json", text: crlf(claudeState) },
  {
    name: "the same with four spaces",
    client: "claude-code",
    path: ".claude.json",
    text: claudeState.replaceAll("  ", "    "),
  },
  { name: "settings with comments", client: "claude-code", path: ".claude/settings.json", text: claudeSettings },
  {
    name: "settings with tabs",
    client: "claude-code",
    path: ".claude/settings.json",
    text: claudeSettings.replaceAll("  ", "\t"),
  },
  {
    name: "settings with a byte order mark",
    client: "claude-code",
    path: ".claude/settings.json",
    text: bom + claudeSettings,
  },
  {
    name: "settings with a mark and CRLF",
    client: "claude-code",
    path: ".claude/settings.json",
    text: bom + crlf(claudeSettings),
  },
  {
    name: "settings behind a link",
    client: "claude-code",
    path: ".claude/settings.json",
    text: claudeSettings,
    link: true,
  },
  { name: "empty settings", client: "claude-code", path: ".claude/settings.json", text: "" },
  { name: "an empty object", client: "claude-code", path: ".claude/settings.json", text: "{}" },
  {
    name: "an empty object with a comment",
    client: "claude-code",
    path: ".claude/settings.json",
    text: "{\n  // nothing yet\n}\n",
  },
  { name: "empty hooks", client: "claude-code", path: ".claude/settings.json", text: '{ "hooks": { "Stop": [] } }\n' },
  {
    name: "trailing commas",
    client: "claude-code",
    path: ".claude/settings.json",
    text: '{\n  "a": [1, 2,],\n  "hooks": {\n    "Stop": [\n      {"hooks": [],}, // one\n    ],\n  },\n}\n',
  },
  {
    name: "instructions of a person",
    client: "claude-code",
    path: ".claude/CLAUDE.md",
    text: "# Me\n\nAnswer in German.",
  },
  {
    name: "instructions with CRLF",
    client: "claude-code",
    path: ".claude/CLAUDE.md",
    text: crlf("# Me\n\nAnswer in German.\n"),
  },
  {
    name: "servers of a project",
    client: "claude-code",
    path: ".mcp.json",
    project: true,
    text: '{"mcpServers":{}}\n',
  },
  { name: "a TOML with comments", client: "codex", path: ".codex/config.toml", text: codexConfig },
  { name: "a TOML with CRLF", client: "codex", path: ".codex/config.toml", text: crlf(codexConfig) },
  { name: "a TOML with a byte order mark", client: "codex", path: ".codex/config.toml", text: bom + codexConfig },
  { name: "a TOML without an end", client: "codex", path: ".codex/config.toml", text: 'model = "x"' },
  { name: "a TOML behind a link", client: "codex", path: ".codex/config.toml", text: codexConfig, link: true },
  {
    name: "a TOML with dates and large numbers",
    client: "codex",
    path: ".codex/config.toml",
    text: "since = 2026-01-02T03:04:05Z\nbig = 9223372036854775807\nf = nan\n",
  },
  {
    name: "hooks of Codex",
    client: "codex",
    path: ".codex/hooks.json",
    text: '{ "hooks": { "SessionStart": [ { "hooks": [ { "type": "command", "command": "x" } ] } ] } }',
  },
  { name: "instructions for every agent", client: "codex", path: "AGENTS.md", project: true, text: "Use pnpm.\n" },
  {
    name: "settings of Gemini",
    client: "gemini",
    path: ".gemini/settings.json",
    text: '{\n  "theme": "GitHub",\n  "mcpServers": {\n    "a": {"command": "a", "trust": false} /* mine */\n  },\n  "unknown": {"keep": [null, 1.50, "\\u00e9"]}\n}',
  },
  {
    name: "settings of Gemini behind a link",
    client: "gemini",
    path: ".gemini/settings.json",
    text: '{"ui":{}}',
    link: true,
  },
  {
    name: "OpenCode with a schema",
    client: "opencode",
    path: ".config/opencode/opencode.json",
    text: '{\n  "$schema": "https://opencode.ai/config.json",\n  "plugin": ["opencode-other"]\n}\n',
  },
  {
    name: "OpenCode with comments",
    client: "opencode",
    path: ".config/opencode/opencode.jsonc",
    text: '/* head */\n{\n  // mine\n  "mcp": {\n    "x": { "type": "remote", "url": "https://example.com" }, // off at night\n  },\n}\n// foot\n',
  },
  {
    name: "servers of Cursor",
    client: "cursor",
    path: ".cursor/mcp.json",
    text: '{"mcpServers": {"memory": {"command": "npx", "args": ["-y", "some-memory"]}}}',
  },
  {
    name: "hooks of Cursor",
    client: "cursor",
    path: ".cursor/hooks.json",
    text: '{\n\t"version": 1,\n\t"hooks": {\n\t\t"stop": [\n\t\t\t{ "command": "./audit.sh" }\n\t\t]\n\t}\n}\n',
  },
  {
    name: "servers of VS Code",
    client: "vscode",
    path: ".config/Code/User/mcp.json",
    text: '{\n\t// from the profile\n\t"servers": {},\n\t"inputs": []\n}',
  },
  {
    name: "Claude Desktop",
    client: "claude-desktop",
    path: ".config/Claude/claude_desktop_config.json",
    text: '{\n  "globalShortcut": ""\n}',
  },
  {
    name: "Zed",
    client: "zed",
    path: ".config/zed/settings.json",
    text: '// Zed settings\n//\n// For information, see the docs\n{\n  "vim_mode": true,\n  "context_servers": {\n    // "off": {}\n  },\n  "theme": { "mode": "system" }, // last\n}\n',
  },
  {
    name: "Windsurf",
    client: "windsurf",
    path: ".codeium/windsurf/mcp_config.json",
    text: '{\r\n  "mcpServers": {\r\n  }\r\n}\r\n',
  },
  { name: "Antigravity", client: "antigravity", path: ".gemini/config/mcp_config.json", text: "" },
];
