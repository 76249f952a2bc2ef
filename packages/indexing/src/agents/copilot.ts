import path from "node:path";
import { objectAt, textAt } from "../json-values.ts";
import { type AgentCode, saidBy } from "./agent.ts";

const answer = (_: string, text: string): object => ({ additionalContext: text });

/** Copilot CLI. VS Code reads the same folder of hooks, so both may run the hooks of the other. */
export const copilot: AgentCode = {
  files: { hooks: { handler: (command) => ({ type: "command", command, timeoutSec: 10 }) } },
  hooks: {
    answers: { start: answer, prompt: answer },
    isSender: (input, given) => given === "vscode" && textAt(input, "hook_event_name") !== undefined,
  },
  conversations: {
    // `{type: "user.message" | "assistant.message", id, timestamp, agentId?, data: {content, source?}}`; messages of
    // subagents, skills and the autopilot are not the user's.
    said(line) {
      const [, role] = /^(user|assistant)\.message$/u.exec(textAt(line, "type") ?? "") ?? [];
      const data = objectAt(line, "data");
      const isOther =
        line["agentId"] !== undefined ||
        data?.["parentToolCallId"] !== undefined ||
        data?.["isAutopilotContinuation"] === true ||
        (textAt(data, "source") ?? "user") !== "user";
      return isOther ? undefined : saidBy(role, data?.["content"], line["id"], line["timestamp"]);
    },
    folderOf: (line) => objectAt(objectAt(line, "data"), "context")?.["cwd"],
    async find(finder, folder) {
      const sessions = path.join(folder, "session-state");
      for (const id of await finder.folders(sessions))
        await finder.take(`${id}.jsonl`, path.join(sessions, id, "events.jsonl"), { kind: "lines" });
    },
  },
  silentSkips: ({ keys }) =>
    keys.includes("OPENAI_API_KEY")
      ? [
          {
            message:
              "Copilot CLI passes OPENAI_API_KEY neither to the server nor to the hooks, not even if the entry names it",
            next: "Set agents.defaults.memorySearch.remote.apiKey to the key, or to ${NAME} with a variable of another name.",
          },
        ]
      : [],
};
