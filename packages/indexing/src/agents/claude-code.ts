import path from "node:path";
import { objectAt } from "../json-values.ts";
import { additionalContext, type AgentCode, hookGroup, saidBy } from "./agent.ts";

export const claudeCode: AgentCode = {
  files: { hooks: { handler: (command) => hookGroup(command, 10) } },
  hooks: { answers: { start: additionalContext, prompt: additionalContext } },
  conversations: {
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
