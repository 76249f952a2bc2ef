import { messageOf, withDeadline } from "@memslot/core";
import { createCooldown } from "@memslot/core/host";
import type { CallToolResult, Client, Transport } from "@modelcontextprotocol/client";
import { failureOfWords, QmdFailure } from "../failures.ts";
import { maxOutput, type QmdLimits, QmdProcess, type StartOptions } from "./run-qmd.ts";

const what = "the MCP server of qmd";
const maxTries = 3;

export interface CallLimits {
  deadlineMs: number;
  signal: AbortSignal;
  /** A server that answers too late is not stopped: it loads models, and is faster at the next call. */
  mayBeSlow?: boolean | undefined;
}

interface RunningServer {
  child: QmdProcess;
  client: Client;
}

/** The MCP server of qmd (`qmd mcp`): started at the first call, and again when it has ended. */
export class McpServer {
  readonly #limits: QmdLimits;
  readonly #start: () => StartOptions;
  readonly #rest = createCooldown<QmdFailure>();
  #ending: Promise<unknown> = Promise.resolve();
  #child: QmdProcess | undefined;
  #running: Promise<RunningServer> | undefined;
  #starts = 0;
  #stops = 0;
  #failures = 0;

  constructor(limits: QmdLimits, start: () => StartOptions) {
    this.#limits = limits;
    this.#start = start;
  }

  get pid(): number | undefined {
    return this.#child?.hasEnded === false ? this.#child.pid : undefined;
  }

  get restarts(): number {
    return Math.max(0, this.#starts - 1);
  }

  /**
   * Calls a tool. Repeats a call once after a crash, unless it loads models. Throws `QmdFailure` and the abort reason.
   */
  async call(name: string, input: Record<string, unknown>, limits: CallLimits): Promise<Record<string, unknown>> {
    for (let tries = 1; ; tries++) {
      const stops = this.#stops;
      try {
        return await this.#callOnce(await this.#ready(limits.signal), name, input, limits);
      } catch (error) {
        const hasCrashed = error instanceof QmdFailure && error.reason === "crash";
        // `stop` ends the server under a call, for a change of the configuration.
        const mayRepeat = this.#stops !== stops ? tries < maxTries : tries === 1 && limits.mayBeSlow !== true;
        if (!hasCrashed || !mayRepeat) throw error;
      }
    }
  }

  async #callOnce(
    { child, client }: RunningServer,
    name: string,
    input: Record<string, unknown>,
    { deadlineMs, signal, mayBeSlow }: CallLimits,
  ): Promise<Record<string, unknown>> {
    let result: CallToolResult;
    try {
      result = await client.callTool({ name, arguments: input }, { timeout: deadlineMs, signal });
    } catch (error) {
      signal.throwIfAborted();
      const failure = await failureOfCall(child, error, deadlineMs);
      const isOver = failure.reason === "timeout" ? mayBeSlow !== true : failure.reason !== "qmd_error";
      if (isOver) this.#failed(child, failure);
      throw failure;
    }
    this.#failures = 0;
    if (result.isError === true) throw failureOfWords(`the tool ${name} of qmd`, textOf(result));
    const content = result.structuredContent;
    if (typeof content === "object" && content !== null) return content as Record<string, unknown>;
    throw new QmdFailure("invalid_output", `${what} answered without structured content`);
  }

  /** Stops the server. The next call starts another one at once. */
  async stop(): Promise<void> {
    this.#stops++;
    const child = this.#child;
    this.#forget(child);
    this.#rest.end();
    this.#failures = 0;
    child?.stdin.end();
    if (child !== undefined && !(await isSettledWithin(child.ended, this.#limits.stopMs))) this.#end(child);
    await isSettledWithin(this.#ending, this.#limits.killMs + endExtraMs);
  }

  #end(child: QmdProcess): void {
    this.#ending = Promise.all([this.#ending, child.stop()]);
  }

  async #ready(signal: AbortSignal): Promise<RunningServer> {
    signal.throwIfAborted();
    const rest = this.#rest.current();
    if (rest !== undefined) throw rest.failure;
    if (this.#child?.hasEnded === true) this.#forget(this.#child);
    this.#running ??= this.#open();
    const running = this.#running;
    // An abort of one call does not end the start that others wait for.
    return withDeadline({ what, signals: [signal] }, () => running);
  }

  async #open(): Promise<RunningServer> {
    const { initializeMs } = this.#limits;
    this.#starts++;
    const child = new QmdProcess(this.#start());
    this.#child = child;
    try {
      const sdk = await import("@modelcontextprotocol/client");
      const client = new sdk.Client({ name: "memslot", version: "1" });
      await client.connect(transportOf(child, sdk), { timeout: initializeMs });
      return { child, client };
    } catch (error) {
      const failure = await failureOfCall(child, error, initializeMs);
      this.#failed(child, failure);
      throw failure;
    }
  }

  #failed(child: QmdProcess, failure: QmdFailure): void {
    this.#end(child);
    if (this.#child !== child) return;
    this.#forget(child);
    const { restartMs } = this.#limits;
    this.#rest.start(failure, restartMs[Math.min(this.#failures, restartMs.length - 1)] ?? 0);
    this.#failures++;
  }

  #forget(child: QmdProcess | undefined): void {
    if (this.#child !== child) return;
    this.#child = undefined;
    this.#running = undefined;
  }
}

/** The transport of the MCP client over the pipes of a process. The `stdio` transport of the SDK cannot end a group. */
function transportOf(child: QmdProcess, sdk: typeof import("@modelcontextprotocol/client")): Transport {
  const buffer = new sdk.ReadBuffer({ maxBufferSize: maxOutput });
  const transport: Transport = {
    start() {
      child.stdout.on("data", (chunk: Buffer) => {
        try {
          buffer.append(chunk);
        } catch {
          void child.stop();
        }
        while (readMessage()) {}
      });
      void child.ended.then(() => transport.onclose?.());
      return Promise.resolve();
    },
    send(message) {
      child.stdin.write(sdk.serializeMessage(message));
      return Promise.resolve();
    },
    close: () => child.stop(),
  };

  function readMessage(): boolean {
    try {
      const message = buffer.readMessage();
      if (message === null) return false;
      transport.onmessage?.(message);
    } catch {
      // The line is JSON but no message: a library of qmd wrote it.
    }
    return true;
  }

  return transport;
}

async function failureOfCall(child: QmdProcess, error: unknown, deadlineMs: number): Promise<QmdFailure> {
  const { SdkError, SdkErrorCode } = await import("@modelcontextprotocol/client");
  if (!(error instanceof SdkError))
    return new QmdFailure("qmd_error", `${what} refused a request: ${messageOf(error)}`);
  if (error.code === SdkErrorCode.RequestTimeout)
    return new QmdFailure("timeout", `${what} gave no answer within ${deadlineMs / 1000} s`);
  if (error.code === SdkErrorCode.InvalidResult)
    return new QmdFailure("invalid_output", `${what} gave an answer that is no result: ${messageOf(error)}`);
  await child.ended;
  return child.failure(what);
}

function textOf({ content }: CallToolResult): string {
  return content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}

/** After SIGKILL, for the system to report the end of a process. */
const endExtraMs = 1000;

/** Whether a promise settles in this time. Keeps this process alive meanwhile. */
export async function isSettledWithin(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => (timer = setTimeout(() => resolve(false), milliseconds)));
  const isSettled = await Promise.race([promise.then(() => true), late]);
  clearTimeout(timer);
  return isSettled;
}
