import type { IncomingMessage, ServerResponse } from "node:http";
import { serve } from "./local-server.ts";

/** The body of a chat-completions call, as far as a model looks at it here. */
export interface ChatRequest {
  model: string;
  messages: { role: string; content: string | null; tool_call_id?: string }[];
  tools?: { function: { name: string; parameters: Record<string, unknown> } }[];
  tool_choice?: unknown;
}

/** What the model says: text, or a call of a tool with arguments as it wrote them. */
export type ChatReply = { text: string } | { name: string; arguments: string };

/** A server on this machine that speaks chat completions; the script in it is the model. It ends with the test. */
export async function startModel(
  answer: (request: ChatRequest, index: number) => ChatReply,
): Promise<{ env: Record<string, string>; requests: ChatRequest[]; keys: (string | undefined)[] }> {
  const requests: ChatRequest[] = [];
  const keys: (string | undefined)[] = [];
  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parts: Buffer[] = [];
    for await (const part of incoming) parts.push(part);
    response.setHeader("content-type", "application/json");
    // It has no model for embeddings, as many such servers have none.
    if (incoming.url !== "/v1/chat/completions") {
      response.writeHead(404).end(JSON.stringify({ error: { message: "there is nothing here" } }));
      return;
    }
    const request = JSON.parse(Buffer.concat(parts).toString("utf8")) as ChatRequest;
    requests.push(request);
    keys.push(incoming.headers.authorization);
    try {
      response.end(JSON.stringify(completion(answer(request, requests.length - 1), requests.length)));
    } catch (error) {
      // A script that cannot go on is a program that asked for something else; 400 is not tried again.
      response.writeHead(400).end(JSON.stringify({ error: { message: String(error) } }));
    }
  };
  const port = await serve(handle);
  const env = { OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, OPENAI_API_KEY: "sk-test", MODEL: "scripted" };
  return { env, requests, keys };
}

function completion(reply: ChatReply, number: number): object {
  const call = "name" in reply && [{ id: `call_${number}`, type: "function", function: reply }];
  const message = {
    role: "assistant",
    content: "text" in reply ? reply.text : null,
    ...(call && { tool_calls: call }),
  };
  return {
    id: `completion-${number}`,
    object: "chat.completion",
    created: 0,
    model: "scripted",
    choices: [{ index: 0, message, finish_reason: call ? "tool_calls" : "stop" }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
}

/** What the last tool gave back; undefined where none was asked yet. */
export function lastToolResult({ messages }: ChatRequest): Record<string, unknown> | undefined {
  const last = messages.at(-1);
  if (last?.role !== "tool" || last.content === null) return undefined;
  return JSON.parse(last.content) as Record<string, unknown>;
}
