import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** What one request got; `body` is the parsed JSON of a chat-completions call. */
export interface EndpointRequest {
  path: string;
  authorization: string | undefined;
  body: {
    model: string;
    messages: { role: string; content: string; tool_call_id?: string }[];
    tools?: { function: { name: string } }[];
    tool_choice?: string;
  };
}

export interface FakeEndpoint {
  baseUrl: string;
  requests: EndpointRequest[];
  close(): Promise<void>;
}

type Reply = { status?: number; body: unknown } | "hang";

/** A small server on this machine that speaks chat completions as far as it is told to. */
export async function startFakeEndpoint(
  reply: (request: EndpointRequest, index: number) => Reply,
): Promise<FakeEndpoint> {
  const requests: EndpointRequest[] = [];
  const server = createServer((incoming, response) => void handle(incoming, response));
  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    // It has a language model and no embedding model, as many do.
    if (incoming.url?.endsWith("/embeddings") === true) {
      response.writeHead(404, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: "there is no embedding model here" } }));
      return;
    }
    const request: EndpointRequest = {
      path: incoming.url ?? "",
      authorization: incoming.headers.authorization,
      body: JSON.parse(Buffer.concat(chunks).toString("utf8")),
    };
    requests.push(request);
    const answer = reply(request, requests.length - 1);
    if (answer === "hang") return;
    response.writeHead(answer.status ?? 200, { "content-type": "application/json" });
    response.end(JSON.stringify(answer.body));
  };
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

export const says = (content: string): Reply => ({
  body: { choices: [{ index: 0, message: { role: "assistant", content } }] },
});

export const calls = (...given: { name: string; arguments: string }[]): Reply => ({
  body: {
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: null,
          tool_calls: given.map((call, index) => ({ id: `call_${index}`, type: "function", function: call })),
        },
      },
    ],
  },
});
