import { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** What one request got. */
export interface ChatRequest {
  path: string;
  headers: IncomingHttpHeaders;
  /** The parsed JSON of a chat-completions call; a call of Gemini has other fields. */
  body: ChatBody;
  /** Settles when the connection has ended, on either side. */
  closed: Promise<void>;
}

export interface ChatBody {
  model: string;
  messages: {
    role: string;
    content: string | null;
    tool_call_id?: string;
    tool_calls?: { id: string; function: { name: string; arguments: string } }[];
  }[];
  tools?: { function: { name: string; parameters?: Record<string, unknown> } }[];
  tool_choice?: string;
  stream?: boolean;
  stream_options?: object;
  [more: string]: unknown;
}

export type ChatReply =
  | "hang"
  | {
      status?: number;
      headers?: Record<string, string>;
      /** Sent as JSON, or as it is where it is text. */
      body: unknown;
    }
  | {
      /** The parts of a stream as they go over the wire. */
      pieces: Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;
      headers?: Record<string, string>;
      /** `cut`: the connection breaks; `open`: nothing comes any more. */
      end?: "whole" | "cut" | "open";
    };

export interface FakeChatServer {
  /** With `/v1` at its end. */
  baseUrl: string;
  requests: ChatRequest[];
  close(): Promise<void>;
}

/** A server on this machine with a script as its language model. It has no embedding model. */
export async function startFakeChatServer(
  reply: (request: ChatRequest, index: number) => ChatReply | Promise<ChatReply>,
): Promise<FakeChatServer> {
  const requests: ChatRequest[] = [];
  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const closed = new Promise<void>((resolve) => response.once("close", resolve));
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const path = incoming.url ?? "";
    if (path.endsWith("/embeddings")) {
      send(response, 404, {}, { error: { message: "there is no embedding model here" } });
      return;
    }
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as ChatBody;
    const request = { path, headers: incoming.headers, body, closed };
    requests.push(request);
    const answer = await reply(request, requests.length - 1);
    if (answer === "hang") return;
    if ("body" in answer) {
      send(response, answer.status ?? 200, answer.headers ?? {}, answer.body);
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream", ...answer.headers });
    response.flushHeaders();
    for await (const piece of answer.pieces) {
      if (response.destroyed) return;
      await new Promise<void>((resolve) => response.write(piece, () => resolve()));
    }
    if (answer.end === "cut") response.destroy();
    else if (answer.end !== "open") response.end();
  };
  // A client that leaves in the middle breaks what is being read or written here.
  const server = createServer((incoming, response) => void handle(incoming, response).catch(() => response.destroy()));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function send(response: ServerResponse, status: number, headers: Record<string, string>, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}

/** A tool call as a script has it. */
export interface ScriptedCall {
  id?: string;
  name: string;
  arguments: string;
}

/** Streams an answer in words. */
export const says = (text: string, usage = { prompt_tokens: 7 }): ChatReply => ({
  pieces: [
    ...Array.from(text, (content) => frame({ content })),
    frame({}, "stop"),
    event({ choices: [], usage }),
    "data: [DONE]\n\n",
  ],
});

/** Streams calls of tools, each in several fragments. */
export const calls = (...given: ScriptedCall[]): ChatReply => ({ pieces: [callFrames(given).join("")] });

/** The events of an answer that calls tools; fragments of different calls take turns. */
export function callFrames(given: readonly ScriptedCall[], text = ""): string[] {
  const heads = given.map(({ id, name }, index) =>
    frame({ tool_calls: [{ index, id: id ?? `call_${index}`, type: "function", function: { name, arguments: "" } }] }),
  );
  const longest = Math.max(0, ...given.map(({ arguments: written }) => written.length));
  const tails: string[] = [];
  for (let at = 0; at < longest; at += 3) {
    for (const [index, { arguments: written }] of given.entries()) {
      const part = written.slice(at, at + 3);
      if (part !== "") tails.push(frame({ tool_calls: [{ index, function: { arguments: part } }] }));
    }
  }
  const words = text === "" ? [] : [frame({ content: text })];
  return [...words, ...heads, ...tails, frame({}, "tool_calls"), "data: [DONE]\n\n"];
}

/** One event of a chat-completions stream. */
export function frame(delta: object, finishReason: string | null = null): string {
  return event({ object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finishReason }] });
}

export function event(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
