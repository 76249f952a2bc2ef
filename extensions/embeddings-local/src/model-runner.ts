import { availableParallelism } from "node:os";
import { MemoryError, ProviderError, type SyncProgress, messageOf, withDeadline } from "@memslot/core";
import { download, type DownloadLimits } from "./download.ts";
import { readGguf } from "./gguf-file.ts";
import { isFile, type ModelAddress } from "./model-file.ts";
import {
  type EmbeddedTexts,
  type EmbedOptions,
  ModelProcess,
  ProcessEnded,
  type ProcessLimits,
} from "./model-process.ts";
import type { LoadedModel } from "./child-messages.ts";

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

const defaultTimes: RunnerTimes = { idleMs: 10 * 60_000, loadMs: 120_000, silenceMs: 120_000 };

export interface RunnerSetup {
  /** URL of node-llama-cpp. */
  llama: string;
  address: ModelAddress;
  options: LocalOptions;
  /** `HF_TOKEN`, for a model hub alone. */
  token: string | undefined;
  /** Why a missing model is not downloaded. */
  refusal?: string | undefined;
  ranks?: boolean | undefined;
  times?: Partial<RunnerTimes> | undefined;
  downloadLimits?: Partial<DownloadLimits> | undefined;
}

interface PrepareCaller {
  signal?: AbortSignal | undefined;
  progress?: ((update: SyncProgress) => void) | undefined;
}

interface Preparation {
  done: Promise<void>;
  controller: AbortController;
  callers: Set<PrepareCaller>;
  latest?: SyncProgress;
}

/** Downloads a model and runs it in a process, which starts on demand and again after a crash. */
export class ModelRunner {
  readonly #setup: RunnerSetup;
  readonly #times: RunnerTimes;
  readonly #alive = new Set<ModelProcess>();
  readonly #closing = new AbortController();
  #preparation: Preparation | undefined;
  #model: LoadedModel | undefined;
  #running: ModelProcess | undefined;
  #starting: Promise<ModelProcess> | undefined;
  #idle: NodeJS.Timeout | undefined;
  #callCount = 0;

  constructor(setup: RunnerSetup) {
    this.#setup = setup;
    this.#times = { ...defaultTimes, ...setup.times };
  }

  /** Facts of the model, also after its process has ended. Undefined before it was loaded. */
  get model(): LoadedModel | undefined {
    return this.#model;
  }

  isRunning(): boolean {
    return this.#running?.isRunning() === true;
  }

  /**
   * Downloads a missing model and loads it. Runs once at a time: later callers join and get its progress. An aborted
   * caller leaves at once; the work is aborted when all have left. A failed run can be repeated.
   */
  async prepare(caller: PrepareCaller): Promise<void> {
    caller.signal?.throwIfAborted();
    const run = (this.#preparation ??= this.#beginPreparation());
    run.callers.add(caller);
    if (run.latest !== undefined) caller.progress?.(run.latest);
    try {
      const what = `loading ${this.#setup.address.fileName}`;
      await withDeadline({ what, signals: [caller.signal] }, () => run.done);
    } finally {
      run.callers.delete(caller);
      if (run.callers.size === 0) {
        // The next caller starts a new run and does not join an aborted one.
        if (this.#preparation === run) this.#preparation = undefined;
        run.controller.abort();
      }
    }
  }

  /** Fails with `transient` if the process dies twice in a row, with `input` for a refused text. */
  embed(texts: readonly string[], options: EmbedOptions): Promise<EmbeddedTexts> {
    return this.#working(async () => {
      try {
        return await this.#embedOnce(texts, options).catch((error: unknown) => {
          if (!(error instanceof ProcessEnded) || this.#closing.signal.aborted) throw error;
          return this.#embedOnce(texts, options);
        });
      } catch (error) {
        if (ProviderError.is(error) || MemoryError.is(error) || options.signal?.aborted) throw error;
        const kind = error instanceof ProcessEnded ? "transient" : "input";
        throw new ProviderError(kind, `local: ${messageOf(error)}`, { cause: error });
      }
    });
  }

  /** Scores how well each text answers the query, 0 to 1. Fails as `embed` does. */
  async rank(query: string, texts: readonly string[], signal: AbortSignal): Promise<number[]> {
    const { vectors } = await this.embed(texts, { urgent: true, signal, query });
    return vectors.map(([score = Number.NaN]) => score);
  }

  async close(): Promise<void> {
    this.#closing.abort(new MemoryError("CLOSED", "the local model is closed"));
    clearTimeout(this.#idle);
    await Promise.all([...this.#alive].map((process) => process.stop()));
  }

  #beginPreparation(): Preparation {
    const controller = new AbortController();
    const callers = new Set<PrepareCaller>();
    const progress = (update: SyncProgress): void => {
      run.latest = update;
      for (const caller of callers) caller.progress?.(update);
    };
    const run: Preparation = { done: Promise.resolve(), controller, callers };
    run.done = this.#prepare(AbortSignal.any([controller.signal, this.#closing.signal]), progress).finally(() => {
      if (this.#preparation === run) this.#preparation = undefined;
    });
    run.done.catch(() => undefined);
    return run;
  }

  async #prepare(signal: AbortSignal, progress: (update: SyncProgress) => void): Promise<void> {
    const { address, refusal, token, downloadLimits: limits } = this.#setup;
    const { path, fileName, source } = address;
    if (!(await isFile(path))) {
      if (refusal !== undefined) throw new ProviderError("auth", `local: ${refusal}`);
      const own = source?.isHub === true ? token : undefined;
      if (source) await download({ url: source.url, token: own, path, fileName, signal, progress, limits });
    }
    const label = `loading ${fileName}`;
    progress({ completed: 0, total: 1, label });
    await this.#working(() => this.#ready());
    progress({ completed: 1, total: 1, label });
  }

  /** Fails with `auth` for an unusable file; the next call tries again. */
  async #ready(): Promise<ModelProcess> {
    this.#closing.signal.throwIfAborted();
    if (this.#running?.isRunning() === true) return this.#running;
    this.#starting ??= this.#launch().finally(() => (this.#starting = undefined));
    return this.#starting;
  }

  async #launch(): Promise<ModelProcess> {
    try {
      await readGguf(this.#setup.address.path);
      return await this.#launchOnce().catch((error: unknown) => {
        if (!(error instanceof ProcessEnded)) throw error;
        return this.#launchOnce();
      });
    } catch (error) {
      this.#closing.signal.throwIfAborted();
      const kind = this.#setup.ranks === true ? "a reranker" : "an embedding model";
      const why =
        error instanceof ProcessEnded
          ? `the process that loads it ${error.how}; is it a complete GGUF of ${kind}?`
          : messageOf(error);
      const text = `the model file ${this.#setup.address.path} cannot be used: ${why}`;
      throw new ProviderError("auth", text, { cause: error });
    }
  }

  async #launchOnce(): Promise<ModelProcess> {
    this.#closing.signal.throwIfAborted();
    const { llama, address, options, ranks } = this.#setup;
    const process = new ModelProcess({ llama, modelPath: address.path, ...options, ranks }, this.#times);
    this.#alive.add(process);
    void process.exited.then(() => this.#alive.delete(process));
    try {
      this.#model = await process.loaded;
      return (this.#running = process);
    } catch (error) {
      await process.stop();
      throw error;
    }
  }

  async #embedOnce(texts: readonly string[], options: EmbedOptions): Promise<EmbeddedTexts> {
    const limits = { what: "the model", signals: [options.signal] };
    const process = await withDeadline(limits, () => this.#ready());
    return process.embed(texts, options);
  }

  /** Stops the process some time after the last call. */
  async #working<Result>(work: () => Promise<Result>): Promise<Result> {
    clearTimeout(this.#idle);
    this.#callCount += 1;
    const rest = async (): Promise<void> => {
      const process = this.#running;
      this.#running = undefined;
      await process?.stop();
    };
    try {
      return await work();
    } finally {
      this.#callCount -= 1;
      if (this.#callCount === 0 && !this.#closing.signal.aborted)
        this.#idle = setTimeout(() => void rest(), this.#times.idleMs).unref();
    }
  }
}
