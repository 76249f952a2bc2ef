import path from "node:path";
import type { ClientSource } from "@memslot/core";
import type { Finder } from "../finder.ts";
import { isObject, objectAt, textAt } from "../lines.ts";
import { type KnownAgent, saidBy } from "./agent.ts";
import { cursor, opencode } from "./databases.ts";
import { gemini } from "./gemini.ts";
import { everywhere } from "./project.ts";

/** The agents whose conversations and notes can be sources, one row each. */
export const knownAgents: Readonly<Record<ClientSource, KnownAgent>> = {
  // `projects/<slug>/<session>.jsonl`, and beside them `memory/*.md`. Subagents have folders of their own below.
  "claude-code": {
    name: "Claude Code",
    // `{type, uuid, timestamp, isSidechain, message: {role, content}}`; not of a subagent, of the client itself or a summary.
    said: (line) =>
      line["isSidechain"] === true || line["isMeta"] === true || line["isCompactSummary"] === true
        ? undefined
        : saidBy(line["type"], objectAt(line, "message")?.["content"], line["uuid"], line["timestamp"]),
    folderOf: (line) => line["cwd"],
    async find(finder, folder) {
      for (const slug of await finder.folders(path.join(folder, "projects"))) {
        const place = path.join(folder, "projects", slug);
        await finder.takeAll(place, /\.jsonl$/iu, `${slug}/`, { kind: "lines" });
        await finder.takeNotes(path.join(place, "memory"), `${slug}/memory/`, `slug:${slug}`);
      }
    },
  },

  // `sessions/YYYY/MM/DD/rollout-….jsonl`, `archived_sessions`, and both compressed after a while: under its name a session is
  // the same in any of these places. `memories/*.md` are for all projects.
  codex: {
    name: "Codex",
    // `{timestamp, type: "response_item", payload: {type: "message", role, content}}`. Its `event_msg` say it twice.
    said(line) {
      const payload = line["type"] === "response_item" ? objectAt(line, "payload") : undefined;
      if (payload?.["type"] !== "message") return undefined;
      return saidBy(payload["role"], payload["content"], payload["id"], line["timestamp"]);
    },
    folderOf(line) {
      const payload = objectAt(line, "payload");
      // A helper's session is of no project, so that it is not found as the user's own words.
      if (isObject(payload?.["source"])) return undefined;
      return line["type"] === "session_meta" || line["type"] === "turn_context" ? textAt(payload, "cwd") : undefined;
    },
    async find(finder, folder) {
      for (const name of ["sessions", "archived_sessions"]) await findSessions(finder, path.join(folder, name), 3);
      await finder.takeNotes(path.join(folder, "memories"), "memories/", everywhere);
    },
  },

  gemini,
  opencode,
  cursor,
};

/** The sessions of Codex in a folder and in those below it, `levels` deep. */
async function findSessions(finder: Finder, folder: string, levels: number): Promise<void> {
  const entries = await finder.list(folder);
  // A session that is resumed has a plain transcript again, which counts before the compressed one.
  for (const { name } of entries)
    if (/\.jsonl$/iu.test(name)) await finder.take(name, path.join(folder, name), { kind: "lines" });
  for (const { name } of entries)
    if (/\.jsonl\.zst$/iu.test(name))
      await finder.take(name.slice(0, -".zst".length), path.join(folder, name), { kind: "whole" });
  for (const entry of entries)
    if (entry.isDirectory() && levels > 0) await findSessions(finder, path.join(folder, entry.name), levels - 1);
}
