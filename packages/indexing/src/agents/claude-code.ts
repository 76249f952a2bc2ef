import path from "node:path";
import { objectAt } from "../sources/lines.ts";
import { type Agent, claudeHooks, hookGroup, saidBy } from "./agent.ts";

export const claudeCode: Agent = {
  id: "claude-code",
  name: "Claude Code",
  programs: ["claude"],
  signs: ["$CLAUDE_CONFIG_DIR|~/.claude", "$CLAUDE_CONFIG_DIR/.claude.json|~/.claude.json"],
  files: [
    {
      what: "server",
      user: "$CLAUDE_CONFIG_DIR/.claude.json|~/.claude.json",
      project: ".mcp.json",
      group: "mcpServers",
      // By default it hides the tools until its model searches for them.
      entry: ({ server }) => ({ type: "stdio", ...server, alwaysLoad: true }),
    },
    {
      what: "hooks",
      user: "$CLAUDE_CONFIG_DIR/settings.json|~/.claude/settings.json",
      project: ".claude/settings.local.json",
      handler: (command) => hookGroup(command, 10),
    },
    { what: "instructions", user: "$CLAUDE_CONFIG_DIR/CLAUDE.md|~/.claude/CLAUDE.md", project: "CLAUDE.md" },
  ],
  notes: {
    always: "Restart Claude Code; with --bare it runs neither hooks nor MCP servers.",
    project: "Claude Code asks once whether it may start the server that .mcp.json names.",
  },
  about:
    '`"alwaysLoad": true` keeps the tools visible; by default Claude Code hides them until its model searches for them.',
  hooks: claudeHooks,
  conversations: {
    folders: ["$CLAUDE_CONFIG_DIR|~/.claude"],
    layout: ["`projects/*/*.jsonl`", "`projects/*/memory/*.md`"],
    // `{type, uuid, timestamp, isSidechain, message: {role, content}}`; subagents, the program's own lines and
    // summaries are skipped.
    said: (line) =>
      line["isSidechain"] === true || line["isMeta"] === true || line["isCompactSummary"] === true
        ? undefined
        : saidBy(line["type"], objectAt(line, "message")?.["content"], line["uuid"], line["timestamp"]),
    folderOf: (line) => line["cwd"],
    async find(finder, folder) {
      // Subagents have folders of their own below these.
      for (const slug of await finder.folders(path.join(folder, "projects"))) {
        const place = path.join(folder, "projects", slug);
        await finder.takeAll(place, /\.jsonl$/iu, `${slug}/`, { kind: "lines" });
        await finder.takeNotes(path.join(place, "memory"), `${slug}/memory/`, `slug:${slug}`);
      }
    },
  },
  silentSkips({ file, json }) {
    const settings = file(/settings(?:\.local)?\.json$/u);
    if (json(settings)["disableAllHooks"] !== true) return [];
    const message = `disableAllHooks in ${settings} keeps every hook from running`;
    return [{ message, next: "Remove it to have notes displayed." }];
  },
};
