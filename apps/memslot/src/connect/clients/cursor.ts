import path from "node:path";
import type { Client } from "../client.ts";
import { jsonEdit } from "../edits/json-edit.ts";
import { wholeFile } from "../edits/whole-file.ts";
import { markdownMarkers } from "../edits/marked-block.ts";
import { hookHandlers } from "./hook-groups.ts";
import { isOwnServer } from "../own-handler.ts";

/** Cursor throws the whole file away for one name that it does not know. Before a prompt it lets no hook speak. */
const events = ["sessionStart", "preCompact", "stop", "sessionEnd"];

export const cursor: Client = {
  id: "cursor",
  name: "Cursor",
  scopes: ["user", "project"],
  programs: ["cursor", "cursor-agent"],
  signs: ({ home }) => [path.join(home, ".cursor")],
  files({ home, projectDir, scope }, { server, hook, instructions }) {
    const folder = path.join(scope === "project" ? projectDir : home, ".cursor");
    const rule = ["---", "description: Long-term memory", "alwaysApply: true", "---"];
    return [
      {
        path: path.join(folder, "mcp.json"),
        what: "server",
        edit: jsonEdit([{ path: ["mcpServers", "memslot"], value: server, isOwn: isOwnServer }]),
      },
      ...(hook === undefined
        ? []
        : [
            {
              path: path.join(folder, "hooks.json"),
              what: "hooks" as const,
              edit: jsonEdit([
                { path: ["version"], value: 1, keeps: () => true },
                ...hookHandlers(events, { command: hook }),
              ]),
            },
          ]),
      // Rules for every project stand in Cursor's settings, which are no file.
      ...(scope === "project"
        ? [
            {
              path: path.join(folder, "rules", "memslot.mdc"),
              what: "instructions" as const,
              edit: wholeFile(
                [...rule, markdownMarkers.begin, ...instructions, markdownMarkers.end, ""].join("\n"),
                markdownMarkers.begin,
              ),
            },
          ]
        : []),
    ];
  },
  notes: () => ["Cursor shows notes at the start of a session; in between its model asks by itself."],
};
