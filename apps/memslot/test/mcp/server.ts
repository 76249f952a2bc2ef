import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { PassThrough, type Readable, type Writable } from "node:stream";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { onTestFinished } from "vitest";
import { runProgram } from "../../src/program.ts";
import { createOutput } from "../../src/terminal/output.ts";
import { type Sandbox, command } from "../run-memslot.ts";

const PATIENCE_MS = 300_000;

export interface Frame {
  jsonrpc: string;
  id?: number | string | null;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: unknown };
}

/** What a server ended with; `signal` is null where it ended by itself. */
interface End {
  exitCode: number | null;
  signal: NodeJS.Signals | null;
}

/** A running `memslot mcp`, and its stdin and stdout as they are. */
export interface RawServer {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** All that came on stdout so far, in order. A line that is not JSON is kept as text. */
  readonly lines: (Frame | string)[];
  readonly stderr: () => string;
  send(frame: object): void;
  /** Sends a request and returns its answer. */
  request(method: string, params?: object): Promise<Frame>;
  /** The answer to a request that was sent by hand. */
  answerTo(id: number): Promise<Frame>;
  /** Resolves when stderr contains `text`. */
  saw(text: string): Promise<void>;
  ended(): Promise<End>;
}

export interface ServerProcess extends RawServer {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
}

type Start<Server extends RawServer = RawServer> = (
  sandbox: Sandbox,
  args?: readonly string[],
  env?: NodeJS.ProcessEnv,
  cliArgs?: readonly string[],
) => Server;

/** Runs the server in this process. It is ended after the test. */
export const startServer: Start = (sandbox, args = [], more = {}, cliArgs = served(sandbox)) => {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const env = { ...sandbox.env, ...more };
  const output = createOutput(stdout as unknown as NodeJS.WriteStream, stderr as unknown as NodeJS.WriteStream, env);
  const ending = new AbortController();
  // Here a plugin of a test writes what it does: see `watchedBackend`.
  Object.assign(globalThis, { memslotTestSays: (text: string) => stderr.write(text) });
  const ended = runProgram([...cliArgs, ...args], { cwd: sandbox.cwd, env, output, stdin, signal: ending.signal }).then(
    (exitCode): End => {
      stdout.end();
      stderr.end();
      return { exitCode, signal: null };
    },
  );
  onTestFinished(async () => {
    ending.abort();
    stdout.resume();
    await ended;
    Reflect.deleteProperty(globalThis, "memslotTestSays");
  });
  return talkTo({ stdin, stdout, stderr }, ended);
};

/** Runs the server as a client does, in a process of its own. It is killed after the test. */
export const startServerProcess: Start<ServerProcess> = (sandbox, args = [], env = {}, cliArgs = served(sandbox)) =>
  launchServer(sandbox, [...command, ...cliArgs, ...args], env);

/** The same with another command line. */
export function launchServer(sandbox: Sandbox, line: readonly string[], env: NodeJS.ProcessEnv = {}): ServerProcess {
  const [program = "", ...words] = line;
  const child = spawn(program, words, {
    cwd: sandbox.cwd,
    env: { ...sandbox.env, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const ended = once(child, "close").then((): End => ({ exitCode: child.exitCode, signal: child.signalCode }));
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
    await ended;
  });
  return { ...talkTo(child, ended), child };
}

function served({ workspace }: Sandbox): string[] {
  return ["mcp", "--workspace", workspace];
}

function talkTo(
  { stdin, stdout, stderr: errors }: { stdin: Writable; stdout: Readable; stderr: Readable },
  ended: Promise<End>,
): RawServer {
  let stderr = "";
  let nextId = 1000;
  let end: End | undefined;
  const lines: (Frame | string)[] = [];
  const watchers = new Set<() => void>();
  const changed = (): void => watchers.forEach((watcher) => watcher());
  errors.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    changed();
  });
  createInterface({ input: stdout }).on("line", (line) => {
    lines.push(frameOf(line));
    changed();
  });
  // A server that has ended is seen by its end.
  stdin.on("error", () => undefined);
  void ended.then((given) => {
    end = given;
    changed();
  });

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
        } else if (end !== undefined && stdout.readableEnded) fail(`the server ended: ${end.exitCode}`);
      };
      watchers.add(watcher);
      watcher();
    });
  }

  const server: RawServer = {
    stdin,
    stdout,
    lines,
    stderr: () => stderr,
    send: (frame) => void stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...frame })}\n`),
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
    ended: () => ended,
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

/** Greets as a client of that revision does. */
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

export const token = "a-token-of-the-tests-0123456789";

export interface HttpServer<Server extends RawServer = RawServer> {
  readonly server: Server;
  readonly url: URL;
  /** Posts one message, with all that a good client sends; `headers` are laid over it, undefined takes one away. */
  post(message: unknown, headers?: Record<string, string | undefined>, signal?: AbortSignal): Promise<Response>;
}

export async function startHttpServer(
  sandbox: Sandbox,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<HttpServer> {
  return await listening(startServer(sandbox, ["--http", ...args], { MEMSLOT_MCP_TOKEN: token, ...env }));
}

/** An HTTP server, once it can be reached. */
export async function listening<Server extends RawServer>(server: Server): Promise<HttpServer<Server>> {
  await server.saw("the bearer token is");
  const [, address = ""] = /MCP server at (\S+)/u.exec(server.stderr()) ?? [];
  const url = new URL(address);
  return {
    server,
    url,
    post(message, headers = {}, signal) {
      const all: Record<string, string | undefined> = {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      };
      const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
      const body = typeof message === "string" ? message : JSON.stringify(message);
      return fetch(url, { method: "POST", headers: given, body, ...(signal === undefined ? {} : { signal }) });
    },
  };
}

export type Transport = "stdio" | "http";

/** The official client of the newest protocol, with a server in this process. */
export async function connect(sandbox: Sandbox, transport: Transport, args: readonly string[] = []): Promise<Client> {
  const client = new Client(
    { name: "test", version: "1.0.0" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  onTestFinished(() => client.close());
  if (transport === "stdio") {
    const { stdin, stdout } = startServer(sandbox, args);
    await client.connect(new StdioServerTransport(stdout, stdin));
  } else {
    const { url } = await startHttpServer(sandbox, args);
    const headers = { authorization: `Bearer ${token}` };
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  }
  return client;
}
