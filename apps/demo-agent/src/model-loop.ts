import { type MemoryTool, runToolCall, toOpenAiTools } from "@memslot/agent-kit";
import type OpenAI from "openai";
import type { Answerer } from "./answerer.ts";
import { endpointFailure } from "./endpoint-failure.ts";
import type { Endpoint } from "./options.ts";

export interface ModelLoopOptions {
  endpoint: Endpoint;
  systemPrompt: string;
  tools: readonly MemoryTool[];
  /** How long one request may take; 60 s if left out. */
  requestTimeoutMs?: number | undefined;
  /** How long one answer with all its tool calls may take; 180 s if left out. */
  answerTimeoutMs?: number | undefined;
}

type Message = OpenAI.Chat.Completions.ChatCompletionMessageParam;

const maxToolRounds = 8;
/** Earlier turns that the model still sees. */
const maxTurns = 12;

/** Lets a language model answer: it may call the tools for a few rounds, then it has to say something. */
export function createModelLoop(options: ModelLoopOptions): Answerer {
  const { endpoint, requestTimeoutMs = 60_000, answerTimeoutMs = 180_000 } = options;
  const tools = toOpenAiTools(options.tools);
  let client: OpenAI | undefined;
  let turns: Message[][] = [];

  const complete = async (
    messages: Message[],
    mayCallTools: boolean,
    signal: AbortSignal,
  ): Promise<OpenAI.Chat.Completions.ChatCompletionMessage> => {
    client ??= await openClient(endpoint);
    const completion = await client.chat.completions.create(
      {
        model: endpoint.model,
        messages,
        ...(tools.length > 0 && { tools, tool_choice: mayCallTools ? ("auto" as const) : ("none" as const) }),
      },
      { signal, timeout: requestTimeoutMs, maxRetries: 1 },
    );
    // Compatible endpoints are not all as strict as the types.
    const message = completion.choices?.[0]?.message;
    if (message === undefined) throw new Error("the answer holds no message");
    return message;
  };

  const converse = async (question: string, signal: AbortSignal): Promise<string> => {
    const turn: Message[] = [{ role: "user", content: question }];
    for (let round = 0; ; round += 1) {
      const messages: Message[] = [{ role: "system", content: options.systemPrompt }, ...turns.flat(), ...turn];
      const message = await complete(messages, round < maxToolRounds, signal);
      const calls = message.tool_calls ?? [];
      if (calls.length === 0 || round >= maxToolRounds) {
        const text = message.content?.trim() || message.refusal?.trim();
        if (!text)
          throw new Error(
            calls.length > 0
              ? `the model gave no answer after ${maxToolRounds} rounds of tool calls`
              : "the model gave an empty answer",
          );
        turn.push({ role: "assistant", content: text });
        turns = [...turns, turn].slice(-maxTurns);
        return text;
      }
      turn.push({ role: "assistant", content: message.content, tool_calls: calls });
      for (const call of calls) {
        const result =
          call.type === "function"
            ? await runToolCall(options.tools, call.function, { signal })
            : { status: "error", error: `tool calls of type "${call.type}" are not known` };
        turn.push({ role: "tool", tool_call_id: call.id, content: JSON.stringify(result) });
      }
    }
  };

  return {
    answer: async (question, { signal }) => {
      const deadline = AbortSignal.timeout(answerTimeoutMs);
      try {
        return await converse(question, AbortSignal.any([signal, deadline]));
      } catch (error) {
        signal.throwIfAborted();
        throw new Error(endpointFailure(error, endpoint, deadline.aborted ? answerTimeoutMs : requestTimeoutMs), {
          cause: error,
        });
      }
    },
  };
}

/** The SDK takes a quarter of a second to load, which nobody without an endpoint should wait for. */
async function openClient(endpoint: Endpoint): Promise<OpenAI> {
  const { default: Client } = await import("openai");
  return new Client({ apiKey: endpoint.apiKey ?? "none", baseURL: endpoint.baseUrl, logLevel: "off" });
}
