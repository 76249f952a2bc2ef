import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { childEnvironment } from "@memslot/core/providers";
import { type FromChild, type LoadedModel, type LoadRequest, type ToChild, hostPipe } from "./protocol.ts";

export interface EmbeddedTexts {
  vectors: Float32Array[];
  tokens: number;
}

/** The process has ended, or was stopped because it did not answer. */
export class ProcessEnded extends Error {
  readonly how: string;

  constructor(how: string) {
    super(`the process that runs the model ${how}`);
    this.name = "ProcessEnded";
    this.how = how;
  }
}

export interface ProcessLimits {
  loadMs: number;
  silenceMs: number;
}

interface Pending extends EmbeddedTexts {
  missing: number;
  resolve(texts: EmbeddedTexts): void;
  reject(error: unknown): void;
}

/** Environment variables that configure llama.cpp. */
const passedOn = ["GGML_*", "LLAMA_*", "NODE_LLAMA_CPP_*", "OMP_*"];

const termWaitsMs = 500;
const killWaitsMs = 1000;
const keptWordsLength = 2048;
const lastWordsWaitMs = 100;

/** Host side of `child.ts`: a process with one model. Keeps the host alive only while an answer is due. */
export class ModelProcess {
  readonly exited: Promise<void>;
  readonly #child: ChildProcess;
  readonly #limits: ProcessLimits;
  readonly #pending = new Map<number, Pending>();
  readonly #loading = Promise.withResolvers<LoadedModel>();
  #isLoading = true;
  #lastId = 0;
  #lastWords = "";
  #ended: ProcessEnded | undefined;
  #silence: NodeJS.Timeout | undefined;

  constructor(request: Omit<LoadRequest, "type">, limits: ProcessLimits) {
    this.#limits = limits;
    this.#child = fork(fileURLToPath(import.meta.resolve("#child")), [], {
      // Its output must not mix with the host's protocol on stdout.
      stdio: ["ignore", "ignore", "pipe", "ipc", "pipe"],
      serialization: "advanced",
      env: childEnvironment(process.env, passedOn),
      // It is resolved as this process resolves its modules.
      execArgv: process.execArgv.filter((argument) => argument.startsWith("--conditions=")),
    });
    this.exited = once(this.#child, "exit").then(
      () => {},
      () => {},
    );
    // Avoids an unhandled rejection.
    this.#loading.promise.catch(() => undefined);
    this.#listen();
    this.#send({ type: "load", ...request });
    this.#watch();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Rejects with the `Error` of node-llama-cpp or the model, or with `ProcessEnded`. */
  get loaded(): Promise<LoadedModel> {
    return this.#loading.promise;
  }

  isRunning(): boolean {
    return this.#ended === undefined;
  }

  /** Rejects with `ProcessEnded`, with an `Error` for a refused text, and at once if aborted. */
  async embed(
    texts: readonly string[],
    { urgent, signal, query }: { urgent: boolean; signal: AbortSignal | undefined; query?: string | undefined },
  ): Promise<EmbeddedTexts> {
    if (this.#ended !== undefined) throw this.#ended;
    signal?.throwIfAborted();
    if (texts.length === 0) return { vectors: [], tokens: 0 };
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<EmbeddedTexts>();
    const onAbort = (): void => {
      this.#pending.delete(id);
      this.#send({ type: "cancel", id });
      this.#watch();
      reject(signal?.reason);
    };
    this.#pending.set(id, { vectors: [], tokens: 0, missing: texts.length, resolve, reject });
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#send({ type: "embed", id, texts, urgent, query });
    this.#watch();
    try {
      return await promise;
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  }

  /** Stops it within about a second. */
  async stop(): Promise<void> {
    this.#end("was stopped");
    this.#child.kill("SIGTERM");
    if (await this.#endsWithin(termWaitsMs)) return;
    this.#child.kill("SIGKILL");
    await this.#endsWithin(killWaitsMs);
  }

  async #endsWithin(milliseconds: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<false>((resolve) => (timer = setTimeout(() => resolve(false), milliseconds)));
    const isOver = await Promise.race([this.exited.then(() => true), late]);
    clearTimeout(timer);
    return isOver;
  }

  #listen(): void {
    const child = this.#child;
    const keepWords = (data: Buffer): void => {
      this.#lastWords = (this.#lastWords + data.toString()).slice(-keptWordsLength);
    };
    child.stderr?.on("data", keepWords);
    child.stdio[hostPipe]?.on("error", () => {}); // Its end is told by "exit".
    child.on("message", (message: FromChild) => {
      this.#take(message);
      this.#watch();
    });
    child.on("error", (error) => this.#end(`cannot be started: ${error.message}`));
    child.once("exit", (code, signal) => {
      const told = (): void => this.#end(`ended with ${signal ?? `code ${code}`}`);
      // At "close" all of its output has been read; that is late if a child process still has the pipe.
      child.once("close", told);
      setTimeout(told, lastWordsWaitMs);
    });
  }

  #take(message: FromChild): void {
    if (message.type === "loaded") {
      this.#isLoading = false;
      this.#loading.resolve({ dimensions: message.dimensions, maxInputTokens: message.maxInputTokens });
    } else if (message.type === "failed") {
      this.#isLoading = false;
      this.#loading.reject(new Error(message.message));
    } else {
      const call = this.#pending.get(message.id);
      if (call === undefined) return;
      if (message.type === "vector") {
        call.vectors[message.index] = message.vector;
        call.tokens += message.tokens;
        call.missing -= 1;
        if (call.missing > 0) return;
        call.resolve({ vectors: call.vectors, tokens: call.tokens });
      } else call.reject(new Error(message.message));
      this.#pending.delete(message.id);
    }
  }

  #end(how: string): void {
    if (this.#ended !== undefined) return;
    const words = this.#lastWords.trim().replaceAll(/\s*\n\s*/g, " | ");
    this.#ended = new ProcessEnded(words === "" ? how : `${how} (${words})`);
    this.#isLoading = false;
    this.#loading.reject(this.#ended);
    for (const call of this.#pending.values()) call.reject(this.#ended);
    this.#pending.clear();
    this.#watch();
  }

  #watch(): void {
    clearTimeout(this.#silence);
    const isDue = this.#isLoading || this.#pending.size > 0;
    const { channel, stderr, stdio } = this.#child;
    // Sockets, though their types do not say so.
    for (const handle of [
      this.#child,
      channel,
      stderr as Socket | null,
      stdio[hostPipe] as Socket | null | undefined,
    ]) {
      if (isDue) handle?.ref();
      else handle?.unref();
    }
    const limitMs = this.#isLoading ? this.#limits.loadMs : this.#limits.silenceMs;
    if (isDue) this.#silence = setTimeout(() => this.#giveUp(limitMs), limitMs);
  }

  #giveUp(limitMs: number): void {
    this.#end(`gave no answer for ${limitMs / 1000} s`);
    this.#child.kill("SIGKILL");
  }

  #send(message: ToChild): void {
    // The "close" event reports why a message could not be sent.
    if (this.#child.connected) this.#child.send(message, () => {});
  }
}
