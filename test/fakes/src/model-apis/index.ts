import { randomUUID } from "node:crypto";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A message in a request, in any of the APIs. */
export interface Turn {
  role: string;
  text: string;
}

/** One request to the model. Requests without tools come from models that write titles or summaries. */
export interface ModelRequest {
  path: string;
  model: string;
  /** What the request says before the conversation. */
  system: string;
  turns: Turn[];
  /** The names of the tools that the model can call. */
  tools: string[];
  /** Gemini asks a model about the conversation, such as which model is to answer. */
  decides: boolean;
  body: unknown;
}

/** What the model does from now on: it calls these tools in turn, then it says the text. */
export interface ModelScript {
  /** The ends of the tools' names, as each program puts its own prefix before them. */
  calls?: readonly { name: string; input: object }[];
  say: string;
  /** The tokens that the model counts in a request, or in each in turn and the last in all others; 1000 if absent. */
  tokens?: number | number[];
}

export interface FakeModel {
  /** Without a path. */
  url: string;
  requests: ModelRequest[];
  follow(script: ModelScript): void;
  close(): Promise<void>;
}

type Json = Record<string, unknown>;

interface Tool {
  name: string;
  /** Codex groups the tools of a server. */
  namespace?: string;
}

interface Read {
  system: string;
  turns: Turn[];
  tools: Tool[];
}

interface Answer {
  say: string;
  call?: { tool: Tool; input: object } | undefined;
  tokens: number;
}

/** One API: which paths it has, how it is read, and its answer whole and as the events of a stream. */
interface Api {
  path: RegExp;
  read(body: Json): Read;
  whole(answer: Answer, model: string): object;
  events(answer: Answer, model: string): object[];
  /** The event types are on lines of their own. */
  named?: true;
  end?: string;
}

const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const id = (kind: string): string => `${kind}_${randomUUID().replaceAll("-", "").slice(0, 16)}`;

/** The text of a content: a string, or parts with a text. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return list(content)
    .flatMap(({ text }) => (typeof text === "string" ? text : []))
    .join("\n");
}

const anthropic: Api = {
  path: /\/messages$/u,
  named: true,
  read: ({ system, messages, tools }) => ({
    system: textOf(system),
    turns: list(messages).flatMap(({ role, content }) => [
      ...list(content)
        .filter(({ type }) => type === "tool_result")
        .map((part) => ({ role: "tool", text: textOf(part["content"]) })),
      { role: String(role), text: textOf(content) },
    ]),
    tools: list(tools).map(({ name }) => ({ name: String(name) })),
  }),
  whole: ({ say, call, tokens }, model) => ({
    id: id("msg"),
    type: "message",
    role: "assistant",
    model,
    content: [
      call
        ? { type: "tool_use", id: id("toolu"), name: call.tool.name, input: call.input }
        : { type: "text", text: say },
    ],
    stop_reason: call ? "tool_use" : "end_turn",
    stop_sequence: null,
    usage: { input_tokens: tokens, output_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  }),
  events(answer, model) {
    const message = this.whole(answer, model) as { content: Json[]; stop_reason: string };
    const [block = {}] = message.content;
    const isCall = answer.call !== undefined;
    const delta = isCall
      ? { type: "input_json_delta", partial_json: JSON.stringify(answer.call?.input) }
      : { type: "text_delta", text: answer.say };
    return [
      { type: "message_start", message: { ...message, content: [], stop_reason: null } },
      {
        type: "content_block_start",
        index: 0,
        content_block: isCall ? { ...block, input: {} } : { ...block, text: "" },
      },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      {
        type: "message_delta",
        delta: { stop_reason: message.stop_reason, stop_sequence: null },
        usage: { output_tokens: 10 },
      },
      { type: "message_stop" },
    ];
  },
};

const responses: Api = {
  path: /\/responses$/u,
  named: true,
  read: ({ instructions, input, tools }) => ({
    system: textOf(instructions),
    turns: (typeof input === "string" ? [{ role: "user", content: input }] : list(input)).flatMap((item: Json) => {
      if (String(item["type"]).endsWith("_output")) return { role: "tool", text: outputOf(item["output"]) };
      return typeof item["role"] === "string" ? { role: item["role"], text: textOf(item["content"]) } : [];
    }),
    tools: list(tools).flatMap(({ type, name, tools: inner }) =>
      type === "namespace"
        ? list(inner).map((tool) => ({ name: String(tool["name"]), namespace: String(name) }))
        : typeof name === "string"
          ? { name }
          : [],
    ),
  }),
  whole: ({ say, call, tokens }, model) => ({
    id: id("resp"),
    object: "response",
    created_at: 1,
    status: "completed",
    model,
    output: [
      call
        ? {
            type: "function_call",
            id: id("fc"),
            call_id: id("call"),
            ...call.tool,
            arguments: JSON.stringify(call.input),
            status: "completed",
          }
        : {
            type: "message",
            id: id("msg"),
            role: "assistant",
            status: "completed",
            content: [{ type: "output_text", text: say, annotations: [] }],
          },
    ],
    usage: {
      input_tokens: tokens,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 10,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: tokens + 10,
    },
  }),
  events(answer, model) {
    const response = this.whole(answer, model) as { output: Json[] };
    const [item = {}] = response.output;
    const at = { item_id: item["id"], output_index: 0, content_index: 0 };
    const text = { type: "output_text", annotations: [] };
    const words = [
      { type: "response.content_part.added", ...at, part: { ...text, text: "" } },
      { type: "response.output_text.delta", ...at, delta: answer.say },
      { type: "response.output_text.done", ...at, text: answer.say },
    ];
    return [
      { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
      { type: "response.output_item.added", output_index: 0, item: { ...item, status: "in_progress" } },
      ...(answer.call ? [] : words),
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response },
    ];
  },
};

const chat: Api = {
  path: /\/chat\/completions$/u,
  end: "data: [DONE]\n\n",
  read: ({ messages, tools }) => {
    const turns = list(messages).map(({ role, content }) => ({ role: String(role), text: textOf(content) }));
    return {
      system: systemOf(turns),
      turns: turns.filter(({ role }) => role !== "system"),
      tools: list(tools).map((tool) => ({ name: String((tool["function"] as Json)["name"]) })),
    };
  },
  whole: (answer, model) => ({
    ...chunk(model),
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", ...chatMessage(answer) }, finish_reason: chatEnd(answer) }],
    usage: chatUsage(answer),
  }),
  events: (answer, model) => [
    {
      ...chunk(model),
      choices: [{ index: 0, delta: { role: "assistant", ...chatMessage(answer) }, finish_reason: null }],
    },
    { ...chunk(model), choices: [{ index: 0, delta: {}, finish_reason: chatEnd(answer) }] },
    { ...chunk(model), choices: [], usage: chatUsage(answer) },
  ],
};

const gemini: Api = {
  path: /:(?:stream)?[Gg]enerateContent$/u,
  read: ({ systemInstruction, contents, tools }) => ({
    system: textOf((systemInstruction as Json | undefined)?.["parts"]),
    turns: list(contents).flatMap(({ role, parts }) => [
      ...list(parts)
        .filter((part) => part["functionResponse"] !== undefined)
        .map((part) => ({ role: "tool", text: JSON.stringify(part["functionResponse"]) })),
      {
        role: role === "model" ? "assistant" : "user",
        text: textOf(list(parts).filter(({ thought }) => thought !== true)),
      },
    ]),
    tools: list(tools)
      .flatMap((tool) => list(tool["functionDeclarations"]))
      .map(({ name }) => ({ name: String(name) })),
  }),
  whole: ({ say, call, tokens }) => ({
    candidates: [
      {
        content: {
          role: "model",
          parts: [call ? { functionCall: { name: call.tool.name, args: call.input, id: id("fc") } } : { text: say }],
        },
        finishReason: "STOP",
        index: 0,
      },
    ],
    usageMetadata: { promptTokenCount: tokens, candidatesTokenCount: 10, totalTokenCount: tokens + 10 },
    modelVersion: "scripted",
    responseId: id("r"),
  }),
  events(answer, model) {
    return [this.whole(answer, model)];
  },
};

const apis: readonly Api[] = [anthropic, responses, chat, gemini];

function outputOf(output: unknown): string {
  return typeof output === "string" ? output : textOf(output) || JSON.stringify(output ?? "");
}

function systemOf(turns: readonly Turn[]): string {
  return turns.flatMap(({ role, text }) => (role === "system" ? text : [])).join("\n");
}

function chunk(model: string): object {
  return { id: id("chatcmpl"), object: "chat.completion.chunk", created: 1, model };
}

function chatMessage({ say, call }: Answer): object {
  if (call === undefined) return { content: say };
  const called = { name: call.tool.name, arguments: JSON.stringify(call.input) };
  return { content: null, tool_calls: [{ index: 0, id: id("call"), type: "function", function: called }] };
}

function chatEnd({ call }: Answer): string {
  return call ? "tool_calls" : "stop";
}

function chatUsage({ tokens }: Answer): object {
  return { prompt_tokens: tokens, completion_tokens: 10, total_tokens: tokens + 10 };
}

/** The answer to a model of Gemini that decides something for the program itself. */
const decision = JSON.stringify({
  reasoning: "x",
  next_speaker: "user",
  model_choice: "flash",
  complexity_score: 1,
  complexity_reasoning: "x",
});

function isDecision(body: Json): boolean {
  return (body["generationConfig"] as Json | undefined)?.["responseMimeType"] === "application/json";
}

/** The summary for a compaction of Gemini, as its prompt asks for it. */
const summary = "<scratchpad>Nothing to add.</scratchpad>\n<state_snapshot>\nThey spoke.\n</state_snapshot>";

/**
 * A server on this machine with the APIs of four providers, and a script as its model. Models without tools, which write
 * titles, say what the script says.
 */
export async function startFakeModel(): Promise<FakeModel> {
  const requests: ModelRequest[] = [];
  let script: ModelScript = { say: "Fine." };
  let made = 0;
  let answered = 0;

  function answerTo({ tools, turns }: Read, body: Json): Answer {
    const { calls = [], say } = script;
    const tokens = [script.tokens ?? 1000].flat().slice(0, ++answered).at(-1) as number;
    if (turns.at(-1)?.text.includes("<state_snapshot>") === true) return { say: summary, tokens };
    if (isDecision(body)) return { say: decision, tokens };
    const next = calls[made];
    const tool = next && tools.find(({ name }) => name.endsWith(next.name));
    if (next === undefined || tool === undefined) return { say, tokens };
    made++;
    return { say, call: { tool, input: next.input }, tokens };
  }

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of incoming) parts.push(part as Buffer);
    const path = (incoming.url ?? "").split("?")[0] ?? "";
    const api = apis.find((each) => each.path.test(path));
    const json = (status: number, value: object): void => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(value));
    };
    if (/count_?tokens$/iu.test(path)) return json(200, { input_tokens: 1000, totalTokens: 1000 });
    if (path.endsWith("/models")) return json(200, { object: "list", data: [], models: [] });
    if (incoming.method !== "POST" || api === undefined) return json(404, { error: { message: "not found" } });
    const body = JSON.parse(Buffer.concat(parts).toString("utf8")) as Json;
    const model = String(body["model"] ?? /models\/([^:]+)/u.exec(path)?.[1]);
    const read = api.read(body);
    requests.push({ path, model, body, ...read, tools: read.tools.map(({ name }) => name), decides: isDecision(body) });
    const answer = answerTo(read, body);
    if (body["stream"] !== true && !path.includes(":stream")) return json(200, api.whole(answer, model));
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of api.events(answer, model) as Json[])
      response.write(`${api.named ? `event: ${String(event["type"])}\n` : ""}data: ${JSON.stringify(event)}\n\n`);
    response.end(api.end);
  }

  // A program that ends in the middle breaks what is being read or written here.
  const server = createServer((incoming, response) => void handle(incoming, response).catch(() => response.destroy()));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    follow(next) {
      script = next;
      made = answered = 0;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
