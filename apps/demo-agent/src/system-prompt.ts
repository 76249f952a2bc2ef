import { type CitationsMode, memoryPromptSection, sessionStartContext } from "@memslot/agent-kit";

/** What the model is told: who it is, how it uses its memory, and what a session starts with. */
export async function buildSystemPrompt(options: {
  workspaceDir: string;
  toolNames: readonly string[];
  citations: CitationsMode;
  now: Date;
  timeZone: string;
}): Promise<string> {
  const { workspaceDir, toolNames, citations, now, timeZone } = options;
  const section = memoryPromptSection({ availableTools: new Set(toolNames), citations });
  const context = await sessionStartContext({ workspaceDir, now, timeZone, session: { kind: "main", private: true } });
  const today = new Intl.DateTimeFormat("en-GB", { timeZone, dateStyle: "full" }).format(now);
  return [
    [
      "You are a personal assistant in a terminal, with a long-term memory made of the user's Markdown notes. Answer briefly and in the language of the question.",
      `Today is ${today}, time zone ${timeZone}.`,
    ].join("\n"),
    ...(section.length === 0 ? [] : [section.join("\n")]),
    ...(context.text === "" ? [] : [context.text]),
  ].join("\n\n");
}
