import type { Llama, LlamaEmbeddingContext, LlamaModel, LlamaRankingContext, Token } from "node-llama-cpp";
import { endWithHost } from "./end-with-host.ts";
import type { FromChild, LoadRequest, ToChild } from "./protocol.ts";
import { createTextQueue } from "./text-queue.ts";

/** The entry of the process that holds the model: native code that fails ends this process and not the host. */

// Ctrl-C reaches every process of a terminal; this one ends with the host, which may have to finish something.
process.on("SIGINT", () => {});
// At once: leaving in order would wait for the text that is being worked on, and there is nothing to tidy.
process.on("disconnect", endNow);
if (!process.connected) endNow();
endWithHost();
// When it aborts, llama.cpp would call a debugger first.
process.env["GGML_NO_BACKTRACE"] = "1";

const queue = createTextQueue();

process.on("message", (message: ToChild) => {
  if (message.type === "embed") queue.add(message);
  else if (message.type === "cancel") queue.cancel(message.id);
  else void load(message).catch((error: unknown) => send({ type: "failed", message: messageOf(error) }));
});

async function load(request: LoadRequest): Promise<void> {
  const { getLlama, LlamaLogLevel } = (await import(request.llama)) as typeof import("node-llama-cpp");
  if (typeof getLlama !== "function")
    throw new Error(`node-llama-cpp at ${request.llama} is too old: 3.22.1 is needed`);
  const llama: Llama = await getLlama({
    // Of the Macs with Apple's own chips there is only a build that uses their graphics unit.
    gpu: process.platform === "darwin" && process.arch === "arm64" ? "metal" : false,
    build: "never",
    progressLogs: false,
    logLevel: LlamaLogLevel.error,
  });
  const model = await llama.loadModel({ modelPath: request.modelPath });
  const contextSize = Math.min(request.contextSize, model.trainContextSize);
  // A text that does not fit into one batch gets the vector of its end.
  const size = { contextSize, batchSize: contextSize, threads: request.threads };
  const works: Work[] = [];
  for (let count = 0; count < request.contexts; count++) {
    const work = request.ranks === true ? ranking(await model.createRankingContext(size)) : undefined;
    works.push(work ?? embedding(await model.createEmbeddingContext(size)));
  }
  // The context wants to be longer than what is put into it.
  const maxInputTokens = contextSize - 1;
  send({ type: "loaded", dimensions: model.embeddingVectorSize, maxInputTokens });
  for (const work of works) void serve(work, maxInputTokens);
}

/** What a context makes of a text: its vector, or its score for a query, and the tokens that were read. */
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
    // The half of the room is for the text, whatever the query is.
    const asked = tokensOf(query, context.model, Math.floor(maxInputTokens / 2), (given) => given.length);
    const lengthOf = (given: Token[]): number => context.calculateInputLength(asked, given);
    const tokens = tokensOf(text, context.model, maxInputTokens, lengthOf);
    return { vector: [await context.rank(asked, tokens)], tokens: lengthOf(tokens) };
  };
}

/** One context works on one text after the other; several contexts share the queue. */
async function serve(work: Work, maxInputTokens: number): Promise<never> {
  for (;;) {
    const { id, index, text, query } = await queue.next();
    try {
      const { vector, tokens } = await work(text, query, maxInputTokens);
      send({ type: "vector", id, index, vector: Float32Array.from(vector), tokens });
    } catch (error) {
      queue.cancel(id);
      send({ type: "refused", id, message: messageOf(error) });
    }
  }
}

/** Characters of a text that are looked at for each token that has room: hardly any token has more. */
const charactersPerToken = 32;

/** The tokens of as much of the text as has room. `lengthOf`: how many the model reads for these. */
function tokensOf(
  text: string,
  model: LlamaModel,
  maxInputTokens: number,
  lengthOf: (tokens: Token[]) => number,
): Token[] {
  const tokens = model.tokenize(text.slice(0, maxInputTokens * charactersPerToken));
  // A text without a token, as one of spaces alone, would have no vector.
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
