import { QmdFailure, type QmdIndexStatus, type QmdLimits, type QmdQuery, type QmdRow } from "../qmd-contract.ts";
import { type McpChild, startMcpChild } from "./mcp-child.ts";
import { memoryUse } from "./child/memory-use.ts";
import type { KeptProcess } from "./child/kept-process.ts";
import { parseToolRows } from "./parse-output.ts";
import { createRestartPlan } from "./restart-plan.ts";
import type { RpcLimits } from "./rpc-client.ts";

export interface McpTransportOptions {
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
export interface McpTransport {
  /** Throws at once where the child rests after a failure, or was given up. */
  query(query: QmdQuery): Promise<QmdRow[]>;
  status(limits: RpcLimits): Promise<QmdIndexStatus>;
  canAsk(): boolean;
  isGivenUp(): boolean;
  pid(): number | undefined;
  restarts(): number;
  /** Ends the child. The next question starts another one at once. */
  stop(): Promise<void>;
  /** Forgets what has failed. */
  reset(): void;
}

export function createMcpTransport(options: McpTransportOptions): McpTransport {
  const { argv, environment, folder, limits, isLexical, onNoise, onFailure, onStart } = options;
  const plan = createRestartPlan(limits);
  let child: McpChild | undefined;
  let starting: { promise: Promise<McpChild>; controller: AbortController } | undefined;
  let starts = 0;
  let lookedAt = performance.now();

  async function ready(signal: AbortSignal): Promise<McpChild> {
    if (child?.isAlive()) return child;
    if (starting === undefined) {
      const now = plan.now();
      if (now !== "start")
        throw new QmdFailure(
          "crash",
          `the MCP server of qmd has failed and ${now === "wait" ? "rests" : "is given up"} for a while`,
        );
      const controller = new AbortController();
      starting = { promise: start(controller.signal), controller };
      starting.promise.catch(() => undefined); // Whoever waits for it is told.
    }
    return unlessAborted(starting.promise, signal);
  }

  async function start(signal: AbortSignal): Promise<McpChild> {
    starts++;
    try {
      const started = await startMcpChild({
        argv,
        environment: environment(),
        folder,
        limits,
        signal,
        onNoise,
        onStart,
      });
      child = started;
      lookedAt = performance.now();
      void started.ended.then((failure) => {
        if (child === started) child = undefined;
        if (failure === undefined) return;
        plan.failed();
        onFailure(failure);
      });
      return started;
    } catch (error) {
      if (!signal.aborted) plan.failed();
      throw error;
    } finally {
      starting = undefined;
    }
  }

  /** A server that does not answer is ended, and counts as one that has failed. */
  function giveUp(hung: McpChild): void {
    if (child !== hung) return;
    child = undefined;
    plan.failed();
    void hung.stop("hung"); // The question does not wait for its end; close does.
  }

  async function query(params: QmdQuery): Promise<QmdRow[]> {
    const { searches, limit, collections, rerank, candidateLimit, deadlineMs, signal } = params;
    const asked = await ready(signal);
    const until = performance.now() + deadlineMs;
    const usesModels = rerank || searches.some(({ type }) => type !== "lex");
    const left = (): RpcLimits => ({ deadlineMs: Math.max(1, until - performance.now()), signal });
    try {
      const input = {
        searches,
        limit,
        collections,
        rerank,
        ...(candidateLimit === undefined ? {} : { candidateLimit }),
      };
      const rows = parseToolRows(await asked.callTool("query", input, left()));
      // It says the same of a collection that it does not know and of one in which it found nothing.
      if (rows.length === 0) await checkCollections(asked, collections, left());
      else await checkMemory(asked);
      return rows;
    } catch (error) {
      // A model that is slow is no server that hangs: it is there for the next question.
      if (error instanceof QmdFailure && error.reason === "timeout" && !usesModels) giveUp(asked);
      throw error;
    }
  }

  async function checkCollections(
    asked: McpChild,
    collections: readonly string[],
    callLimits: RpcLimits,
  ): Promise<void> {
    const known = statusOf(await asked.callTool("status", {}, callLimits)).collections;
    // One without documents is not among them either.
    if (!collections.some((name) => known.some((each) => each.name === name)))
      throw new QmdFailure("unknown_collection", `qmd does not know the collection ${collections.join(", ")}`);
  }

  async function checkMemory(asked: McpChild): Promise<void> {
    const pid = asked.pid();
    if (!isLexical() || pid === undefined || performance.now() - lookedAt < limits.memoryCheckMs) return;
    lookedAt = performance.now();
    const bytes = await memoryUse(pid);
    if (bytes === undefined || bytes <= limits.maxMemoryBytes || child !== asked || !asked.isIdle()) return;
    child = undefined;
    onNoise(`the MCP server of qmd uses ${Math.round(bytes / 1024 / 1024)} MB of memory and is started anew`);
    void asked.stop("asked"); // The answer does not wait for its end; the next question starts another one.
  }

  async function status(callLimits: RpcLimits): Promise<QmdIndexStatus> {
    const asked = await ready(callLimits.signal);
    try {
      return statusOf(await asked.callTool("status", {}, callLimits));
    } catch (error) {
      if (error instanceof QmdFailure && error.reason === "timeout") giveUp(asked);
      throw error;
    }
  }

  async function stop(): Promise<void> {
    starting?.controller.abort(new QmdFailure("closed", "the MCP server of qmd was stopped"));
    const stopped = child;
    child = undefined;
    await stopped?.stop("asked");
  }

  return {
    query,
    status,
    canAsk: () => child?.isAlive() === true || starting !== undefined || plan.now() === "start",
    isGivenUp: () => child === undefined && plan.now() === "given up",
    pid: () => child?.pid(),
    restarts: () => Math.max(0, starts - 1),
    stop,
    reset: () => plan.reset(),
  };
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
