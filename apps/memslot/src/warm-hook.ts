import { lstatSync, readFileSync, readdirSync } from "node:fs";
import { type Socket, connect } from "node:net";
import path from "node:path";
import { Readable } from "node:stream";

// `memslot hook` runs this before it loads anything else: import no module of memslot here.

/** In dist, the file is at the same depth. */
const packageFile = new URL("../package.json", import.meta.url);

/** The options of a hook, as `memslot connect` writes them. */
export interface HookCall {
  readonly client: string;
  readonly workspace?: string;
  readonly config?: string;
  readonly agent?: string;
  readonly home?: string;
  readonly recall?: string;
  readonly readOnly?: boolean;
}

/** What a hook sends to the server, before its input. */
export interface HookRequest {
  readonly call: HookCall;
  readonly cwd: string;
  /** The variables of `handedEnvironment` only. */
  readonly env: NodeJS.ProcessEnv;
  /** When the process of the hook started, in milliseconds since 1970. */
  readonly startedAtMs: number;
  /** Bytes of the input. */
  readonly length: number;
}

/** Longer input is handled without a server. */
export const maxInputBytes: number = 16 * 1024 * 1024;
export const coldReply = "cold\n";

const usualDeadlineMs = 5000;
/** How much of the deadline a server has to accept, and the most: a stopped one never does. */
const greetingPart = 0.2;
const maxGreetingMs = 3000;
const maxServers = 4;

/** Variables that a process reads by itself, so that a server has its own values of them. */
export const processVariables: readonly string[] = [
  "TZ",
  "MEMSLOT_DEBUG",
  "NODE_EXTRA_CA_CERTS",
  "NODE_USE_ENV_PROXY",
  ...["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"].flatMap((name) => [name, name.toLowerCase()]),
];

/** Where memslot and the agents keep their files. */
const placeVariables = [
  "HOME",
  "USERPROFILE",
  "APPDATA",
  "XDG_CONFIG_HOME",
  "XDG_DATA_HOME",
  "CLAUDE_CONFIG_DIR",
  "CODEX_HOME",
  "COPILOT_HOME",
  "GEMINI_CLI_HOME",
  "QWEN_HOME",
  "QWEN_RUNTIME_DIR",
  "MEMSLOT_HOME",
  "MEMSLOT_CONFIG",
  "MEMSLOT_WORKSPACE",
  "MEMSLOT_HOOK_DEADLINE_MS",
];

/** The variables that a hook hands to a server. Keys and everything else the server has from its own environment. */
export function handedEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries([...placeVariables, ...processVariables].map((name) => [name, env[name]]));
}

/** What a hook and the server that answers it must have in common; undefined if a path is relative. */
export function serverKey({ workspace = "", config = "", agent = "" }: Partial<HookCall>): string | undefined {
  if ([workspace, config].some((each) => each !== "" && !path.isAbsolute(each))) return undefined;
  const { version } = JSON.parse(readFileSync(packageFile, "utf8")) as { version: string };
  return JSON.stringify([version, packageFile.href, process.version, workspace, config, agent]);
}

export function socketFolder(stateDir: string): string {
  return path.join(stateDir, "run");
}

/** The beginning of the names of sockets for a key. */
export function socketPrefix(key: string): string {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(key)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return `${hash.toString(16).padStart(8, "0")}-`;
}

/** Whether a folder or socket belongs to this user and no other user can use it. Links are not followed. */
export function isOwn(file: string, kind: "isDirectory" | "isSocket"): boolean {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  return stats?.[kind]() === true && stats.uid === process.getuid?.() && (stats.mode & 0o077) === 0;
}

/** What a server answered; without an answer, what the hook needs to handle the event itself. */
export interface Asked {
  readonly answer?: string;
  readonly input?: Buffer;
  /** The server ended while it handled the event. */
  readonly again?: boolean;
}

/** The process of a hook, as far as it matters here. */
export interface HookProcess {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: AsyncIterable<Buffer | string>;
  readonly runningMs: () => number;
  /** The state folder; undefined if another user can write in it. */
  readonly stateDirOf: (env: NodeJS.ProcessEnv) => string | undefined;
}

/**
 * Answers this process, which is a hook, through a running MCP server of the same user, version, workspace and
 * configuration. False if there is none or it does not answer: then the command goes on with the same input.
 */
export async function isAnsweredByServer(stateDirOf: HookProcess["stateDirOf"]): Promise<boolean> {
  const { argv, env, stdin, stdout } = process;
  const runningMs = (): number => performance.now();
  const asked = await askServer(argv.slice(3), { cwd: process.cwd(), env, stdin, runningMs, stateDirOf });
  if (asked.answer === undefined) {
    if (asked.input) Object.defineProperty(process, "stdin", { value: Readable.from([asked.input]) });
    if (asked.again === true) argv.push("--again");
    return false;
  }
  stdout.on("error", () => undefined); // The agent no longer reads.
  if (asked.answer !== "") stdout.write(asked.answer);
  return true;
}

/** Asks the servers of a hook in turn, with the words after `memslot hook`. Reads stdin only if one of them accepts. */
export async function askServer(words: readonly string[], hook: HookProcess): Promise<Asked> {
  const { cwd, env, runningMs } = hook;
  const call = readWords(words);
  const key = call && serverKey(call);
  if (process.platform === "win32" || call === undefined || key === undefined) return {};
  const named = Number(env["MEMSLOT_HOOK_DEADLINE_MS"]);
  const limitMs = named > 0 ? named : usualDeadlineMs;
  const stateDir = hook.stateDirOf(call.home === undefined ? env : { ...env, MEMSLOT_HOME: call.home });
  const socket =
    stateDir === undefined
      ? undefined
      : await firstServer(stateDir, key, Math.min(limitMs * greetingPart, maxGreetingMs));
  if (socket === undefined) return {};
  const parts: Buffer[] = [];
  const { promise: late, resolve: setLate } = Promise.withResolvers<void>();
  const timer = setTimeout(
    () => {
      setLate();
      socket.destroy();
    },
    Math.max(1, limitMs - runningMs()),
  );
  try {
    await Promise.race([readAll(hook.stdin, parts), late]);
    const input = Buffer.concat(parts);
    if (socket.destroyed || input.length > maxInputBytes) return { input };
    const request = {
      call,
      cwd,
      env: handedEnvironment(env),
      startedAtMs: Date.now() - runningMs(),
      length: input.length,
    };
    const reply = answerOf(await exchange(socket, request satisfies HookRequest, input));
    const isLate = runningMs() >= limitMs;
    return reply === undefined ? { input, again: !isLate } : reply === "cold" ? { input } : { answer: reply.answer };
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

const optionNames = ["--workspace", "--config", "--agent", "--home", "--recall"];

/** Undefined for words in another form: commander reads those. */
function readWords([client = "", ...words]: readonly string[]): HookCall | undefined {
  if (!/^[a-z][a-z-]*$/u.test(client)) return undefined;
  const call: Record<string, unknown> = { client };
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    if (word === "--read-only") call["readOnly"] = true;
    else {
      const value = words[++at];
      if (!optionNames.includes(word) || value === undefined || value === "" || value.startsWith("-")) return undefined;
      call[word.slice(2)] = value;
    }
  }
  return call as unknown as HookCall;
}

async function firstServer(stateDir: string, key: string, forMs: number): Promise<Socket | undefined> {
  const folder = socketFolder(stateDir);
  if (!isOwn(folder, "isDirectory")) return undefined;
  const names = readdirSync(folder).filter((name) => name.startsWith(socketPrefix(key)));
  const endsAtMs = performance.now() + forMs;
  let tries = 0;
  for (const file of names.map((name) => path.join(folder, name))) {
    if (!isOwn(file, "isSocket")) continue;
    const leftMs = endsAtMs - performance.now();
    if (tries++ >= maxServers || leftMs <= 0) return undefined;
    const socket = await greetedSocket(file, `${key}\n`, leftMs);
    if (socket !== undefined) return socket;
  }
  return undefined;
}

/** Undefined without the right greeting: the server is gone, stopped, or another one. */
async function greetedSocket(file: string, greeting: string, leftMs: number): Promise<Socket | undefined> {
  const socket = connect(file);
  const timer = setTimeout(() => socket.destroy(), leftMs);
  const text = await received(socket, Buffer.byteLength(greeting));
  clearTimeout(timer);
  if (text.toString("utf8") === greeting) return socket;
  socket.destroy();
  return undefined;
}

async function exchange(socket: Socket, request: HookRequest, input: Buffer): Promise<Buffer> {
  socket.write(`${JSON.stringify(request)}\n`);
  socket.write(input);
  return await received(socket);
}

/** The answer in a reply; undefined if it is not whole. */
function answerOf(reply: Buffer): "cold" | { answer: string } | undefined {
  const text = reply.toString("utf8");
  if (text === coldReply) return "cold";
  const [, length, answer] = /^(\d{1,9})\n([^]*)$/u.exec(text) ?? [];
  return answer !== undefined && Buffer.byteLength(answer) === Number(length) ? { answer } : undefined;
}

/** What a socket sends: until so many bytes have arrived, or until it ends. */
async function received(socket: Socket, enoughBytes = Number.POSITIVE_INFINITY): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  const enough = new Promise<void>((resolve) => {
    socket.on("data", (part) => {
      parts.push(part);
      length += part.length;
      if (length > maxInputBytes) socket.destroy();
      if (length >= enoughBytes) resolve();
    });
  });
  await Promise.race([enough, ended(socket)]);
  socket.removeAllListeners("data");
  return Buffer.concat(parts);
}

async function ended(socket: Socket): Promise<void> {
  socket.on("error", () => undefined); // Its end follows.
  if (!socket.destroyed) await new Promise<void>((resolve) => socket.once("close", () => resolve()));
}

async function readAll(stdin: HookProcess["stdin"], parts: Buffer[]): Promise<void> {
  let length = 0;
  for await (const part of stdin) {
    const bytes = Buffer.from(part);
    parts.push(bytes);
    length += bytes.length;
    if (length > maxInputBytes) break;
  }
}
