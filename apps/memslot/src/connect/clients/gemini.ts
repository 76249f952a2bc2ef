import path from "node:path";
import type { Client } from "../client.ts";
import { jsonEdit } from "../edits/json-edit.ts";
import { markdownMarkers, markedBlock } from "../edits/marked-block.ts";
import { hookGroups } from "./hook-groups.ts";
import { isOwnServer } from "../own-handler.ts";

/** Milliseconds here. */
const events = ["SessionStart", "BeforeAgent", "PreCompress", "AfterAgent", "SessionEnd"].map((event) => ({
  event,
  timeout: 10_000,
}));

export const gemini: Client = {
  id: "gemini",
  name: "Gemini CLI",
  scopes: ["user", "project"],
  programs: ["gemini"],
  signs: ({ home }) => [path.join(home, ".gemini", "settings.json")],
  files(place, { server, keys, hook, instructions }) {
    const { home, projectDir, scope } = place;
    const folder = path.join(scope === "project" ? projectDir : home, ".gemini");
    // Gemini hands on no variable whose name speaks of a key, unless the entry names it. It puts the value in itself.
    const named = Object.fromEntries(keys.map((name) => [name, `$${name}`]));
    return [
      {
        path: path.join(folder, "settings.json"),
        what: "server",
        edit: jsonEdit([
          {
            path: ["mcpServers", "memslot"],
            value: { ...server, env: { ...named, ...server.env } },
            isOwn: isOwnServer,
          },
          ...(hook === undefined ? [] : hookGroups(events, hook, { name: "memslot" })),
        ]),
      },
      {
        path: scope === "project" ? path.join(projectDir, "GEMINI.md") : path.join(folder, "GEMINI.md"),
        what: "instructions",
        edit: markedBlock(instructions, markdownMarkers),
      },
    ];
  },
  notes: () => ["Gemini starts no server and runs no hook in a folder that it does not trust."],
};
