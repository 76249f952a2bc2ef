import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { childEnvironment } from "@memslot/core/providers";
import { type FromChild, type LoadedModel, type LoadRequest, type ToChild, hostPipe } from "./protocol.ts";

/** What came of the texts of one request. */
export interface EmbeddedTexts {
  vectors: Float32Array[];
  tokens: number;
}

/** The host's side of `child.ts`: one process with one model. */
export interface ModelProcess {
  readonly pid: number | undefined;
  /** Resolves when the process is gone. */
  readonly exited: Promise<void>;
  /** Rejects with an `Error` where node-llama-cpp or the model says what is wrong, and with `ProcessEnded`. */
  readonly loaded: Promise<LoadedModel>;
  /** True until it has ended or was told to. */
  isRunning(): boolean;
  /** Rejects with `ProcessEnded`, with an `Error` for a text that is refused, and at once with the reason of an abort. */
  embed(
    texts: readonly string[],
    options: { urgent: boolean; signal: AbortSignal | undefined },
  ): Promise<EmbeddedTexts>;
  /** Ends it, within about a second whatever it does. */
  stop(): Promise<void>;
}

/** The process has ended, by itself or because it gave no answer. */
export class ProcessEnded extends Error {
  /** Its end and its last words: `ended with SIGABRT (…)`. */
  readonly how: string;

  constructor(how: string) {
    super(`the process that runs the model ${how}`);
    this.name = "ProcessEnded";
    this.how = how;
  }
}

export interface ProcessLimits {
  /** Until the model is loaded. */
  loadMs: number;
  /** Between two answers while one is due. */
  silenceMs: number;
}

interface Pending extends EmbeddedTexts {
  missing: number;
  resolve(texts: EmbeddedTexts): void;
  reject(error: unknown): void;
}

/** How llama.cpp is told what to use of this machine. */
const passedOn = ["GGML_*", "LLAMA_*", "NODE_LLAMA_CPP_*", "OMP_*"];

const termWaitsMs = 500;
const killWaitsMs = 1000;
const keptWordsLength = 2048;
const lastWordsWaitMs = 100;

/**
 * Starts a process and loads a model in it. It keeps the host alive only while an answer is due, and ends with the host.
 * When it is silent for too long though an answer is due, it is ended.
 */
export function startModelProcess(request: Omit<LoadRequest, "type">, limits: ProcessLimits): ModelProcess {
  const child: ChildProcess = fork(fileURLToPath(import.meta.resolve("#child")), [], {
    // What it prints must not get between the lines of a host that speaks through its own output.
    stdio: ["ignore", "ignore", "pipe", "ipc", "pipe"],
    serialization: "advanced",
    env: childEnvironment(process.env, passedOn),
    execArgv: [],
  });
  const pending = new Map<number, Pending>();
  const loading = Promise.withResolvers<LoadedModel>();
  let isLoading = true;
  let lastId = 0;
  let lastWords = "";
  let ended: ProcessEnded | undefined;
  let silence: NodeJS.Timeout | undefined;
  // A process that could not be started counts as one that has ended.
  const exited = once(child, "exit").then(
    () => {},
    () => {},
  );
  // Whoever waits for it is told; nobody has to.
  loading.promise.catch(() => undefined);

  const stderr = child.stderr as Socket | null;
  const pipe = child.stdio[hostPipe] as Socket | null | undefined;
  pipe?.on("error", () => {}); // Its end is told by "exit".
  stderr?.on("data", (data: Buffer) => (lastWords = (lastWords + data.toString()).slice(-keptWordsLength)));
  child.on("message", (message: FromChild) => {
    take(message);
    watch();
  });
  child.on("error", (error) => end(`cannot be started: ${error.message}`));
  child.once("exit", (code, signal) => {
    const told = (): void => end(`ended with ${signal ?? `code ${code}`}`);
    // With "close" its last words have been read. Where a process that it has started still holds the pipe, that is late.
    child.once("close", told);
    setTimeout(told, lastWordsWaitMs);
  });
  send({ type: "load", ...request });
  watch();

  function take(message: FromChild): void {
    if (message.type === "loaded") {
      isLoading = false;
      loading.resolve({ dimensions: message.dimensions, maxInputTokens: message.maxInputTokens });
    } else if (message.type === "failed") {
      isLoading = false;
      loading.reject(new Error(message.message));
    } else {
      const call = pending.get(message.id);
      if (call === undefined) return;
      if (message.type === "vector") {
        call.vectors[message.index] = message.vector;
        call.tokens += message.tokens;
        call.missing -= 1;
        if (call.missing > 0) return;
        call.resolve({ vectors: call.vectors, tokens: call.tokens });
      } else call.reject(new Error(message.message));
      pending.delete(message.id);
    }
  }

  function end(how: string): void {
    if (ended !== undefined) return;
    const words = lastWords.trim().replaceAll(/\s*\n\s*/g, " | ");
    ended = new ProcessEnded(words === "" ? how : `${how} (${words})`);
    isLoading = false;
    loading.reject(ended);
    for (const call of pending.values()) call.reject(ended);
    pending.clear();
    watch();
  }

  /** Holds the host and the clock while an answer is due. */
  function watch(): void {
    clearTimeout(silence);
    const isDue = isLoading || pending.size > 0;
    for (const handle of [child, child.channel, stderr, pipe]) {
      if (isDue) handle?.ref();
      else handle?.unref();
    }
    const limitMs = isLoading ? limits.loadMs : limits.silenceMs;
    if (isDue) silence = setTimeout(() => giveUp(limitMs), limitMs);
  }

  function giveUp(limitMs: number): void {
    end(`gave no answer for ${limitMs / 1000} s`);
    child.kill("SIGKILL");
  }

  function send(message: ToChild): void {
    // What cannot be sent has no receiver any more; its end is told by "close".
    if (child.connected) child.send(message, () => {});
  }

  async function embed(
    texts: readonly string[],
    { urgent, signal }: { urgent: boolean; signal: AbortSignal | undefined },
  ): Promise<EmbeddedTexts> {
    if (ended !== undefined) throw ended;
    signal?.throwIfAborted();
    if (texts.length === 0) return { vectors: [], tokens: 0 };
    const id = ++lastId;
    const { promise, resolve, reject } = Promise.withResolvers<EmbeddedTexts>();
    const onAbort = (): void => {
      pending.delete(id);
      send({ type: "cancel", id });
      watch();
      reject(signal?.reason);
    };
    pending.set(id, { vectors: [], tokens: 0, missing: texts.length, resolve, reject });
    signal?.addEventListener("abort", onAbort, { once: true });
    send({ type: "embed", id, texts, urgent });
    watch();
    try {
      return await promise;
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  }

  async function stop(): Promise<void> {
    end("was stopped");
    child.kill("SIGTERM");
    if (await endsWithin(termWaitsMs)) return;
    child.kill("SIGKILL");
    await endsWithin(killWaitsMs);
  }

  async function endsWithin(milliseconds: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<false>((resolve) => (timer = setTimeout(() => resolve(false), milliseconds)));
    const isOver = await Promise.race([exited.then(() => true), late]);
    clearTimeout(timer);
    return isOver;
  }

  return { pid: child.pid, exited, loaded: loading.promise, isRunning: () => ended === undefined, embed, stop };
}
