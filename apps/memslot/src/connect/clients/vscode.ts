import path from "node:path";
import type { Client, ClientPlace } from "../client.ts";
import { jsonEdit } from "../edits/json-edit.ts";
import { markdownMarkers, markedBlock } from "../edits/marked-block.ts";
import { hookHandlers } from "./hook-groups.ts";
import { appConfigDir } from "@memslot/core";
import { isOwnServer } from "../own-handler.ts";

const events = ["SessionStart", "PreCompact", "Stop"];

export const vscode: Client = {
  id: "vscode",
  name: "VS Code",
  scopes: ["user", "project"],
  programs: ["code"],
  signs: (place) => [profileOf(place)],
  files(place, { server, hook, instructions }) {
    const { home, projectDir, scope } = place;
    const inProject = scope === "project";
    const hooks = inProject ? path.join(projectDir, ".github", "hooks") : path.join(home, ".copilot", "hooks");
    return [
      {
        path: inProject ? path.join(projectDir, ".vscode", "mcp.json") : path.join(profileOf(place), "mcp.json"),
        what: "server",
        edit: jsonEdit([{ path: ["servers", "memslot"], value: { type: "stdio", ...server }, isOwn: isOwnServer }]),
      },
      ...(hook === undefined
        ? []
        : [
            {
              path: path.join(hooks, "memslot.json"),
              what: "hooks" as const,
              edit: jsonEdit(hookHandlers(events, { type: "command", command: hook, timeout: 10 })),
            },
          ]),
      ...(inProject
        ? [
            {
              path: path.join(projectDir, ".github", "copilot-instructions.md"),
              what: "instructions" as const,
              edit: markedBlock(instructions, markdownMarkers),
            },
          ]
        : []),
    ];
  },
  notes: () => ["VS Code asks once whether it may start the server. Hooks are a preview there."],
};

function profileOf(place: ClientPlace): string {
  return path.join(appConfigDir(place), "Code", "User");
}
