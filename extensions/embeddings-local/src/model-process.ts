import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { withDeadline } from "@memslot/core";
import { childEnvironment } from "@memslot/core/providers";
import type { FromChild, LoadedModel, LoadRequest, ToChild } from "./child-messages.ts";

export interface EmbeddedTexts {
  vectors: Float32Array[];
  tokens: number;
}

export interface EmbedOptions {
  urgent: boolean;
  signal: AbortSignal | undefined;
  /** For a ranking model. */
  query?: string | undefined;
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

const loadId = 0;
/** Closes when this process ends. */
const hostPipe = 4;
const termWaitsMs = 500;
const killWaitsMs = 1000;
const lastWordsLength = 2048;
const lastWordsWaitMs = 100;

/** Host side of `child.ts`: a process with one model. Keeps the host alive only while an answer is due. */
export class ModelProcess {
  readonly exited: Promise<unknown>;
  readonly #child: ChildProcess;
  readonly #limits: ProcessLimits;
  readonly #pending = new Map<number, Pending>();
  readonly #loading = Promise.withResolvers<LoadedModel>();
  #lastId = loadId;
  #lastWords = "";
  #ended: ProcessEnded | undefined;
  #silence: NodeJS.Timeout | undefined;

  constructor(request: LoadRequest, limits: ProcessLimits) {
    this.#limits = limits;
    this.#child = fork(fileURLToPath(import.meta.resolve("#child")), [String(hostPipe)], {
      // Its output must not mix with the host's protocol on stdout.
      stdio: ["ignore", "ignore", "pipe", "ipc", "pipe"],
      serialization: "advanced",
      env: childEnvironment(process.env, passedOn),
      // It is resolved as this process resolves its modules.
      execArgv: process.execArgv.filter((argument) => argument.startsWith("--conditions=")),
    });
    this.exited = once(this.#child, "exit").catch(() => undefined);
    // Avoids an unhandled rejection.
    this.#loading.promise.catch(() => undefined);
    const { reject } = this.#loading;
    this.#pending.set(loadId, { vectors: [], tokens: 0, missing: 0, resolve: () => undefined, reject });
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
  async embed(texts: readonly string[], { urgent, signal, query }: EmbedOptions): Promise<EmbeddedTexts> {
    if (this.#ended !== undefined) throw this.#ended;
    signal?.throwIfAborted();
    if (texts.length === 0) return { vectors: [], tokens: 0 };
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<EmbeddedTexts>();
    this.#pending.set(id, { vectors: [], tokens: 0, missing: texts.length, resolve, reject });
    this.#send({ type: "embed", id, texts, urgent, query });
    this.#watch();
    try {
      return await withDeadline({ what: "the model", signals: [signal] }, () => promise);
    } finally {
      // Still pending: the call was aborted.
      if (this.#pending.delete(id)) this.#send({ type: "cancel", id });
      this.#watch();
    }
  }

  /** Stops it within about a second. */
  async stop(): Promise<void> {
    this.#end("was stopped");
    this.#child.kill("SIGTERM");
    const kill = setTimeout(() => this.#child.kill("SIGKILL"), termWaitsMs);
    // With a reference: the process itself has none, and a host without other work would end before this resolves.
    const late = Promise.withResolvers<void>();
    const giveUp = setTimeout(late.resolve, termWaitsMs + killWaitsMs);
    await Promise.race([this.exited, late.promise]);
    for (const timer of [kill, giveUp]) clearTimeout(timer);
  }

  #listen(): void {
    const child = this.#child;
    child.stderr?.on("data", (data: Buffer) => {
      this.#lastWords = (this.#lastWords + data.toString()).slice(-lastWordsLength);
    });
    child.stdio[hostPipe]?.on("error", () => {}); // "exit" reports its end.
    child.on("message", (message: FromChild) => {
      this.#take(message);
      this.#watch();
    });
    child.on("error", (error) => this.#end(`cannot be started: ${error.message}`));
    child.once("exit", (code, signal) => {
      const end = (): void => this.#end(`ended with ${signal ?? `code ${code}`}`);
      // At "close" all of its output has been read; that is late if a child process still has the pipe.
      child.once("close", end);
      setTimeout(end, lastWordsWaitMs);
    });
  }

  #take(message: FromChild): void {
    if (message.type === "loaded") {
      this.#pending.delete(loadId);
      const { dimensions, maxInputTokens } = message;
      return this.#loading.resolve({ dimensions, maxInputTokens });
    }
    const call = this.#pending.get(message.id);
    if (message.type === "failed") call?.reject(new Error(message.message));
    else if (call) {
      call.vectors[message.index] = message.vector;
      call.tokens += message.tokens;
      call.missing -= 1;
      if (call.missing > 0) return;
      call.resolve({ vectors: call.vectors, tokens: call.tokens });
    }
    this.#pending.delete(message.id);
  }

  #end(how: string): void {
    if (this.#ended !== undefined) return;
    const words = this.#lastWords.trim().replaceAll(/\s*\n\s*/g, " | ");
    this.#ended = new ProcessEnded(words === "" ? how : `${how} (${words})`);
    for (const call of this.#pending.values()) call.reject(this.#ended);
    this.#pending.clear();
    this.#watch();
  }

  #watch(): void {
    clearTimeout(this.#silence);
    const isDue = this.#pending.size > 0;
    const { channel, stderr, stdio } = this.#child;
    // Sockets, though their types do not say so.
    for (const handle of [this.#child, channel, stderr as Socket | null, stdio[hostPipe] as Socket | null | undefined])
      if (isDue) handle?.ref();
      else handle?.unref();
    const limitMs = this.#pending.has(loadId) ? this.#limits.loadMs : this.#limits.silenceMs;
    const giveUp = (): void => {
      this.#end(`gave no answer for ${limitMs / 1000} s`);
      this.#child.kill("SIGKILL");
    };
    if (isDue) this.#silence = setTimeout(giveUp, limitMs);
  }

  #send(message: ToChild): void {
    // The "close" event reports why a message could not be sent.
    if (this.#child.connected) this.#child.send(message, () => {});
  }
}
