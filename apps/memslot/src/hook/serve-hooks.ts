import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { type Server, type Socket, connect, createServer } from "node:net";
import path from "node:path";
import type { HookRequest } from "../warm-hook.ts";

/** One hook that a server handles. */
export interface ServedHook extends Pick<HookRequest, "call" | "cwd" | "env"> {
  readonly input: Buffer;
  /** Milliseconds since the process of the hook started. */
  readonly runningMs: () => number;
  /** Aborts when the process of the hook is gone. */
  readonly signal: AbortSignal;
}

interface ServeHooksOptions {
  readonly stateDir: string;
  /** From `serverKey`. */
  readonly key: string;
  /** The answer, or undefined if the hook must handle the event itself. Called for one hook at a time. */
  readonly answer: (hook: ServedHook) => Promise<string | undefined>;
}

/** Further connections are closed, and their hooks do without the server. */
const maxConnections = 8;
const maxHeaderBytes = 1024 * 1024;
/** How long a hook may take to send its input, and how long a closing server waits for running hooks. */
const patienceMs = 5000;
/** A socket that nothing listens at is removed if it is older. */
const staleMs = 10_000;
/** Longer paths of sockets are cut off by some systems. */
const maxPathBytes = 100;

/**
 * Answers hooks of this user at a socket in the state folder. Resolves to a function that ends it after the running hooks.
 * Without a socket, if the folder cannot be used, hooks do their work themselves.
 */
export async function serveHooks({ stateDir, key, answer }: ServeHooksOptions): Promise<() => Promise<void>> {
  // Imported late, so that the build keeps it one small file.
  const { coldReply, isOwn, maxInputBytes, socketFolder, socketPrefix } = await import("../warm-hook.ts");
  const folder = socketFolder(stateDir);
  const file = path.join(folder, `${socketPrefix(key)}${randomBytes(4).toString("hex")}.sock`);
  const running = new Set<Socket>();
  let last: Promise<unknown> = Promise.resolve();
  const server = createServer((socket) => {
    running.add(socket);
    socket.once("close", () => running.delete(socket));
    socket.on("error", () => undefined); // Its end follows.
    const closed = new AbortController();
    socket.once("close", () => closed.abort());
    socket.write(`${key}\n`);
    receive(socket, maxInputBytes, (request, input) => {
      const { startedAtMs, ...rest } = request;
      const hook = { ...rest, input, runningMs: () => Date.now() - startedAtMs, signal: closed.signal };
      last = last.then(async () => {
        if (closed.signal.aborted) return;
        const text = await answer(hook).catch(() => undefined);
        socket.end(text === undefined ? coldReply : `${Buffer.byteLength(text)}\n${text}`);
      });
    });
  });
  server.maxConnections = maxConnections;
  if (process.platform === "win32" || Buffer.byteLength(file) > maxPathBytes) return async () => undefined;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { uid, mode } = statSync(stateDir);
    if (!isOwn(folder, "isDirectory") || uid !== process.getuid?.() || (mode & 0o022) !== 0)
      return async () => undefined;
    await removeStale(folder);
    await listen(server, file);
    chmodSync(file, 0o600);
  } catch {
    // The state folder is read-only, or its file system has no sockets.
  }
  return async () => {
    const done = new Promise<void>((resolve) => server.close(() => resolve()));
    const late = setTimeout(() => running.forEach((socket) => socket.destroy()), patienceMs);
    // Nothing follows from those that have not sent an event.
    for (const socket of running) if (socket.bytesRead === 0) socket.destroy();
    await done;
    clearTimeout(late);
  };
}

function receive(socket: Socket, maxBytes: number, onRequest: (request: HookRequest, input: Buffer) => void): void {
  const parts: Buffer[] = [];
  let length = 0;
  let request: HookRequest | undefined;
  const slow = setTimeout(() => socket.destroy(), patienceMs);
  socket.once("close", () => clearTimeout(slow));
  socket.on("data", (part) => {
    parts.push(part);
    length += part.length;
    if (request === undefined && part.includes(10)) {
      const bytes = Buffer.concat(parts.splice(0));
      const end = bytes.indexOf(10);
      request = requestIn(bytes.subarray(0, end));
      if (request === undefined || request.length > maxBytes) return void socket.destroy();
      parts.push(bytes.subarray(end + 1));
      length = bytes.length - end - 1;
    }
    if (length > (request?.length ?? maxHeaderBytes)) return void socket.destroy();
    if (length !== request?.length) return undefined;
    clearTimeout(slow);
    socket.removeAllListeners("data").resume();
    return onRequest(request, Buffer.concat(parts));
  });
}

function requestIn(bytes: Buffer): HookRequest | undefined {
  try {
    const request = JSON.parse(bytes.toString("utf8")) as Partial<HookRequest>;
    const { call, cwd, env, startedAtMs, length } = request;
    const fits = typeof call?.client === "string" && typeof cwd === "string" && typeof env === "object";
    return fits && Number.isFinite(startedAtMs) && Number.isInteger(length) ? (request as HookRequest) : undefined;
  } catch {
    return undefined; // It is no request of this version.
  }
}

async function listen(server: Server, file: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(file, () => resolve());
  });
}

/** Removes the sockets of servers that were killed. */
async function removeStale(folder: string): Promise<void> {
  for (const name of readdirSync(folder)) {
    const file = path.join(folder, name);
    const age = Date.now() - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > staleMs && (await isRefused(file))) rmSync(file, { force: true });
  }
}

async function isRefused(file: string): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = connect(file, () => {
      socket.destroy();
      resolve(false);
    });
    socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code === "ECONNREFUSED"));
  });
}
