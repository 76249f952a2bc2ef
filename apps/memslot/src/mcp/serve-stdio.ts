import { PassThrough, Writable, pipeline, Transform } from "node:stream";
import { messageOf } from "@memslot/core";
import type { McpServerFactory, Transport } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { type OpenRequests, createOpenRequests } from "./pending-requests.ts";

const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;
/** How long the last answers wait for the reader. */
const UNREAD_MS = 1000;

export interface ServeStdioOptions {
  factory: McpServerFactory;
  stdin: NodeJS.ReadableStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
  notice: (line: string) => void;
  /** Ends the connection after the pending requests. */
  signal: AbortSignal;
}

/** Serves one client on stdin and stdout. At the end of stdin or an abort, finishes within five seconds. */
export async function serveOverStdio(options: ServeStdioOptions): Promise<void> {
  const { notice, signal } = options;
  const { frames, giveBack } = takeStdout(options.stdout, options.stderr);
  try {
    const lines = messageLines(MAX_MESSAGE_BYTES, () =>
      notice(`a message of more than ${MAX_MESSAGE_BYTES / 1024 / 1024} MiB was left out`),
    );
    // The transport must not see the end of stdin before all requests are answered.
    const unended = new PassThrough();
    lines.pipe(unended, { end: false });
    const transport = new StdioServerTransport(unended, frames, { maxBufferSize: 2 * MAX_MESSAGE_BYTES });
    const requests = watchRequests(transport, () =>
      serveStdio(options.factory, { transport, onerror: (error) => notice(describe(error)) }),
    );
    const { handle, open } = requests;
    await new Promise<void>((resolve) => {
      const { onclose } = transport;
      // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport is no event target
      transport.onclose = () => {
        onclose?.();
        resolve();
      };
      const finish = (): void => void open.finished().then(resolve); // never rejects
      pipeline(options.stdin, lines, () => undefined);
      lines.once("close", finish);
      if (signal.aborted) finish();
      signal.addEventListener("abort", finish, { once: true });
    });
    await handle.close();
    if (!(await isRead(frames))) {
      notice("the client reads no longer: answers that it has not read are dropped");
      frames.destroy();
      // As if it had closed the pipe.
      options.stdout.destroy(Object.assign(new Error("the client reads no longer"), { code: "EPIPE" }));
    }
  } finally {
    giveBack();
  }
}

/** Whether all output was read. A client may be gone while another process holds the pipe. */
async function isRead(frames: Writable): Promise<boolean> {
  return await new Promise((resolve) => {
    const late = setTimeout(() => resolve(false), UNREAD_MS);
    frames.once("error", () => undefined); // What is dropped is told of here once more.
    frames.write("", () => {
      clearTimeout(late);
      resolve(true);
    });
  });
}

/** Serves a transport, and tracks pending requests. */
function watchRequests<Handle>(transport: Transport, serve: () => Handle): { handle: Handle; open: OpenRequests } {
  const open = createOpenRequests();
  const send = transport.send.bind(transport);
  transport.send = async (message, sendOptions) => {
    await send(message, sendOptions);
    if ("id" in message && !("method" in message)) open.end(message.id);
  };
  const handle = serve();
  const { onmessage } = transport;
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport is no event target
  transport.onmessage = (message, extra) => {
    if ("method" in message && "id" in message) open.begin(message.id);
    // Cancelled requests get no answer.
    if ("method" in message && message.method === "notifications/cancelled") open.end(message.params?.["requestId"]);
    onmessage?.(message, extra);
  };
  return { handle, open };
}

function describe(error: Error): string {
  if ("issues" in error) return "a message was left out: it is no JSON-RPC 2.0 message";
  const code = "code" in error ? error.code : undefined;
  if (code === "EPIPE") return "the client reads no longer";
  return `MCP: ${messageOf(error).slice(0, 300)}`;
}

const LINE_FEED = 10;

/** Passes on whole lines of at most `maxBytes`; a longer one is dropped without being buffered. */
export function messageLines(maxBytes: number, onTooLong: () => void): Transform {
  let parts: Buffer[] = [];
  let length = 0;
  let leavingOut = false;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      let start = 0;
      for (;;) {
        const end = chunk.indexOf(LINE_FEED, start);
        const part = chunk.subarray(start, end < 0 ? chunk.length : end + 1);
        length += part.length;
        if (length > maxBytes && !leavingOut) {
          leavingOut = true;
          parts = [];
          onTooLong();
        }
        if (!leavingOut) parts.push(part);
        if (end < 0) break;
        if (!leavingOut) this.push(Buffer.concat(parts));
        parts = [];
        length = 0;
        leavingOut = false;
        start = end + 1;
      }
      done();
    },
  });
}

/** Stdout reserved for the protocol. */
interface ProtocolStdout {
  /** Writes to stdout, in order. */
  readonly frames: Writable;
  /** Releases stdout. */
  giveBack(): void;
}

/** Reserves stdout for protocol messages: other output, such as `console.log` of a library, goes to stderr. */
function takeStdout(stdout: NodeJS.WriteStream, stderr: NodeJS.WriteStream): ProtocolStdout {
  const write = stdout.write;
  const frames = new Writable({
    decodeStrings: false,
    write: (chunk: string | Uint8Array, _encoding, done) => void write.call(stdout, chunk, "utf8", done),
  });
  stdout.write = stderr.write.bind(stderr);
  return {
    frames,
    giveBack() {
      stdout.write = write;
    },
  };
}
