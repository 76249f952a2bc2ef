import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { onTestFinished } from "vitest";
import { type Sandbox, command } from "../run-memslot.ts";

const PATIENCE_MS = 40_000;

export interface Frame {
  jsonrpc: string;
  id?: number | string | null;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: unknown };
}

/** A running `memslot mcp`, and its stdin and stdout as they are. */
export interface RawServer {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  /** All that came on stdout so far, in order. A line that is no JSON stands there as text. */
  readonly lines: (Frame | string)[];
  readonly stderr: () => string;
  write(text: string | Uint8Array): void;
  send(frame: object): void;
  /** Sends a request and gives its answer. */
  request(method: string, params?: object): Promise<Frame>;
  /** The answer to a request that was sent by hand. */
  answerTo(id: number): Promise<Frame>;
  /** Resolves when stderr holds `text`. */
  saw(text: string): Promise<void>;
  /** What the process ended with; `signal` is null where it ended by itself. */
  ended(): Promise<{ exitCode: number | null; signal: NodeJS.Signals | null }>;
}

export function startServer(
  sandbox: Sandbox,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
  cliArgs: readonly string[] = ["mcp", "--workspace", sandbox.workspace],
  launch: readonly string[] = command,
): RawServer {
  const [program = "", ...fixed] = launch;
  const child = spawn(program, [...fixed, ...cliArgs, ...args], {
    cwd: sandbox.cwd,
    env: { ...sandbox.env, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const closed = once(child, "close");
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
    await closed;
  });
  let stderr = "";
  let nextId = 1000;
  const lines: (Frame | string)[] = [];
  const watchers = new Set<() => void>();
  const changed = (): void => watchers.forEach((watcher) => watcher());
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    changed();
  });
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(frameOf(line));
    changed();
  });
  child.stdin.on("error", () => {
    // The server has gone: the test sees it by its end.
  });
  child.once("close", changed);

  function until<T>(what: string, look: () => T | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        clearTimeout(timer);
        watchers.delete(watcher);
      };
      const fail = (why: string): void => {
        stop();
        reject(new Error(`${what}: ${why}\nstdout: ${JSON.stringify(lines).slice(0, 2000)}\nstderr: ${stderr}`));
      };
      const timer = setTimeout(() => fail(`nothing within ${PATIENCE_MS / 1000} s`), PATIENCE_MS);
      const watcher = (): void => {
        const found = look();
        if (found !== undefined) {
          stop();
          resolve(found);
        } else if (child.exitCode !== null && child.stdout.readableEnded) fail(`the server ended: ${child.exitCode}`);
      };
      watchers.add(watcher);
      watcher();
    });
  }

  const server: RawServer = {
    child,
    lines,
    stderr: () => stderr,
    write: (text) => void child.stdin.write(text),
    send: (frame) => server.write(`${JSON.stringify({ jsonrpc: "2.0", ...frame })}\n`),
    request(method, params = {}) {
      const id = nextId++;
      server.send({ id, method, params });
      return server.answerTo(id);
    },
    answerTo: (id) =>
      until(`the answer to ${id}`, () =>
        lines.find((line): line is Frame => typeof line === "object" && line.id === id && line.method === undefined),
      ),
    saw: async (text) => void (await until(`stderr with "${text}"`, () => stderr.includes(text) || undefined)),
    async ended() {
      await closed;
      return { exitCode: child.exitCode, signal: child.signalCode };
    },
  };
  return server;
}

function frameOf(line: string): Frame | string {
  try {
    return JSON.parse(line) as Frame;
  } catch {
    return line;
  }
}

/** Says hello as a client of that revision does. */
export async function initialize(server: RawServer, protocolVersion = "2025-11-25"): Promise<Frame> {
  const clientInfo = { name: "raw", version: "1.0.0" };
  const answer = await server.request("initialize", { protocolVersion, capabilities: {}, clientInfo });
  server.send({ method: "notifications/initialized" });
  return answer;
}

/** What every request of the 2026-07-28 revision brings. */
export const envelope = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1.0.0" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

export async function callTool(server: RawServer, name: string, args: unknown): Promise<Frame> {
  return server.request("tools/call", { name, arguments: args });
}
