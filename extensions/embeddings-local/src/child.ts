import { Worker } from "node:worker_threads";
import type { Llama, LlamaEmbeddingContext, LlamaModel, LlamaRankingContext, Token } from "node-llama-cpp";
import type { FromChild, LoadRequest, ToChild } from "./child-messages.ts";

/** The entry of the process that runs the model: failing native code ends this process and not the host. */

// Ctrl-C reaches every process of a terminal; this one ends with the host, which may have work to finish.
process.on("SIGINT", () => {});
process.on("disconnect", endNow);
if (!process.connected) endNow();
// Ends the process when the pipe of the host closes. In a thread: native code may block the main one.
const watch = `new (require("node:net").Socket)({ fd: ${Number(process.argv[2])} })
  .on("close", () => process.kill(process.pid, "SIGKILL")).on("error", () => {}).resume();`;
new Worker(watch, { eval: true, execArgv: [] }).unref();
// Otherwise llama.cpp starts a debugger before it aborts.
process.env["GGML_NO_BACKTRACE"] = "1";

type QueuedText = Record<"id" | "index", number> & { text: string; query: string | undefined };

const queue = { urgent: [] as QueuedText[], others: [] as QueuedText[] };
let added = Promise.withResolvers<void>();

process.on("message", (message: ToChild) => {
  if (message.type === "embed") {
    const { id, query } = message;
    const texts = message.texts.map((text, index) => ({ id, index, text, query }));
    queue[message.urgent ? "urgent" : "others"].push(...texts);
    added.resolve();
    added = Promise.withResolvers();
  } else if (message.type === "cancel") cancel(message.id);
  else void load(message).catch((error: unknown) => send({ type: "failed", id: 0, message: messageOf(error) }));
});

async function load(request: LoadRequest): Promise<void> {
  const { getLlama, LlamaLogLevel } = (await import(request.llama)) as typeof import("node-llama-cpp");
  if (typeof getLlama !== "function")
    throw new Error(`node-llama-cpp at ${request.llama} is too old: 3.22.1 is needed`);
  const llama: Llama = await getLlama({
    // For Macs with Apple's chips there is only a build that uses their GPU.
    gpu: process.platform === "darwin" && process.arch === "arm64" ? "metal" : false,
    build: "never",
    progressLogs: false,
    logLevel: LlamaLogLevel.error,
  });
  const model = await llama.loadModel({ modelPath: request.modelPath });
  const contextSize = Math.min(request.contextSize, model.trainContextSize);
  // A text larger than a batch would get the vector of its end.
  const size = { contextSize, batchSize: contextSize, threads: request.threads };
  const works: Work[] = [];
  for (let count = 0; count < request.contexts; count++) {
    const work = request.ranks === true ? ranking(await model.createRankingContext(size)) : undefined;
    works.push(work ?? embedding(await model.createEmbeddingContext(size)));
  }
  // The context needs one token more than its input.
  const maxInputTokens = contextSize - 1;
  send({ type: "loaded", dimensions: model.embeddingVectorSize, maxInputTokens });
  for (const work of works) void serve(work, maxInputTokens);
}

type Work = (
  text: string,
  query: string | undefined,
  maxInputTokens: number,
) => Promise<{ vector: readonly number[]; tokens: number }>;

function embedding(context: LlamaEmbeddingContext): Work {
  return async (text, _query, maxInputTokens) => {
    const tokens = tokensOf(text, context.model, maxInputTokens, (given) => context.calculateInputLength(given));
    const { vector } = await context.getEmbeddingFor(tokens);
    return { vector, tokens: context.calculateInputLength(tokens) };
  };
}

function ranking(context: LlamaRankingContext): Work {
  return async (text, query = "", maxInputTokens) => {
    // At least half of the tokens are for the text.
    const asked = tokensOf(query, context.model, Math.floor(maxInputTokens / 2), (given) => given.length);
    const lengthOf = (given: Token[]): number => context.calculateInputLength(asked, given);
    const tokens = tokensOf(text, context.model, maxInputTokens, lengthOf);
    return { vector: [await context.rank(asked, tokens)], tokens: lengthOf(tokens) };
  };
}

function cancel(request: number): void {
  queue.urgent = queue.urgent.filter(({ id }) => id !== request);
  queue.others = queue.others.filter(({ id }) => id !== request);
}

async function nextText(): Promise<QueuedText> {
  for (;;) {
    const text = queue.urgent.shift() ?? queue.others.shift();
    if (text !== undefined) return text;
    await added.promise;
  }
}

async function serve(work: Work, maxInputTokens: number): Promise<never> {
  for (;;) {
    const { id, index, text, query } = await nextText();
    try {
      const { vector, tokens } = await work(text, query, maxInputTokens);
      send({ type: "vector", id, index, vector: Float32Array.from(vector), tokens });
    } catch (error) {
      cancel(id);
      send({ type: "failed", id, message: messageOf(error) });
    }
  }
}

/** Characters of a text that are tokenized for each token that fits: hardly any token is longer. */
const charactersPerToken = 32;

/** Tokens of the beginning of the text that fits. `lengthOf` counts the tokens with those that the model adds. */
function tokensOf(
  text: string,
  model: LlamaModel,
  maxInputTokens: number,
  lengthOf: (tokens: Token[]) => number,
): Token[] {
  const tokens = model.tokenize(text.slice(0, maxInputTokens * charactersPerToken));
  // A text without tokens, for example of spaces, would have no vector.
  if (tokens.length === 0) return model.tokenize(".");
  const framing = lengthOf(tokens) - tokens.length;
  return tokens.slice(0, maxInputTokens - framing);
}

function send(message: FromChild): void {
  if (process.connected) process.send?.(message);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function endNow(): void {
  process.kill(process.pid, "SIGKILL");
}
