import { open } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { basename } from "node:path";
import { MemoryError, isAbort, messageOf, withDeadline } from "@memslot/core";
import type { LlamaChat, ChatHistoryItem, ChatModelFunctions, GbnfJsonSchema } from "node-llama-cpp";
import type { ChatModel, ModelReply, ModelRequest } from "./chat-model.ts";
import { newCallId, objectIn } from "./tool-call-fragments.ts";
import type { MemoryTool, NewMessage } from "@memslot/agent-kit";

export interface LocalModelOptions {
  readonly path: string;
  /** Upper limit; 8192 if left out, as a longer window costs memory. */
  readonly contextWindowTokens?: number | undefined;
  /** Replaces the import of the optional package. */
  readonly load?: (() => Promise<typeof import("node-llama-cpp")>) | undefined;
}

interface OpenModel {
  readonly chat: LlamaChat;
  readonly windowTokens: number;
  close(): Promise<void>;
}

/** A chat model in this process, through node-llama-cpp, loaded at the first request. Requests run one at a time. */
export function createLocalModel(options: LocalModelOptions): ChatModel {
  const name = basename(options.path);
  let windowTokens = options.contextWindowTokens ?? 8192;
  let opening: Promise<OpenModel> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let closing = new AbortController();

  const answer = async (request: ModelRequest, signal: AbortSignal): Promise<ModelReply> => {
    signal.throwIfAborted();
    try {
      opening ??= openModel(options, windowTokens);
      const model = await opening.catch((error: unknown) => {
        // The package or the file may exist at the next request.
        opening = undefined;
        throw error;
      });
      windowTokens = model.windowTokens;
      return await generate(model, name, request, signal);
    } catch (error) {
      if (isAbort(error) || MemoryError.is(error)) throw error;
      throw new MemoryError("UNAVAILABLE", `${name} gave no answer: ${messageOf(error)}`, { cause: error });
    }
  };

  return {
    name,
    get contextWindowTokens() {
      return windowTokens;
    },
    complete: (request) => {
      const run = async (signal: AbortSignal): Promise<ModelReply> => {
        const turn = last.then(() => answer(request, signal));
        last = turn.catch(() => undefined);
        return await turn;
      };
      return withDeadline({ what: name, signals: [request.signal, closing.signal] }, run);
    },
    async close() {
      closing.abort();
      closing = new AbortController();
      const closed = last.then(async () => {
        const model = await opening?.catch(() => undefined);
        opening = undefined;
        await model?.close();
      });
      last = closed.catch(() => undefined);
      await closed;
    },
  };
}

async function openModel(
  { path, load = () => import("node-llama-cpp") }: LocalModelOptions,
  maxWindowTokens: number,
): Promise<OpenModel> {
  const fileBytes = await sizeOfGguf(path);
  const llamaCpp = await load().catch((error: unknown) => {
    const text = "a local chat model needs node-llama-cpp, install it with: npm install node-llama-cpp@3.22.1";
    throw new MemoryError("UNAVAILABLE", `${text} (${messageOf(error)})`, { cause: error });
  });
  const { LlamaChat: Chat, LlamaLogLevel, getLlama, readGgufFileInfo } = llamaCpp;
  const info = await readGgufFileInfo(path, { logWarnings: false, spliceSplitFiles: false });
  const ends = (info.tensorInfo ?? []).map(({ fileOffset }) => Number(fileOffset) + 1);
  if (Math.max(info.infoEndOffset ?? 0, ...ends) > fileBytes) throw unusable(path, "it is cut short; fetch it again");
  // Without these, native code would end the whole process.
  const facts: Record<string, unknown> = { ...info.architectureMetadata, ...info.architectureMetadata.attention };
  const needed = ["block_count", "embedding_length", "feed_forward_length", "head_count"];
  const missing = needed.find((key) => !(key in facts));
  if (missing !== undefined) throw unusable(path, `it says nothing of its ${missing}; fetch it again`);
  if (facts["causal"] === false) throw unusable(path, "it is for embeddings; name a chat model");
  const llama = await getLlama({ gpu: "auto", build: "never", progressLogs: false, logLevel: LlamaLogLevel.disabled });
  try {
    const model = await llama.loadModel({ modelPath: path });
    const contextSize = Math.min(maxWindowTokens, model.trainContextSize);
    const context = await model.createContext({ contextSize, threads: Math.max(1, availableParallelism() - 1) });
    const chat = new Chat({ contextSequence: context.getSequence() });
    return { chat, windowTokens: contextSize, close: () => llama.dispose() };
  } catch (error) {
    await llama.dispose();
    throw error;
  }
}

/** Checks the first bytes before anything heavy is loaded. */
async function sizeOfGguf(path: string): Promise<number> {
  const file = await open(path, "r").catch((error: unknown) => {
    throw unusable(path, `it cannot be opened (${messageOf(error)}); check --model or MEMSLOT_CHAT_MODEL`);
  });
  try {
    const { buffer } = await file.read(Buffer.alloc(4), 0, 4, 0);
    if (buffer.toString("latin1") === "GGUF") return (await file.stat()).size;
    throw unusable(path, "it is no GGUF file; name another, or fetch it again");
  } finally {
    await file.close();
  }
}

function unusable(path: string, why: string): MemoryError {
  return new MemoryError("CONFIG", `the chat model ${path} cannot be used: ${why}`);
}

async function generate(
  { chat, windowTokens }: OpenModel,
  name: string,
  request: ModelRequest,
  signal: AbortSignal,
): Promise<ModelReply> {
  signal.throwIfAborted();
  const functions = request.mayCallTools ? functionsOf(request.tools) : {};
  const history = historyOf(request.system, request.messages);
  const { contextText } = chat.chatWrapper.generateContextState({
    chatHistory: history,
    availableFunctions: functions,
  });
  const inputTokens = contextText.tokenize(chat.model.tokenizer).length;
  const roomTokens = windowTokens - inputTokens - marginTokens;
  if (roomTokens < Math.min(minAnswerTokens, windowTokens / 4)) {
    const text = `the conversation is too long for ${name} (${inputTokens} of ${windowTokens} tokens), shorten it`;
    throw new MemoryError("INVALID_ARGUMENT", text);
  }
  const { response, functionCalls = [] } = await chat.generateResponse(history, {
    functions,
    signal,
    // Otherwise it drops earlier messages at less than a tenth of the window.
    contextShift: { size: 1 },
    maxTokens: roomTokens,
    onTextChunk: (delta) => void (signal.aborted || delta === "" || request.onText?.(delta)),
  });
  const toolCalls = functionCalls.map(({ functionName, params }) => {
    return { id: newCallId(), name: functionName, arguments: JSON.stringify(params ?? {}) };
  });
  return { text: response, toolCalls, inputTokens };
}

/** Minimum tokens for an answer. */
const minAnswerTokens = 256;
const marginTokens = 32;

/** A conversation for node-llama-cpp: all output between two user messages is one item. */
function historyOf(system: string, messages: readonly NewMessage[]): ChatHistoryItem[] {
  const history: ChatHistoryItem[] = [{ type: "system", text: system }];
  const results = new Map<string, string>();
  for (const message of messages) if (message.role === "tool") results.set(message.toolCallId, message.text);
  const resultOf = (id: string): unknown => objectIn(results.get(id) ?? "") ?? results.get(id) ?? null;
  for (const message of messages) {
    if (message.role === "user") history.push({ type: "user", text: message.text });
    if (message.role !== "assistant") continue;
    let item = history.at(-1);
    if (item?.type !== "model") history.push((item = { type: "model", response: [] }));
    if (message.text !== "") item.response.push(message.text);
    for (const { id, name, arguments: written } of message.toolCalls ?? [])
      item.response.push({
        type: "functionCall",
        name,
        params: objectIn(written) ?? {},
        result: resultOf(id),
      });
  }
  return history;
}

/** The grammar writes every field of an object, so an optional one has to allow `null`. */
function functionsOf(tools: readonly MemoryTool[]): ChatModelFunctions {
  return Object.fromEntries(
    tools.map(({ name, description, inputSchema }) => {
      const properties = Object.entries(inputSchema.properties).map(([field, schema]) => {
        // These schemas contain only types, texts and lists of values.
        const given = schema as unknown as GbnfJsonSchema;
        return [field, inputSchema.required.includes(field) ? given : { oneOf: [given, { type: "null" as const }] }];
      });
      return [name, { description, params: { type: "object", properties: Object.fromEntries(properties) } }];
    }),
  );
}
