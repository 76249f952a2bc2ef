import path from "node:path";
import { isObject, objectAt } from "../json-values.ts";
import { additionalContext, type AgentCode, hookGroup, saidBy } from "./agent.ts";

/** A fork of Gemini CLI, with the hooks of Claude Code. */
export const qwen: AgentCode = {
  files: {
    hooks: {
      // Its cmd gets a line with escaped quotes, which it does not understand.
      handler: (command, _, platform) =>
        hookGroup(command, 10, { name: "memslot", ...(platform === "win32" && { shell: "powershell" }) }),
    },
  },
  hooks: { answers: { start: additionalContext, prompt: additionalContext } },
  conversations: {
    // `{uuid, timestamp, cwd, type, subtype?, message: {parts: [{text, thought?}]}}`; other subtypes are messages of
    // the program itself.
    said({ type, subtype, uuid, timestamp, ...line }) {
      if (subtype !== undefined && subtype !== "mid_turn_user_message") return undefined;
      const parts = objectAt(line, "message")?.["parts"];
      const said = Array.isArray(parts) ? parts.filter((part) => isObject(part) && part["thought"] !== true) : [];
      return saidBy(type, said, uuid, timestamp);
    },
    folderOf: (line) => line["cwd"],
    async find(finder, folder) {
      const projects = path.join(folder, "projects");
      for (const slug of await finder.folders(projects))
        await finder.takeAll(path.join(projects, slug, "chats"), /\.jsonl$/iu, `${slug}/`, { kind: "lines" });
    },
  },
};
