import path from "node:path";
import type { Client, ClientPlace } from "../client.ts";
import { jsonEdit } from "../edits/json-edit.ts";
import { markdownMarkers, markedBlock } from "../edits/marked-block.ts";
import { wholeFile } from "../edits/whole-file.ts";
import { opencodePlugin, pluginMark } from "./opencode-plugin.ts";
import { isOwnServer } from "../own-handler.ts";

export const opencode: Client = {
  id: "opencode",
  name: "OpenCode",
  scopes: ["user", "project"],
  programs: ["opencode"],
  signs: (place) => [folderOf(place)],
  files(place, { server, hook, instructions }) {
    const { projectDir, scope } = place;
    const folder = scope === "project" ? projectDir : folderOf(place);
    const plugins = path.join(scope === "project" ? path.join(projectDir, ".opencode") : folder, "plugins");
    const { command, args, env } = server;
    return [
      {
        path: configOf(place, folder),
        what: "server",
        edit: jsonEdit([
          {
            path: ["mcp", "memslot"],
            value: { type: "local", command: [command, ...args], environment: env, enabled: true },
            isOwn: isOwnServer,
          },
        ]),
      },
      ...(hook === undefined
        ? []
        : [
            {
              path: path.join(plugins, "memslot.js"),
              what: "hooks" as const,
              edit: wholeFile(opencodePlugin(hook), pluginMark),
            },
          ]),
      { path: path.join(folder, "AGENTS.md"), what: "instructions", edit: markedBlock(instructions, markdownMarkers) },
    ];
  },
  notes: () => ["Start OpenCode anew."],
};

function folderOf({ env, home }: ClientPlace): string {
  return path.join(env["XDG_CONFIG_HOME"] || path.join(home, ".config"), "opencode");
}

function configOf({ exists }: ClientPlace, folder: string): string {
  const withComments = path.join(folder, "opencode.jsonc");
  return exists(withComments) ? withComments : path.join(folder, "opencode.json");
}
