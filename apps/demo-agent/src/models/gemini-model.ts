import type { Content, GenerateContentResponse, Part } from "@google/genai/web";
import type { MemoryTool, NewMessage, ToolCall } from "@memslot/agent-kit";
import type { ChatModel, ModelReply, ModelRequest } from "./chat-model.ts";
import type { Endpoint } from "./endpoint-failure.ts";
import { type Attempt, type Patience, endpointReply } from "./endpoint-reply.ts";
import { newCallId, objectIn } from "./tool-call-fragments.ts";

/** A Gemini model. The SDK is loaded at the first request. */
export function createGeminiModel(
  endpoint: Endpoint,
  options: Patience & { readonly contextWindowTokens: number },
): ChatModel {
  /** Signatures that the model needs back with its calls, by call id. */
  const signatures = new Map<string, string>();

  const ask = async (request: ModelRequest, attempt: Attempt): Promise<ModelReply> => {
    const { FunctionCallingConfigMode, GoogleGenAI } = await import("@google/genai/web");
    // For this API version; the SDK would use `v1`. Without `retryOptions` it does not retry.
    const baseUrl = (endpoint.baseUrl ?? googleUrl).replace(/\/v1(?:beta)?\/?$/, "");
    const httpOptions = { apiVersion: "v1beta", baseUrl, fetch: attempt.fetch };
    const client = new GoogleGenAI({ apiKey: endpoint.apiKey ?? "none", vertexai: false, httpOptions });
    const { AUTO, NONE } = FunctionCallingConfigMode;
    const stream = await client.models.generateContentStream({
      model: endpoint.model,
      contents: contentsOf(request.messages, signatureFor),
      config: {
        systemInstruction: request.system,
        ...(request.tools.length > 0 && {
          tools: [{ functionDeclarations: request.tools.map(declarationOf) }],
          toolConfig: { functionCallingConfig: { mode: request.mayCallTools ? AUTO : NONE } },
        }),
      },
    });
    return await readReply(stream, attempt, signatures);
  };

  /** Required from version 3 on for the first call of a message; this value is accepted after a restart. */
  const signatureFor = ({ id }: ToolCall, isFirst: boolean): string | undefined =>
    signatures.get(id) ??
    (isFirst && /gemini-(?:[3-9]|\d\d)/.test(endpoint.model) ? "skip_thought_signature_validator" : undefined);

  return {
    name: endpoint.model,
    contextWindowTokens: options.contextWindowTokens,
    complete: (request) => endpointReply(endpoint, options, request, (attempt) => ask(request, attempt)),
    close: async () => signatures.clear(),
  };
}

const googleUrl = "https://generativelanguage.googleapis.com";

function declarationOf({ name, description, inputSchema }: MemoryTool): object {
  return { name, description, parametersJsonSchema: inputSchema };
}

type SignatureFor = (call: ToolCall, isFirst: boolean) => string | undefined;

/** Gemini needs alternating turns that start with the user: merges messages of the same role. */
function contentsOf(messages: readonly NewMessage[], signatureFor: SignatureFor): Content[] {
  const contents: { role: string; parts: Part[] }[] = [];
  for (const message of messages) {
    const role = message.role === "assistant" ? "model" : "user";
    if (contents.length === 0 && role === "model") contents.push({ role: "user", parts: [{ text: "(continued)" }] });
    const last = contents.at(-1);
    if (last?.role === role) last.parts.push(...partsOf(message, signatureFor));
    else contents.push({ role, parts: partsOf(message, signatureFor) });
  }
  return contents;
}

function partsOf(message: NewMessage, signatureFor: SignatureFor): Part[] {
  if (message.role === "tool") {
    const response = objectIn(message.text) ?? { output: message.text };
    return [{ functionResponse: { id: message.toolCallId, name: message.toolName, response } }];
  }
  const parts: Part[] = message.text === "" ? [] : [{ text: message.text }];
  const calls = message.role === "assistant" ? (message.toolCalls ?? []) : [];
  for (const [index, call] of calls.entries()) {
    const thoughtSignature = signatureFor(call, index === 0);
    const functionCall = { id: call.id, name: call.name, args: objectIn(call.arguments) ?? {} };
    parts.push({ functionCall, ...(thoughtSignature !== undefined && { thoughtSignature }) });
  }
  return parts;
}

async function readReply(
  stream: AsyncIterable<GenerateContentResponse>,
  attempt: Attempt,
  signatures: Map<string, string>,
): Promise<ModelReply> {
  const toolCalls: ToolCall[] = [];
  let text = "";
  let inputTokens: number | undefined;
  let finishReason: string | undefined;
  for await (const { candidates, promptFeedback, usageMetadata } of stream) {
    inputTokens = usageMetadata?.promptTokenCount ?? inputTokens;
    finishReason = candidates?.[0]?.finishReason ?? promptFeedback?.blockReason ?? finishReason;
    for (const part of candidates?.[0]?.content?.parts ?? []) {
      if (part.functionCall) {
        const { id = newCallId(), name = "", args = {} } = part.functionCall;
        toolCalls.push({ id, name, arguments: JSON.stringify(args) });
        if (part.thoughtSignature) signatures.set(id, part.thoughtSignature);
      } else if (part.text && !part.thought) {
        text += part.text;
        attempt.onText(part.text);
      }
    }
  }
  attempt.signal.throwIfAborted();
  if (finishReason === undefined) throw new Error("the answer broke off in the middle");
  // Blocked, or an invalid call.
  const isEmpty = text.trim() === "" && toolCalls.length === 0;
  if (isEmpty && finishReason !== "STOP") throw new Error(`the answer is empty (${finishReason})`);
  return { text, toolCalls, inputTokens };
}
