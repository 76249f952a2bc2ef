import { type Readable, pipeline } from "node:stream";
import { messageOf } from "@memslot/core";
import type { McpServerFactory } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { messageLines } from "./message-lines.ts";
import { takeStdout } from "./protocol-stdout.ts";

const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;

export interface ServeStdioOptions {
  factory: McpServerFactory;
  stdin: Readable;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
  notice: (line: string) => void;
  /** Ends the connection; requests that are running are aborted. */
  signal: AbortSignal;
}

/** Serves one client on stdin and stdout. Resolves when the client has gone or `signal` was aborted. */
export async function serveOverStdio(options: ServeStdioOptions): Promise<void> {
  const { notice, signal } = options;
  const { frames, giveBack } = takeStdout(options.stdout, options.stderr);
  try {
    const lines = messageLines(MAX_MESSAGE_BYTES, () =>
      notice(`a message of more than ${MAX_MESSAGE_BYTES / 1024 / 1024} MiB was left out`),
    );
    // The end of stdin ends `lines` and an error closes them: the transport sees both.
    pipeline(options.stdin, lines, () => undefined);
    const transport = new StdioServerTransport(lines, frames, { maxBufferSize: 2 * MAX_MESSAGE_BYTES });
    const handle = serveStdio(options.factory, { transport, onerror: (error) => notice(describe(error)) });
    await new Promise<void>((resolve) => {
      const { onclose } = transport;
      // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport is no event target
      transport.onclose = () => {
        onclose?.();
        resolve();
      };
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await handle.close();
  } finally {
    giveBack();
  }
}

function describe(error: Error): string {
  if ("issues" in error) return "a message was left out: it is no JSON-RPC 2.0 message";
  const code = "code" in error ? error.code : undefined;
  if (code === "EPIPE") return "the client reads no longer";
  return `MCP: ${messageOf(error).slice(0, 300)}`;
}
