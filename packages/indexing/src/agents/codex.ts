import path from "node:path";
import type { Finder } from "../sources/conversation-finder.ts";
import { isObject, objectAt, textAt } from "../json-values.ts";
import { everywhere } from "../sources/project-match.ts";
import { additionalContext, type AgentCode, type ConnectedFiles, hookGroup, saidBy, type SilentSkip } from "./agent.ts";

export const codex: AgentCode = {
  files: {
    server: {
      entry: ({ server: { command, args, env }, keys }) => ({
        command,
        args,
        ...(Object.keys(env).length > 0 && { env }),
        // Codex passes on the variables that are named.
        ...(keys.length > 0 && { env_vars: [...keys] }),
        // The first start after an update can take longer than Codex's 10 seconds.
        startup_timeout_sec: 60,
      }),
    },
    hooks: { handler: (command, event) => hookGroup(command, event === "SessionEnd" ? 3 : 10) },
  },
  hooks: { answers: { start: additionalContext, prompt: additionalContext } },
  conversations: {
    // `{timestamp, type: "response_item", payload: {type: "message", role, content}}`.
    said(line) {
      const payload = line["type"] === "response_item" ? objectAt(line, "payload") : undefined;
      if (payload?.["type"] !== "message") return undefined;
      return saidBy(payload["role"], payload["content"], payload["id"], line["timestamp"]);
    },
    folderOf(line) {
      const payload = objectAt(line, "payload");
      // A subagent's session belongs to no project, so that it is not found as the user's own words.
      if (isObject(payload?.["source"])) return undefined;
      return line["type"] === "session_meta" || line["type"] === "turn_context" ? textAt(payload, "cwd") : undefined;
    },
    // `sessions/YYYY/MM/DD/rollout-….jsonl` and `archived_sessions`, both compressed later: the name identifies a
    // session.
    async find(finder, folder) {
      for (const name of ["sessions", "archived_sessions"]) await findSessions(finder, path.join(folder, name), 3);
      await finder.takeNotes(path.join(folder, "memories"), "memories/", everywhere);
    },
  },
  silentSkips,
};

/** Sessions in a folder and in the folders below it, `levels` deep. */
async function findSessions(finder: Finder, folder: string, levels: number): Promise<void> {
  const entries = await finder.list(folder);
  // A resumed session has an uncompressed transcript again, which replaces the compressed one.
  for (const { name } of entries)
    if (/\.jsonl$/iu.test(name)) await finder.take(name, path.join(folder, name), { kind: "lines" });
  for (const { name } of entries)
    if (/\.jsonl\.zst$/iu.test(name))
      await finder.take(name.slice(0, -".zst".length), path.join(folder, name), { kind: "whole" });
  for (const entry of entries)
    if (entry.isDirectory() && levels > 0) await findSessions(finder, path.join(folder, entry.name), levels - 1);
}

function silentSkips({ file, json, toml }: ConnectedFiles): SilentSkip[] {
  const hooksPath = file(/hooks\.json$/u);
  if (hooksPath === undefined) return [];
  const skips: SilentSkip[] = [];
  const value = json(hooksPath);
  const strange = Object.keys(value).filter((name) => name !== "hooks");
  if (strange.length > 0)
    skips.push({
      message: `Codex ignores all of ${hooksPath}, as it contains ${strange.map((name) => `"${name}"`).join(", ")}`,
      next: "Leave only hooks in it.",
    });
  if (/"args"\s*:/u.test(JSON.stringify(value["hooks"] ?? {})))
    skips.push({
      message: `Codex ignores "args" of the hooks in ${hooksPath}`,
      next: "Write the whole command line into command.",
    });
  const config = toml(path.join(path.dirname(hooksPath), "config.toml"));
  if (objectAt(config, "features")?.["hooks"] === false)
    skips.push({ message: "hooks are off in config.toml ([features] hooks = false)", next: "Remove that line." });
  const user = toml(file(/config\.toml$/u));
  const trusted = Object.keys(objectAt(objectAt(user, "hooks"), "state") ?? {});
  if (!trusted.some((key) => key.startsWith(`${hooksPath}:`)))
    skips.push({
      message: `Codex does not run the hooks in ${hooksPath} until you trust them`,
      next: "Type /hooks in Codex.",
    });
  return skips;
}
