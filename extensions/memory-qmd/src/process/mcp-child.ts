import type { Readable } from "node:stream";
import { QmdFailure, type QmdLimits } from "../qmd-contract.ts";
import { classifyEnd, classifyWords } from "./classify-failure.ts";
import { type KeptProcess, startKept } from "./child/kept-process.ts";
import { type RpcClient, type RpcLimits, createRpcClient } from "./rpc-client.ts";

export interface McpChildOptions {
  argv: readonly string[];
  environment: Readonly<Record<string, string>>;
  folder: string;
  limits: QmdLimits;
  signal: AbortSignal;
  onNoise(line: string): void;
  /** Told of the process when it is made. */
  onStart(kept: KeptProcess): void;
}

/** One `qmd mcp` process that has said hello. */
export interface McpChild {
  pid(): number | undefined;
  isAlive(): boolean;
  /** Whether no answer is due. */
  isIdle(): boolean;
  /** The answer of one of its tools. Throws `QmdFailure`, also for an answer that is an error. */
  callTool(name: string, input: Record<string, unknown>, limits: RpcLimits): Promise<unknown>;
  /** When its process is gone: what it died of, or undefined where it was told to end. */
  ended: Promise<QmdFailure | undefined>;
  /**
   * Ends it. `asked`: its input is closed first. `hung`: at once by SIGTERM, since a server that is stuck does not see
   * the end of its input.
   */
  stop(how: "asked" | "hung"): Promise<void>;
}

const keptWords = 8 * 1024;

/** Starts `qmd mcp` and says hello. Throws `QmdFailure` where it does not answer, and leaves nothing behind then. */
export async function startMcpChild(options: McpChildOptions): Promise<McpChild> {
  const { argv, environment, folder, limits, signal, onNoise, onStart } = options;
  signal.throwIfAborted();
  const kept = startKept({
    argv: [...argv, "mcp", "--index", "index"],
    environment,
    folder,
    graceMs: limits.killMs,
    input: true,
  });
  onStart(kept);
  const lastWords = tailOf(kept.stderr);
  if (kept.stdin === null) throw new Error("qmd mcp was started without an input");
  let isStopped = false;
  let isOver = false;
  const rpc = createRpcClient({
    input: kept.stdin,
    output: kept.stdout,
    onNoise,
    onOverflow: () => {
      rpc.end(new QmdFailure("invalid_output", "the MCP server of qmd sent a line that is longer than any answer"));
      void stop("hung"); // Told by `ended`.
    },
  });
  const ended = kept.started.then(
    () =>
      kept.ended.then(async (end) => {
        await new Promise((resolve) => setTimeout(resolve, lastWordsWaitMs));
        return classifyEnd("the MCP server of qmd", end, lastWords());
      }),
    (failure: QmdFailure) => failure,
  );
  const gone = ended.then((failure) => {
    isOver = true;
    rpc.end(failure);
    kept.stdout.destroy();
    kept.stderr.destroy();
    return isStopped ? undefined : failure;
  });

  async function stop(how: "asked" | "hung"): Promise<void> {
    isStopped = true;
    if (how === "asked") {
      kept.stdin?.end();
      if (await endsWithin(kept, limits.stopMs)) return;
    }
    kept.stop();
    kept.hold(true);
    await gone;
  }

  async function request(method: string, params: unknown, requestLimits: RpcLimits): Promise<unknown> {
    const answer = rpc.request(method, params, requestLimits);
    hold(kept, rpc);
    try {
      return await answer;
    } finally {
      hold(kept, rpc);
    }
  }

  try {
    await request(
      "initialize",
      { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "memslot", version: "1" } },
      { deadlineMs: limits.initializeMs, signal },
    );
  } catch (error) {
    // Whoever waits for a server that does not speak does not wait for its end too.
    void stop("hung");
    throw error;
  }
  rpc.notify("notifications/initialized");

  return {
    pid: kept.pid,
    isAlive: () => !isOver && !isStopped,
    isIdle: () => rpc.pending() === 0,
    ended: gone,
    stop,
    async callTool(name, input, callLimits) {
      const result = await request("tools/call", { name, arguments: input }, callLimits);
      if ((result as { isError?: unknown } | undefined)?.isError === true)
        throw classifyWords(`the tool ${name} of qmd`, textOf(result));
      return result;
    },
  };
}

/** After its end, for the words that are still in the pipe. */
const lastWordsWaitMs = 50;

/** An idle server holds nobody. */
function hold(kept: KeptProcess, rpc: RpcClient): void {
  kept.hold(rpc.pending() > 0);
}

async function endsWithin(kept: KeptProcess, milliseconds: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  kept.hold(true);
  const late = new Promise<false>((resolve) => (timer = setTimeout(() => resolve(false), milliseconds)));
  const isOver = await Promise.race([kept.ended.then(() => true), late]);
  clearTimeout(timer);
  return isOver;
}

function tailOf(stream: Readable): () => string {
  let text = "";
  stream.setEncoding("utf8");
  stream.on("data", (part: string) => (text = (text + part).slice(-keptWords)));
  stream.on("error", () => {});
  return () => text;
}

/** The words of an answer of a tool. */
function textOf(result: unknown): string {
  const { content } = result as { content?: unknown };
  const parts = Array.isArray(content) ? (content as { text?: unknown }[]) : [];
  return parts.map(({ text }) => (typeof text === "string" ? text : "")).join("\n");
}
