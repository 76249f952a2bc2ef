import path from "node:path";
import type { Client, ClientPlace } from "../client.ts";
import { jsonEdit } from "../edits/json-edit.ts";
import { markdownMarkers, markedBlock } from "../edits/marked-block.ts";
import { tomlEdit } from "../edits/toml-edit.ts";
import { hookGroups } from "./hook-groups.ts";

/** Seconds. Codex gives the end of a session 3 at most. */
const events = [
  { event: "SessionStart", timeout: 10 },
  { event: "UserPromptSubmit", timeout: 10 },
  { event: "PreCompact", timeout: 10 },
  { event: "Stop", timeout: 10 },
  { event: "SessionEnd", timeout: 3 },
];

export const codex: Client = {
  id: "codex",
  name: "Codex",
  scopes: ["user", "project"],
  programs: ["codex"],
  signs: (place) => [homeOf(place)],
  files(place, { server, hook, instructions }) {
    const folder = place.scope === "project" ? path.join(place.projectDir, ".codex") : homeOf(place);
    const { command, args, env } = server;
    const table = { command, args, ...(Object.keys(env).length > 0 && { env }) };
    return [
      { path: path.join(folder, "config.toml"), what: "server", edit: tomlEdit(["mcp_servers", "memslot"], table) },
      ...(hook === undefined
        ? []
        : [
            {
              path: path.join(folder, "hooks.json"),
              what: "hooks" as const,
              edit: jsonEdit(hookGroups(events, hook)),
            },
          ]),
      { path: instructionsOf(place), what: "instructions", edit: markedBlock(instructions, markdownMarkers) },
    ];
  },
  notes: ({ scope }, { hook }) => [
    ...(hook === undefined ? [] : ["Codex runs no hook that you have not trusted: type /hooks in it once."]),
    ...(scope === "project" ? ["Codex reads .codex only in a project that you have trusted."] : []),
  ],
};

function homeOf({ env, home }: ClientPlace): string {
  return env["CODEX_HOME"] || path.join(home, ".codex");
}

/** An override takes the place of the other file. */
function instructionsOf(place: ClientPlace): string {
  const folder = place.scope === "project" ? place.projectDir : homeOf(place);
  const override = path.join(folder, "AGENTS.override.md");
  return place.exists(override) ? override : path.join(folder, "AGENTS.md");
}
