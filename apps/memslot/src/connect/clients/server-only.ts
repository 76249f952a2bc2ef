import path from "node:path";
import type { Client } from "../client.ts";
import { jsonEdit } from "../edits/json-edit.ts";
import { markdownMarkers, markedBlock } from "../edits/marked-block.ts";
import { appConfigDir } from "@memslot/core";
import { isOwnServer } from "../own-handler.ts";

// Clients that have no hook by which memory could be shown to their models.

export const claudeDesktop: Client = {
  id: "claude-desktop",
  name: "Claude Desktop",
  scopes: ["user"],
  programs: [],
  signs: (place) => [path.join(appConfigDir(place), "Claude")],
  files: (place, { server }) => [
    {
      path: path.join(appConfigDir(place), "Claude", "claude_desktop_config.json"),
      what: "server",
      edit: jsonEdit([{ path: ["mcpServers", "memslot"], value: server, isOwn: isOwnServer }]),
    },
  ],
  notes: () => ["Quit Claude Desktop wholly and start it anew."],
};

export const zed: Client = {
  id: "zed",
  name: "Zed",
  scopes: ["user", "project"],
  programs: ["zed", "zeditor"],
  signs: (place) => [zedFolder(place)],
  files: (place, { server }) => [
    {
      path: path.join(
        place.scope === "project" ? path.join(place.projectDir, ".zed") : zedFolder(place),
        "settings.json",
      ),
      what: "server",
      edit: jsonEdit([
        { path: ["context_servers", "memslot"], value: { source: "custom", ...server }, isOwn: isOwnServer },
      ]),
    },
  ],
  notes: () => [],
};

export const windsurf: Client = {
  id: "windsurf",
  name: "Windsurf",
  scopes: ["user"],
  programs: ["windsurf"],
  signs: ({ home }) => [path.join(home, ".codeium", "windsurf")],
  files: ({ home }, { server }) => [
    {
      path: path.join(home, ".codeium", "windsurf", "mcp_config.json"),
      what: "server",
      edit: jsonEdit([{ path: ["mcpServers", "memslot"], value: server, isOwn: isOwnServer }]),
    },
  ],
  notes: () => ["Refresh the list of MCP servers in Windsurf, or start it anew."],
};

export const antigravity: Client = {
  id: "antigravity",
  name: "Antigravity",
  scopes: ["user", "project"],
  programs: ["agy", "antigravity"],
  signs: ({ home }) => ["antigravity", "antigravity-cli", "config"].map((name) => path.join(home, ".gemini", name)),
  files({ exists, home, projectDir, scope }, { server, instructions }) {
    const edit = jsonEdit([{ path: ["mcpServers", "memslot"], value: server, isOwn: isOwnServer }]);
    if (scope === "project")
      return [
        { path: path.join(projectDir, ".agents", "mcp_config.json"), what: "server", edit },
        {
          path: path.join(projectDir, "AGENTS.md"),
          what: "instructions",
          edit: markedBlock(instructions, markdownMarkers),
        },
      ];
    // The command reads one, the editor the other.
    const editor = path.join(home, ".gemini", "antigravity");
    const folders = [...(exists(editor) ? [editor] : []), path.join(home, ".gemini", "config")];
    return folders.map((folder) => ({ path: path.join(folder, "mcp_config.json"), what: "server" as const, edit }));
  },
  notes: () => [],
};

function zedFolder({ env, home, platform }: Parameters<Client["signs"]>[0]): string {
  if (platform === "win32") return path.join(env["APPDATA"] || path.join(home, "AppData", "Roaming"), "Zed");
  const config = platform === "darwin" ? undefined : env["XDG_CONFIG_HOME"];
  return path.join(config || path.join(home, ".config"), "zed");
}
