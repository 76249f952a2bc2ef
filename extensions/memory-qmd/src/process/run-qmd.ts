import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { join } from "node:path";
import type { Duplex, Readable, Writable } from "node:stream";
import { childEnvironment, networkVariables } from "@memslot/core/providers";
import { processScope } from "@memslot/core/process-mark";
import { failureOfEnd, type ProcessEnd, QmdFailure } from "../failures.ts";
import type { GuardSettings } from "./qmd-guard.ts";

/** Durations in milliseconds. */
export const defaultLimits = {
  initializeMs: 5000,
  statusMs: 5000,
  updateBaseMs: 30_000,
  updatePerFileMs: 10,
  updateGraceMs: 60_000,
  stopMs: 2000,
  killMs: 3000,
  /** Pauses before the server is started again: after the first failure, the second, and so on. */
  restartMs: [0, 1000, 5000, 30_000, 300_000] as readonly number[],
  lockWaitMs: 120_000,
};

export type QmdLimits = typeof defaultLimits;

export type HostEnvironment = Readonly<Record<string, string | undefined>>;

export interface StartOptions {
  argv: readonly string[];
  environment: Readonly<Record<string, string>>;
  folder: string;
  graceMs: number;
  isBackground?: boolean | undefined;
  marker?: string | undefined;
}

/** How long the last output is awaited after the end: a process that left the group may hold the pipes forever. */
const lastOutputMs = 250;
const keptStderr = 8 * 1024;
const isWindows = process.platform === "win32";

/** A qmd in a process group of its own. It ends with this process and does not keep this process alive. */
export class QmdProcess {
  readonly pid: number | undefined;
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Resolves with the exit code. Never rejects. */
  readonly ended: Promise<number | null>;
  hasEnded = false;
  stderr = "";
  readonly #options: StartOptions;
  #end: ProcessEnd = { code: null, signal: null };
  #startError: NodeJS.ErrnoException | undefined;

  constructor(options: StartOptions) {
    const { argv, environment, folder, graceMs, isBackground, marker } = options;
    const [command = "", ...args] = argv;
    const settings: GuardSettings = { graceMs, marker, scope: processScope() };
    const child = spawn(command, args, {
      cwd: folder,
      env: {
        ...environment,
        NODE_OPTIONS: `--import=${import.meta.resolve("#qmd-guard")}`,
        MEMSLOT_QMD_GUARD: JSON.stringify(settings),
      },
      stdio: ["pipe", "pipe", "pipe", "pipe"],
      // A signal to the group of this process, as Ctrl+C in a terminal, must not reach it.
      detached: !isWindows,
      windowsHide: true,
    });
    const pipes = child.stdio as unknown as [Writable, Readable, Readable, Duplex];
    for (const handle of [child, ...pipes] as { unref?: () => void }[]) handle.unref?.();
    // The end of the process reports what a broken pipe would.
    for (const pipe of pipes) pipe.on("error", () => {});
    [this.stdin, this.stdout] = pipes;
    pipes[2].setEncoding("utf8").on("data", (text: string) => (this.stderr = (this.stderr + text).slice(-keptStderr)));
    this.pid = child.pid;
    this.#options = options;
    if (isBackground === true && child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);

    const { promise, resolve } = Promise.withResolvers<number | null>();
    this.ended = promise;
    const finish = (): void => {
      this.hasEnded = true;
      for (const pipe of pipes) pipe.destroy();
      resolve(this.#end.code);
    };
    child.once("error", (error) => {
      if (child.pid !== undefined) return; // A signal could not be sent.
      this.#startError = error;
      finish();
    });
    child.once("exit", (code, signal) => {
      this.#end = { code, signal };
      this.#signalGroup("SIGKILL");
      child.once("close", finish);
      setTimeout(finish, lastOutputMs);
    });
  }

  failure(what: string): QmdFailure {
    const { argv, folder } = this.#options;
    if (this.#startError === undefined) return failureOfEnd(what, this.#end, this.stderr);
    const message = `${argv[0]} cannot be started: ${this.#startError.message}`;
    if (!existsSync(folder)) return new QmdFailure("no_space", `the folder ${folder} is missing: ${message}`);
    const isMissing = ["ENOENT", "EACCES", "ENOTDIR", "ENOEXEC"].includes(this.#startError.code ?? "");
    return new QmdFailure(isMissing ? "not_installed" : "qmd_error", message);
  }

  /** Sends SIGTERM to its process group and SIGKILL after the grace; resolves when it has ended. */
  async stop(): Promise<void> {
    this.#signalGroup("SIGTERM");
    const late = setTimeout(() => this.#signalGroup("SIGKILL"), this.#options.graceMs).unref();
    await this.ended;
    clearTimeout(late);
  }

  #signalGroup(signal: "SIGTERM" | "SIGKILL"): void {
    if (this.pid === undefined) return;
    try {
      if (!isWindows) process.kill(-this.pid, signal);
      // Windows has no signal that asks; `/T` ends the processes that it started too.
      else if (signal === "SIGKILL") spawn("taskkill", ["/PID", `${this.pid}`, "/T", "/F"], { windowsHide: true });
    } catch {}
  }
}

export interface RunOptions extends StartOptions {
  what: string;
  deadlineMs: number;
  signal: AbortSignal;
}

/** Largest output of a command and of one answer, in bytes. */
export const maxOutput: number = 4 * 1024 * 1024;

/** Runs a command to its end. Throws `QmdFailure` unless it ends with 0 in time, and the reason of an abort. */
export async function runQmd(options: RunOptions): Promise<{ stdout: string; stderr: string }> {
  const { what, deadlineMs, signal } = options;
  signal.throwIfAborted();
  const child = new QmdProcess(options);
  child.stdin.end();
  let stdout = "";
  let stoppedBy: QmdFailure | undefined;
  const stop = (failure?: QmdFailure): void => {
    stoppedBy ??= failure;
    void child.stop();
  };
  child.stdout.setEncoding("utf8").on("data", (part: string) => {
    stdout += part;
    if (stdout.length > maxOutput)
      stop(new QmdFailure("invalid_output", `${what} printed more than ${maxOutput} bytes`));
  });
  const timer = setTimeout(
    () => stop(new QmdFailure("timeout", `${what} did not finish within ${deadlineMs / 1000} s`)),
    deadlineMs,
  );
  // Keeps this process alive for the caller, but not for a command that was aborted.
  const hold = setInterval(() => {}, deadlineMs);
  const onAbort = (): void => {
    clearInterval(hold);
    clearTimeout(timer);
    stop();
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const code = await child.ended;
    signal.throwIfAborted();
    if (stoppedBy !== undefined) throw stoppedBy;
    if (code !== 0) throw child.failure(what);
    return { stdout, stderr: child.stderr };
  } finally {
    clearInterval(hold);
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

/** The kinds of work, and how long qmd waits for a locked index in each. */
const busyTimeoutMs = { query: 2000, update: 30_000, embed: 30_000 };

/** The environment of qmd: few host variables, so that no key reaches it. Some `QMD_*` variables run commands. */
export function qmdEnvironment(options: {
  environment: HostEnvironment;
  folder: string;
  mode: "lexical" | "semantic";
  work: keyof typeof busyTimeoutMs;
}): Record<string, string> {
  const { environment, folder, mode, work } = options;
  return {
    ...childEnvironment(environment, work === "embed" ? [...networkVariables, "HF_ENDPOINT", "HF_TOKEN"] : []),
    INDEX_PATH: join(folder, "index.sqlite"),
    QMD_CONFIG_DIR: folder,
    // qmd prefers it to the working directory.
    PWD: folder,
    NO_COLOR: "1",
    NODE_COMPILE_CACHE: join(folder, "cc"),
    LLAMA_LOG_LEVEL: "error",
    GGML_LOG_LEVEL: "error",
    GGML_BACKEND_SILENT: "1",
    QMD_SQLITE_BUSY_TIMEOUT: String(busyTimeoutMs[work]),
    // With CI qmd refuses a model at once instead of fetching it.
    ...(mode === "lexical" && work !== "embed" ? { CI: "1" } : {}),
  };
}
