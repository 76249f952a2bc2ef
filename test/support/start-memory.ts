import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type {
  IndexCheck,
  Memory,
  MemoryProviderStatus,
  MemorySearchOptions,
  MemorySearchResult,
  SearchReport,
  SyncReport,
} from "memslot";
import { linesOf } from "./file-faults.ts";

/** How a process with a memory in it is started. */
export interface MemoryProcessOptions {
  stateDir: string;
  workspaceDir: string;
  agentId?: string;
  memorySearch?: Record<string, unknown>;
  /** Beside `agents.defaults`: plugins, endpoints, other agents. */
  config?: Record<string, unknown>;
  /** The model of a provider that makes vectors from words alone; left out: no provider. */
  model?: string;
  /** Texts that it takes in one request; one request is on its way at a time. */
  batchItems?: number;
  /** Milliseconds that it takes for each request. */
  delayMs?: number;
  /** A file that gets each text that was embedded before its vector is handed out, see `embeddedTexts`. */
  embedLog?: string;
  readOnly?: boolean;
}

/** What it says: the answer to a call, or a notice for the user. */
export type Answer =
  | { id: number; result: unknown }
  | { id: number; error: { message: string; code?: string } }
  | { notice: string };

type SyncOptions = NonNullable<Parameters<Memory["sync"]>[0]>;

export interface Found {
  results: MemorySearchResult[];
  report: SearchReport;
}

const entry = fileURLToPath(new URL("memory-process.ts", import.meta.url));
/** Each process starts from the sources: only the first has to compile them. */
const compileCache = fileURLToPath(new URL("../../node_modules/.cache/compile", import.meta.url));

/** How a call ended: with its result, with the error of the memory, or with the end of the process. */
export type Ending<Result> =
  | { result: Result; error?: undefined; ended?: undefined }
  | { error: { message: string; code?: string }; result?: undefined; ended?: undefined }
  | { ended: number | string; result?: undefined; error?: undefined };

/** A memory in a process of its own. */
export interface RemoteMemory {
  readonly pid: number;
  open(): Promise<Ending<MemoryProviderStatus>>;
  sync(options?: Pick<SyncOptions, "reason" | "force" | "wait">): Promise<Ending<SyncReport>>;
  search(query: string, options?: Omit<MemorySearchOptions, "onDebug" | "signal">): Promise<Ending<Found>>;
  status(): Promise<Ending<MemoryProviderStatus>>;
  check(options?: { fix?: boolean }): Promise<Ending<IndexCheck>>;
  /** Opens so many descriptors that no more than these are left; without a number closes them again. */
  hold(left?: number): Promise<Ending<null>>;
  close(): Promise<Ending<null>>;
  /** Notices for the user. */
  readonly notices: readonly string[];
  stderr(): string;
  kill(): void;
  /** Exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>;
}

/**
 * Starts it. `limits` go before the process, as `ulimit -n 40`; `env` is added to that of this process. The caller
 * ends it: `close`, which lets it end by itself, or `kill`.
 */
export function startMemory(
  options: MemoryProcessOptions,
  { env = {}, limits }: { env?: NodeJS.ProcessEnv; limits?: string } = {},
): RemoteMemory {
  const command = [process.execPath, "--conditions=@memslot/source", "--no-warnings", entry, JSON.stringify(options)];
  const [program = "", ...args] =
    limits === undefined ? command : ["sh", "-c", `${limits} && exec "$@"`, "sh", ...command];
  const child = spawn(program, args, {
    env: { NODE_COMPILE_CACHE: compileCache, ...process.env, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const waiting = new Map<number, (ending: Ending<never>) => void>();
  const notices: string[] = [];
  let lastId = 0;
  let stderr = "";
  let text = "";
  let over: number | string | undefined;
  child.stdout.setEncoding("utf8").on("data", (data: string) => {
    text += data;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
      const answer = JSON.parse(text.slice(0, end)) as Answer;
      text = text.slice(end + 1);
      if ("notice" in answer) notices.push(answer.notice);
      else
        settle(answer.id, ("error" in answer ? { error: answer.error } : { result: answer.result }) as Ending<never>);
    }
  });
  child.stderr.setEncoding("utf8").on("data", (data: string) => (stderr += data));
  // A process that was killed does not read what is written to it.
  child.stdin.on("error", () => undefined);
  const ended = once(child, "close").then(([code, signal]) => {
    over = (code ?? signal) as number | string;
    for (const id of waiting.keys()) settle(id, { ended: over });
    return over;
  });

  function settle(id: number, ending: Ending<never>): void {
    waiting.get(id)?.(ending);
    waiting.delete(id);
  }

  function call<Result>(name: string, ...args: readonly unknown[]): Promise<Ending<Result>> {
    if (over !== undefined) return Promise.resolve({ ended: over });
    const id = ++lastId;
    return new Promise((resolve) => {
      waiting.set(id, resolve as (ending: Ending<never>) => void);
      child.stdin.write(`${JSON.stringify({ id, name, args })}\n`);
    });
  }

  return {
    pid: child.pid ?? 0,
    open: () => call("open"),
    sync: (given = {}) => call("sync", given),
    search: (query, given = {}) => call("search", query, given),
    status: () => call("status"),
    check: (given = {}) => call("check", given),
    hold: (left) => call("hold", left),
    async close() {
      const ending = await call<null>("close");
      child.stdin.end();
      await ended;
      return ending;
    },
    notices,
    stderr: () => stderr,
    kill: () => void child.kill("SIGKILL"),
    ended,
  };
}

/** The texts that processes with this `embedLog` have embedded, without one that a process died in. */
export function embeddedTexts(log: string): string[] {
  return linesOf(log).filter((line) => /^".*"$/u.test(line));
}

/** The result of a call that has to succeed. */
export function resultOf<Result>(ending: Ending<Result>): Result {
  if (ending.error) throw new Error(`the call failed: ${ending.error.code} ${ending.error.message}`);
  if (ending.ended !== undefined) throw new Error(`the process ended: ${ending.ended}`);
  return ending.result;
}
