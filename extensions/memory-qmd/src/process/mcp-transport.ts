import { type QmdIndexStatus, type QmdLimits, type QmdQuery, type QmdRow, QmdFailure } from "../qmd-contract.ts";
import { type McpChild, startMcpChild } from "./mcp-child.ts";
import { memoryUse } from "./child/memory-use.ts";
import type { KeptProcess } from "./child/kept-process.ts";
import { parseToolRows } from "./parse-output.ts";
import type { RpcLimits } from "./rpc-client.ts";

interface McpTransportOptions {
  argv: readonly string[];
  /** Asked anew for each start. */
  environment: () => Readonly<Record<string, string>>;
  folder: string;
  limits: QmdLimits;
  /** Whether memory counts: models are as large as they are. */
  isLexical: () => boolean;
  onNoise(line: string): void;
  onFailure(failure: QmdFailure): void;
  onStart(kept: KeptProcess): void;
}

/** Questions by a long-lived `qmd mcp`, which is started at the first of them and again when it has ended. */
export class McpTransport {
  readonly #options: McpTransportOptions;
  readonly #plan: RestartPlan;
  #child: McpChild | undefined;
  #starting: { promise: Promise<McpChild>; controller: AbortController } | undefined;
  #starts = 0;
  /** When the memory of the child was looked at last. */
  #lookedAt = performance.now();

  constructor(options: McpTransportOptions) {
    this.#options = options;
    this.#plan = new RestartPlan(options.limits);
  }

  canAsk(): boolean {
    return this.#child?.isAlive() === true || this.#starting !== undefined || this.#plan.now() === "start";
  }

  isGivenUp(): boolean {
    return this.#child === undefined && this.#plan.now() === "given up";
  }

  pid(): number | undefined {
    return this.#child?.pid();
  }

  restarts(): number {
    return Math.max(0, this.#starts - 1);
  }

  /** Throws at once where the child rests after a failure, or was given up. */
  async query(params: QmdQuery): Promise<QmdRow[]> {
    const { searches, limit, collections, rerank, candidateLimit, deadlineMs, signal } = params;
    const asked = await this.#ready(signal);
    const until = performance.now() + deadlineMs;
    const usesModels = rerank || searches.some(({ type }) => type !== "lex");
    const left = (): RpcLimits => ({ deadlineMs: Math.max(1, until - performance.now()), signal });
    try {
      const input = { searches, limit, collections, rerank, ...(candidateLimit !== undefined && { candidateLimit }) };
      const rows = parseToolRows(await asked.callTool("query", input, left()));
      // It says the same of a collection that it does not know and of one in which it found nothing.
      if (rows.length === 0) await checkCollections(asked, collections, left());
      else await this.#checkMemory(asked);
      return rows;
    } catch (error) {
      // A model that is slow is no server that hangs: it is there for the next question.
      if (error instanceof QmdFailure && error.reason === "timeout" && !usesModels) this.#giveUp(asked);
      throw error;
    }
  }

  async status(limits: RpcLimits): Promise<QmdIndexStatus> {
    const asked = await this.#ready(limits.signal);
    try {
      return statusOf(await asked.callTool("status", {}, limits));
    } catch (error) {
      if (error instanceof QmdFailure && error.reason === "timeout") this.#giveUp(asked);
      throw error;
    }
  }

  /** Ends the child. The next question starts another one at once. */
  async stop(): Promise<void> {
    this.#starting?.controller.abort(new QmdFailure("closed", "the MCP server of qmd was stopped"));
    const stopped = this.#child;
    this.#child = undefined;
    await stopped?.stop("asked");
  }

  /** Forgets what has failed. */
  reset(): void {
    this.#plan.reset();
  }

  async #ready(signal: AbortSignal): Promise<McpChild> {
    if (this.#child?.isAlive()) return this.#child;
    if (this.#starting === undefined) {
      const now = this.#plan.now();
      const rests = now === "wait" ? "rests" : "is given up";
      if (now !== "start") throw new QmdFailure("crash", `the MCP server of qmd has failed and ${rests} for a while`);
      const controller = new AbortController();
      this.#starting = { promise: this.#start(controller.signal), controller };
      this.#starting.promise.catch(() => undefined); // Whoever waits for it is told.
    }
    return unlessAborted(this.#starting.promise, signal);
  }

  async #start(signal: AbortSignal): Promise<McpChild> {
    const { argv, environment, folder, limits, onNoise, onStart, onFailure } = this.#options;
    this.#starts++;
    try {
      const place = { argv, environment: environment(), folder, limits };
      const started = await startMcpChild({ ...place, signal, onNoise, onStart });
      this.#child = started;
      this.#lookedAt = performance.now();
      void started.ended.then((failure) => {
        if (this.#child === started) this.#child = undefined;
        if (failure === undefined) return;
        this.#plan.failed();
        onFailure(failure);
      });
      return started;
    } catch (error) {
      if (!signal.aborted) this.#plan.failed();
      throw error;
    } finally {
      this.#starting = undefined;
    }
  }

  /** A server that does not answer is ended, and counts as one that has failed. */
  #giveUp(hung: McpChild): void {
    if (this.#child !== hung) return;
    this.#child = undefined;
    this.#plan.failed();
    void hung.stop("hung"); // The question does not wait for its end; close does.
  }

  async #checkMemory(asked: McpChild): Promise<void> {
    const { limits, isLexical, onNoise } = this.#options;
    const pid = asked.pid();
    if (!isLexical() || pid === undefined || performance.now() - this.#lookedAt < limits.memoryCheckMs) return;
    this.#lookedAt = performance.now();
    const bytes = await memoryUse(pid);
    if (bytes === undefined || bytes <= limits.maxMemoryBytes || this.#child !== asked || !asked.isIdle()) return;
    this.#child = undefined;
    onNoise(`the MCP server of qmd uses ${Math.round(bytes / 1024 / 1024)} MB of memory and is started anew`);
    void asked.stop("asked"); // The answer does not wait for its end; the next question starts another one.
  }
}

async function checkCollections(asked: McpChild, collections: readonly string[], limits: RpcLimits): Promise<void> {
  const known = statusOf(await asked.callTool("status", {}, limits)).collections;
  // One without documents is not among them either.
  if (!collections.some((name) => known.some((each) => each.name === name)))
    throw new QmdFailure("unknown_collection", `qmd does not know the collection ${collections.join(", ")}`);
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function statusOf(result: unknown): QmdIndexStatus {
  const { structuredContent } = (result ?? {}) as { structuredContent?: Record<string, unknown> };
  const collections = structuredContent?.["collections"];
  if (structuredContent === undefined || !Array.isArray(collections))
    throw new QmdFailure("invalid_output", "the MCP server of qmd told its state in a way that is not known");
  const numberOf = (value: unknown): number => (typeof value === "number" ? value : 0);
  return {
    documents: numberOf(structuredContent["totalDocuments"]),
    needsEmbedding: numberOf(structuredContent["needsEmbedding"]),
    hasVectorIndex: structuredContent["hasVectorIndex"] === true,
    collections: (collections as Record<string, unknown>[]).map((each) => ({
      name: String(each["name"]),
      documents: numberOf(each["documents"]),
    })),
  };
}

const failuresAllowed = 3;

/**
 * When the long-lived child may be started. After each failure a longer wait, and after three within the window none is
 * started until the first of them has left it. So a child that cannot live is given up for a while and never for good.
 */
class RestartPlan {
  readonly #limits: QmdLimits;
  #failures: number[] = [];

  constructor(limits: QmdLimits) {
    this.#limits = limits;
  }

  /** It ended and nobody had asked for that. */
  failed(): void {
    this.#failures.push(performance.now());
  }

  /** Starts anew, after something was changed that may have been the cause. */
  reset(): void {
    this.#failures = [];
  }

  now(): "start" | "wait" | "given up" {
    const { crashWindowMs, restartMs } = this.#limits;
    this.#failures = this.#failures.filter((at) => performance.now() - at < crashWindowMs);
    const { length } = this.#failures;
    if (length >= failuresAllowed) return "given up";
    const waitMs = restartMs[Math.min(length, restartMs.length) - 1] ?? 0;
    return performance.now() - (this.#failures.at(-1) ?? Number.NEGATIVE_INFINITY) < waitMs ? "wait" : "start";
  }
}
