import path from "node:path";
import type { Client, ClientPlace } from "../client.ts";
import { jsonEdit } from "../edits/json-edit.ts";
import { markdownMarkers, markedBlock } from "../edits/marked-block.ts";
import { hookGroups } from "./hook-groups.ts";
import { isOwnServer } from "../own-handler.ts";

/** Seconds. The end of a session has a second and a half of its own. */
const events = [
  { event: "SessionStart", timeout: 10 },
  { event: "UserPromptSubmit", timeout: 10 },
  { event: "PreCompact", timeout: 10 },
  { event: "Stop", timeout: 10 },
  { event: "SessionEnd", timeout: 10 },
];

export const claudeCode: Client = {
  id: "claude-code",
  name: "Claude Code",
  scopes: ["user", "project"],
  programs: ["claude"],
  signs: (place) => [configDir(place), stateFile(place)],
  files(place, { server, hook, instructions }) {
    // Else it keeps the tools from the model until that one searches for them.
    const entry = { type: "stdio", ...server, alwaysLoad: true };
    const inProject = place.scope === "project";
    const settings = inProject
      ? path.join(place.projectDir, ".claude", "settings.local.json")
      : path.join(configDir(place), "settings.json");
    const notes = inProject ? path.join(place.projectDir, "CLAUDE.md") : path.join(configDir(place), "CLAUDE.md");
    return [
      {
        path: inProject ? path.join(place.projectDir, ".mcp.json") : stateFile(place),
        what: "server",
        edit: jsonEdit([{ path: ["mcpServers", "memslot"], value: entry, isOwn: isOwnServer }]),
      },
      ...(hook === undefined
        ? []
        : [{ path: settings, what: "hooks" as const, edit: jsonEdit(hookGroups(events, hook)) }]),
      { path: notes, what: "instructions", edit: markedBlock(instructions, markdownMarkers) },
    ];
  },
  notes: ({ scope }) => [
    "Start Claude Code anew; with --bare it runs neither hooks nor MCP servers.",
    ...(scope === "project" ? ["Claude Code asks once whether it may start the server that .mcp.json names."] : []),
  ],
};

function configDir({ env, home }: ClientPlace): string {
  return env["CLAUDE_CONFIG_DIR"] || path.join(home, ".claude");
}

function stateFile({ env, home }: ClientPlace): string {
  return path.join(env["CLAUDE_CONFIG_DIR"] || home, ".claude.json");
}
