import { type NewMessage, toOpenAiTools } from "@memslot/agent-kit";
import type OpenAI from "openai";
import type { ChatModel, ModelReply, ModelRequest } from "./chat-model.ts";
import { type Endpoint, failureOf } from "./endpoint-failure.ts";
import { type Attempt, type Patience, endpointReply } from "./endpoint-reply.ts";
import { type ToolCallFragment, ToolCallAssembler, objectIn } from "./tool-call-fragments.ts";

type WireMessage = OpenAI.Chat.Completions.ChatCompletionMessageParam;
type ChunkStream = AsyncIterable<OpenAI.Chat.Completions.ChatCompletionChunk>;

/** A model behind any endpoint that speaks chat completions. The SDK is loaded at the first request. */
export function createOpenAiModel(
  endpoint: Endpoint,
  options: Patience & { readonly contextWindowTokens: number },
): ChatModel {
  /** Some endpoints do not know the option that counts tokens. */
  let countsTokens = true;

  const open = async (request: ModelRequest, attempt: Attempt, countTokens: boolean): Promise<ChunkStream> => {
    // Loading takes a quarter of a second.
    const { OpenAI: Client } = await import("openai");
    const client = new Client({
      apiKey: endpoint.apiKey ?? "none",
      baseURL: endpoint.baseUrl ?? "https://api.openai.com/v1",
      fetch: attempt.fetch,
      logLevel: "off",
      maxRetries: 0,
      timeout: 3_600_000,
      // Otherwise it is read from the environment.
      organization: null,
      project: null,
      adminAPIKey: null,
      webhookSecret: null,
    });
    const tools = toOpenAiTools(request.tools);
    return await client.chat.completions.create(
      {
        model: endpoint.model,
        messages: [{ role: "system", content: request.system }, ...request.messages.map(wireMessage)],
        stream: true,
        ...(countTokens && { stream_options: { include_usage: true } }),
        ...(tools.length > 0 && { tools, tool_choice: request.mayCallTools ? ("auto" as const) : ("none" as const) }),
      },
      { signal: attempt.signal },
    );
  };

  const ask = async (request: ModelRequest, attempt: Attempt): Promise<ModelReply> => {
    const stream = await open(request, attempt, countsTokens).catch(async (error: unknown) => {
      const { status, code } = failureOf(error, endpoint);
      const isPuzzled = countsTokens && (status === 400 || status === 422) && code !== "INVALID_ARGUMENT";
      if (!isPuzzled) throw error;
      const answered = await open(request, attempt, false);
      countsTokens = false;
      return answered;
    });
    return await readReply(stream, attempt);
  };

  return {
    name: endpoint.model,
    contextWindowTokens: options.contextWindowTokens,
    complete: (request) => endpointReply(endpoint, options, request, (attempt) => ask(request, attempt)),
    close: async () => undefined,
  };
}

function wireMessage(message: NewMessage): WireMessage {
  if (message.role === "user") return { role: "user", content: message.text };
  if (message.role === "tool") return { role: "tool", tool_call_id: message.toolCallId, content: message.text };
  const toolCalls = message.toolCalls ?? [];
  if (toolCalls.length === 0) return { role: "assistant", content: message.text };
  return {
    role: "assistant",
    content: message.text || null,
    tool_calls: toolCalls.map(({ id, name, arguments: written }) => ({
      id,
      type: "function",
      // Some endpoints parse these again, and refuse the whole conversation for an invalid one.
      function: { name, arguments: objectIn(written) === undefined ? "{}" : written },
    })),
  };
}

/** A message or delta. Compatible endpoints are less strict than the SDK's types. */
interface Said {
  content?: unknown;
  refusal?: unknown;
  tool_calls?: readonly ToolCallFragment[] | null;
}

async function readReply(stream: ChunkStream, attempt: Attempt): Promise<ModelReply> {
  const calls = new ToolCallAssembler();
  let text = "";
  let inputTokens: number | undefined;
  let isThere = false;
  let isFinished = false;
  for await (const chunk of stream) {
    inputTokens = chunk.usage?.prompt_tokens ?? inputTokens;
    const choice = chunk.choices?.[0] as { delta?: Said; message?: Said; finish_reason?: string | null } | undefined;
    // An endpoint that does not stream sends a message in place of deltas.
    const said = choice?.delta ?? choice?.message;
    if (said === undefined) continue;
    isThere = true;
    if (choice?.finish_reason) isFinished = true;
    const words = said.content ?? said.refusal;
    if (typeof words === "string") {
      text += words;
      attempt.onText(words);
    }
    for (const fragment of said.tool_calls ?? []) calls.add(fragment);
  }
  attempt.signal.throwIfAborted();
  if (!isThere) throw new Error("the answer holds no message");
  if (!isFinished && !attempt.isComplete()) throw new Error("the answer broke off in the middle");
  return { text, toolCalls: calls.calls(), inputTokens };
}
