import { availableParallelism } from "node:os";
import { MemoryError, ProviderError, messageOf } from "@memslot/core";
import { readGguf } from "./gguf-file.ts";
import { type EmbeddedTexts, ModelProcess, ProcessEnded, type ProcessLimits } from "./model-process.ts";
import type { LoadedModel, LoadRequest } from "./protocol.ts";
import { untilAborted } from "./shared-run.ts";

export interface LocalOptions {
  contexts: number;
  threads: number;
  /** Token limit of a text, unless the model has a lower one. */
  contextSize: number;
}

// Chunks have some 400 tokens. Memory grows with this number, and some models allow 32,768.
const defaultContextSize = 2048;

/** `pnpm generate` writes it into `memslot.plugin.json`. */
export const configSchema: Readonly<Record<string, unknown>> = {
  type: "object",
  properties: {
    contexts: { type: "integer", minimum: 1, maximum: 4 },
    threads: { type: "integer", minimum: 1, maximum: 64 },
    contextSize: { type: "integer", minimum: 64, maximum: 32_768 },
  },
  additionalProperties: false,
};

/** Fills in defaults for this machine. The host has checked the options against the schema. */
export function readOptions(options: Readonly<Record<string, unknown>>): LocalOptions {
  return {
    contexts: Math.min(2, availableParallelism()),
    threads: 1,
    contextSize: defaultContextSize,
    ...(options as Partial<LocalOptions>),
  };
}

export interface RunnerTimes extends ProcessLimits {
  idleMs: number;
}

interface EmbedOptions {
  urgent: boolean;
  signal: AbortSignal | undefined;
  /** For a ranking model. */
  query?: string | undefined;
}

interface Running {
  process: ModelProcess;
  model: LoadedModel;
}

/** Runs a model in a process, which starts on demand and again after a crash. */
export class ModelRunner {
  readonly #request: Omit<LoadRequest, "type">;
  readonly #times: RunnerTimes;
  readonly #alive = new Set<ModelProcess>();
  #running: Running | undefined;
  #starting: Promise<Running> | undefined;
  #idle: NodeJS.Timeout | undefined;
  #callCount = 0;
  #isClosed = false;

  constructor(request: Omit<LoadRequest, "type">, times: RunnerTimes) {
    this.#request = request;
    this.#times = times;
  }

  /** Loads the model. Fails with `auth` for an unusable file; the next call tries again. */
  start(): Promise<LoadedModel> {
    return this.#working(async () => (await this.#ready()).model);
  }

  /** Fails with `transient` if the process dies twice in a row, with `input` for a refused text. */
  embed(texts: readonly string[], options: EmbedOptions): Promise<EmbeddedTexts> {
    return this.#working(async () => {
      try {
        return await this.#embedOnce(texts, options).catch((error: unknown) => {
          if (!(error instanceof ProcessEnded) || this.#isClosed) throw error;
          return this.#embedOnce(texts, options);
        });
      } catch (error) {
        throw failureOf(error, options.signal);
      }
    });
  }

  /** Scores how well each text answers the query, 0 to 1. Fails as `embed` does. */
  async rank(query: string, texts: readonly string[], signal: AbortSignal): Promise<number[]> {
    const { vectors } = await this.embed(texts, { urgent: true, signal, query });
    return vectors.map(([score = Number.NaN]) => score);
  }

  isLoaded(): boolean {
    return this.#running?.process.isRunning() === true;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#idle);
    await Promise.all([...this.#alive].map((process) => process.stop()));
  }

  async #ready(): Promise<Running> {
    if (this.#isClosed) throw closedError();
    if (this.#running?.process.isRunning() === true) return this.#running;
    this.#starting ??= this.#launch().finally(() => (this.#starting = undefined));
    return this.#starting;
  }

  async #launch(): Promise<Running> {
    try {
      await readGguf(this.#request.modelPath);
    } catch (error) {
      throw this.#unusable(messageOf(error), error);
    }
    const first = await this.#launchOnce();
    const launched = first instanceof ProcessEnded ? await this.#launchOnce() : first;
    if (!(launched instanceof ProcessEnded)) return launched;
    const kind = this.#request.ranks === true ? "a reranker" : "an embedding model";
    const question = `is it a complete GGUF of ${kind}?`;
    throw this.#unusable(`the process that loads it ${launched.how}; ${question}`, launched);
  }

  async #launchOnce(): Promise<Running | ProcessEnded> {
    const process = new ModelProcess(this.#request, this.#times);
    this.#alive.add(process);
    void process.exited.then(() => this.#alive.delete(process));
    try {
      const model = await process.loaded;
      this.#running = { process, model };
      return this.#running;
    } catch (error) {
      await process.stop();
      if (this.#isClosed) throw closedError();
      if (error instanceof ProcessEnded) return error;
      throw this.#unusable(messageOf(error), error);
    }
  }

  #unusable(why: string, cause: unknown): ProviderError {
    return new ProviderError("auth", `the model file ${this.#request.modelPath} cannot be used: ${why}`, { cause });
  }

  async #embedOnce(texts: readonly string[], options: EmbedOptions): Promise<EmbeddedTexts> {
    const { process } = await untilAborted(this.#ready(), options.signal);
    return process.embed(texts, options);
  }

  async #working<Result>(work: () => Promise<Result>): Promise<Result> {
    clearTimeout(this.#idle);
    this.#callCount += 1;
    try {
      return await work();
    } finally {
      this.#callCount -= 1;
      if (this.#callCount === 0 && !this.#isClosed)
        this.#idle = setTimeout(() => void this.#rest(), this.#times.idleMs).unref();
    }
  }

  async #rest(): Promise<void> {
    const process = this.#running?.process;
    this.#running = undefined;
    await process?.stop();
  }
}

export function closedError(): MemoryError {
  return new MemoryError("CLOSED", "the local model is closed");
}

function failureOf(error: unknown, signal: AbortSignal | undefined): unknown {
  if (ProviderError.is(error) || MemoryError.is(error)) return error;
  if (signal?.aborted === true) return error;
  if (error instanceof ProcessEnded) return new ProviderError("transient", `local: ${error.message}`, { cause: error });
  return new ProviderError("input", `local: ${messageOf(error)}`, { cause: error });
}
