import type { Readable, Writable } from "node:stream";
import { QmdFailure } from "../qmd-contract.ts";
import { outputCap } from "./child/run-once.ts";

export interface RpcLimits {
  deadlineMs: number;
  signal: AbortSignal;
}

/** JSON-RPC 2.0, a message a line: as a Model Context Protocol server speaks over its standard input and output. */
export interface RpcClient {
  /** Rejects with `QmdFailure` (`timeout`, or what the other side says) and with the reason of an abort. */
  request(method: string, params: unknown, limits: RpcLimits): Promise<unknown>;
  notify(method: string, params?: unknown): void;
  /** How many answers are waited for. */
  pending(): number;
  /** The other side has ended: what waits fails so. */
  end(failure: QmdFailure): void;
}

export interface RpcOptions {
  input: Writable;
  output: Readable;
  /** A line that is no message. */
  onNoise(line: string): void;
  /** A line that is longer than an answer may be. */
  onOverflow(): void;
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

interface RpcMessage {
  id?: unknown;
  method?: unknown;
  result?: unknown;
  error?: { message?: unknown } | undefined;
}

/** Speaks with a process by lines. An answer that comes when nobody waits for it any more is dropped. */
export function createRpcClient({ input, output, onNoise, onOverflow }: RpcOptions): RpcClient {
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let ended: QmdFailure | undefined;

  readLines({ stream: output, cap: outputCap, onLine: take, onOverflow });

  function take(line: string): void {
    const message = messageOf(line);
    if (message === undefined) onNoise(line);
    else if (typeof message.method === "string") {
      // What the server asks of us, as whether we are there.
      if (message.id !== undefined) write({ id: message.id, result: {} });
    } else if (typeof message.id === "number") settle(message.id, message);
  }

  function settle(id: number, { result, error }: RpcMessage): void {
    const call = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) call?.resolve(result);
    else call?.reject(new QmdFailure("qmd_error", `the MCP server of qmd refused a request: ${String(error.message)}`));
  }

  function write(message: Record<string, unknown>): void {
    input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  async function request(method: string, params: unknown, { deadlineMs, signal }: RpcLimits): Promise<unknown> {
    if (ended !== undefined) throw ended;
    signal.throwIfAborted();
    const id = ++lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const giveUp = (error: unknown): void => {
      waiting.delete(id);
      write({ method: "notifications/cancelled", params: { requestId: id, reason: "nobody waits for it any more" } });
      reject(error);
    };
    const onAbort = (): void => giveUp(signal.reason);
    const timer = setTimeout(
      () => giveUp(new QmdFailure("timeout", `the MCP server of qmd gave no answer within ${deadlineMs / 1000} s`)),
      deadlineMs,
    );
    waiting.set(id, { resolve, reject });
    signal.addEventListener("abort", onAbort, { once: true });
    write({ id, method, params });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    }
  }

  return {
    request,
    notify: (method, params) => write({ method, params }),
    pending: () => waiting.size,
    end(failure) {
      ended ??= failure;
      for (const { reject } of waiting.values()) reject(failure);
      waiting.clear();
    },
  };
}

function messageOf(line: string): RpcMessage | undefined {
  try {
    const message = JSON.parse(line) as RpcMessage & { jsonrpc?: unknown };
    return message?.jsonrpc === "2.0" ? message : undefined;
  } catch {
    return undefined;
  }
}

interface LineReader {
  stream: Readable;
  /** Of one line, in characters. */
  cap: number;
  onLine(line: string): void;
  /** A line was longer than the cap. It is left out. */
  onOverflow(): void;
}

/** Reads a stream by lines. What stands behind the last line break is no line. */
function readLines({ stream, cap, onLine, onOverflow }: LineReader): void {
  let parts: string[] = [];
  let length = 0;
  stream.setEncoding("utf8");
  stream.on("data", (data: string) => {
    const lines = data.split("\n");
    for (const [at, part] of lines.entries()) {
      parts.push(part);
      length += part.length;
      if (length > cap) {
        parts = [];
        length = 0;
        onOverflow();
      }
      if (at === lines.length - 1) break;
      const line = parts.join("").trim();
      parts = [];
      length = 0;
      if (line !== "") onLine(line);
    }
  });
  stream.on("error", () => {});
}
