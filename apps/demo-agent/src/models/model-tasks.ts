import type {
  ConversationMessage,
  DescribeSession,
  FlushTurn,
  MemoryTool,
  NewMessage,
  Summarize,
} from "@memslot/agent-kit";
import { estimateTokens } from "@memslot/indexing/host";
import type { ChatModel } from "./chat-model.ts";
import { runToolLoop } from "./tool-loop.ts";

export interface ModelTasks {
  /** The same model with a smaller limit: old tool results are dropped first. */
  within(limitTokens: number): ChatModel;
  flushTurn: FlushTurn;
  summarize: Summarize;
  describe: DescribeSession;
}

const summarySystem =
  "You summarise a conversation that has grown too long. Keep what is needed to go on: what the user wants, what was decided, names, numbers, dates and what is still open. Keep what the earlier summary says as well. Plain sentences, at most 300 words, nothing else.";
const noteSystem =
  "You write the note of a conversation that has ended. First line: two to five English words for a file name. Then at most eight short bullet points on what was decided, learned and left open, in the language of the conversation. Nothing else.";

export function modelTasks(model: ChatModel): ModelTasks {
  const write = async (system: string, text: string, signal: AbortSignal): Promise<string> => {
    const messages = [{ role: "user" as const, text }];
    return (await runToolLoop({ model, system, messages, tools: [], signal })).text;
  };
  return {
    within: (limitTokens) => ({
      ...model,
      complete: (request) => {
        const freeTokens = limitTokens - fixedTokens(request.system, request.tools);
        return model.complete({ ...request, messages: fitted(request.messages, freeTokens) });
      },
    }),
    flushTurn: async ({ systemPrompt, prompt, messages, tools, signal }) => {
      const asked: NewMessage[] = [...messages, { role: "user", text: prompt }];
      return (await runToolLoop({ model, system: systemPrompt, messages: asked, tools, signal })).text;
    },
    summarize: ({ previousSummary, messages, signal }) =>
      write(summarySystem, spoken(messages, previousSummary), signal),
    describe: async ({ summary, messages, signal }) => {
      const [title = "", ...rest] = (await write(noteSystem, spoken(messages, summary), signal)).split("\n");
      return { slug: title, text: rest.join("\n").trim() };
    },
  };
}

export function fixedTokens(system: string, tools: readonly MemoryTool[]): number {
  return estimateTokens(system + JSON.stringify(tools));
}

export function tokensOf(messages: readonly NewMessage[]): number {
  return messages.reduce((sum, message) => {
    const calls = message.role === "assistant" ? (message.toolCalls ?? []) : [];
    return sum + 4 + estimateTokens(message.text + calls.map((call) => call.name + call.arguments).join(""));
  }, 0);
}

const leftOut = '{"status":"error","error":"left out, the conversation is too long; ask for less, or answer now"}';

/** The tool results of one turn may exceed the window, and cannot be compacted. */
function fitted(messages: readonly NewMessage[], limitTokens: number): readonly NewMessage[] {
  let excess = tokensOf(messages) - limitTokens;
  if (excess <= 0) return messages;
  return messages.map((message, index) => {
    const stays = message.role !== "tool" || index === messages.length - 1 || message.text.length <= leftOut.length;
    if (excess <= 0 || stays) return message;
    const shorter = { ...message, text: leftOut };
    excess -= tokensOf([message]) - tokensOf([shorter]);
    return shorter;
  });
}

function spoken(messages: readonly ConversationMessage[], earlier: string | undefined): string {
  const said = messages.filter(({ role, text }) => role !== "tool" && text.trim() !== "");
  const lines = said.map(({ role, text }) => `${role}: ${text}`);
  return [...(earlier === undefined ? [] : [`Summary of what was before:\n${earlier}`]), ...lines].join("\n\n");
}
