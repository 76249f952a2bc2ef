import { EmbeddingError, MemoryError, messageOf } from "@memslot/core";
import { readGguf } from "./gguf-file.ts";
import {
  type EmbeddedTexts,
  type ModelProcess,
  ProcessEnded,
  type ProcessLimits,
  startModelProcess,
} from "./model-process.ts";
import type { LoadedModel, LoadRequest } from "./protocol.ts";
import { untilAborted } from "./shared-run.ts";

export interface RunnerTimes extends ProcessLimits {
  /** A process without work is ended after this time, and its memory is free again. */
  idleMs: number;
}

/** The model in a process that is started when it is needed, and again when it has died. */
export interface ModelRunner {
  /** Has the model loaded. Fails with `auth` for a file that cannot be used; the next call tries again. */
  start(): Promise<LoadedModel>;
  /** `transient` when the process dies twice in a row, `input` for a text that is refused. */
  embed(
    texts: readonly string[],
    options: { urgent: boolean; signal: AbortSignal | undefined },
  ): Promise<EmbeddedTexts>;
  isLoaded(): boolean;
  /** Ends the process, within about two seconds. */
  close(): Promise<void>;
}

interface Running {
  process: ModelProcess;
  model: LoadedModel;
}

export function createModelRunner(request: Omit<LoadRequest, "type">, times: RunnerTimes): ModelRunner {
  let running: Running | undefined;
  let starting: Promise<Running> | undefined;
  let idle: NodeJS.Timeout | undefined;
  let callCount = 0;
  let isClosed = false;
  const alive = new Set<ModelProcess>();

  async function start(): Promise<Running> {
    if (isClosed) throw closedError();
    if (running?.process.isRunning() === true) return running;
    starting ??= launch().finally(() => (starting = undefined));
    return starting;
  }

  async function launch(): Promise<Running> {
    try {
      await readGguf(request.modelPath);
    } catch (error) {
      throw unusable(messageOf(error), error);
    }
    try {
      return await launchOnce();
    } catch (error) {
      if (isClosed) throw closedError();
      if (!(error instanceof ProcessEnded)) throw unusable(messageOf(error), error);
    }
    try {
      return await launchOnce();
    } catch (error) {
      if (isClosed) throw closedError();
      if (!(error instanceof ProcessEnded)) throw unusable(messageOf(error), error);
      const question = "is it a complete GGUF of an embedding model?";
      throw unusable(`the process that loads it ${error.how}; ${question}`, error);
    }
  }

  async function launchOnce(): Promise<Running> {
    const process = startModelProcess(request, times);
    alive.add(process);
    void process.exited.then(() => alive.delete(process));
    try {
      const model = await process.loaded;
      running = { process, model };
      return running;
    } catch (error) {
      await process.stop();
      throw error;
    }
  }

  function unusable(why: string, cause: unknown): EmbeddingError {
    return new EmbeddingError("auth", `the model file ${request.modelPath} cannot be used: ${why}`, { cause });
  }

  async function embedOnce(
    texts: readonly string[],
    options: { urgent: boolean; signal: AbortSignal | undefined },
  ): Promise<EmbeddedTexts> {
    const { process } = await untilAborted(start(), options.signal);
    return process.embed(texts, options);
  }

  async function embed(...call: Parameters<ModelRunner["embed"]>): Promise<EmbeddedTexts> {
    try {
      return await embedOnce(...call);
    } catch (error) {
      if (!(error instanceof ProcessEnded) || isClosed) throw error;
    }
    return embedOnce(...call);
  }

  async function working<Result>(work: () => Promise<Result>): Promise<Result> {
    clearTimeout(idle);
    callCount += 1;
    try {
      return await work();
    } finally {
      callCount -= 1;
      if (callCount === 0 && !isClosed) idle = setTimeout(() => void rest(), times.idleMs).unref();
    }
  }

  async function rest(): Promise<void> {
    const process = running?.process;
    running = undefined;
    await process?.stop();
  }

  return {
    start: () => working(async () => (await start()).model),
    embed: (...call) =>
      working(async () => {
        try {
          return await embed(...call);
        } catch (error) {
          throw failureOf(error, call[1].signal);
        }
      }),
    isLoaded: () => running?.process.isRunning() === true,
    async close() {
      isClosed = true;
      clearTimeout(idle);
      await Promise.all([...alive].map((process) => process.stop()));
    },
  };
}

export function closedError(): MemoryError {
  return new MemoryError("CLOSED", "the local model is closed");
}

/** Errors of this package and of an abort stay what they are. */
function failureOf(error: unknown, signal: AbortSignal | undefined): unknown {
  if (EmbeddingError.is(error) || MemoryError.is(error)) return error;
  if (signal?.aborted === true) return error;
  if (error instanceof ProcessEnded)
    return new EmbeddingError("transient", `local: ${error.message}`, { cause: error });
  return new EmbeddingError("input", `local: ${messageOf(error)}`, { cause: error });
}
