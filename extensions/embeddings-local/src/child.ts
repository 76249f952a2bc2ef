import type { Llama, LlamaEmbeddingContext, Token } from "node-llama-cpp";
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
  const contexts: LlamaEmbeddingContext[] = [];
  for (let count = 0; count < request.contexts; count++) {
    // A text that does not fit into one batch gets the vector of its end.
    contexts.push(
      await model.createEmbeddingContext({ contextSize, batchSize: contextSize, threads: request.threads }),
    );
  }
  // The context wants to be longer than what is put into it.
  const maxInputTokens = contextSize - 1;
  send({ type: "loaded", dimensions: model.embeddingVectorSize, maxInputTokens });
  for (const context of contexts) void serve(context, maxInputTokens);
}

/** One context embeds one text after the other; several contexts share the queue. */
async function serve(context: LlamaEmbeddingContext, maxInputTokens: number): Promise<never> {
  for (;;) {
    const { id, index, text } = await queue.next();
    try {
      const tokens = tokensOf(text, context, maxInputTokens);
      const { vector } = await context.getEmbeddingFor(tokens);
      send({
        type: "vector",
        id,
        index,
        vector: Float32Array.from(vector),
        tokens: context.calculateInputLength(tokens),
      });
    } catch (error) {
      queue.cancel(id);
      send({ type: "refused", id, message: messageOf(error) });
    }
  }
}

/** Characters of a text that are looked at for each token that has room: hardly any token has more. */
const charactersPerToken = 32;

/** The tokens of as much of the text as has room. */
function tokensOf(text: string, context: LlamaEmbeddingContext, maxInputTokens: number): Token[] {
  const { model } = context;
  const tokens = model.tokenize(text.slice(0, maxInputTokens * charactersPerToken));
  // A text without a token, as one of spaces alone, would have no vector.
  if (tokens.length === 0) return model.tokenize(".");
  const framing = context.calculateInputLength(tokens) - tokens.length;
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
