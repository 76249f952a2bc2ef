import { type ChildProcess, fork } from "node:child_process";
import { existsSync } from "node:fs";
import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { QmdFailure } from "../../qmd-contract.ts";
import type { FolderTrouble, FromKeeper, ToKeeper } from "./keeper-protocol.ts";

export interface KeptOptions {
  argv: readonly string[];
  environment: Readonly<Record<string, string>>;
  /** Its working directory. */
  folder: string;
  /** Between SIGTERM and SIGKILL, also where this process has ended. */
  graceMs: number;
  /** Whether it is given a standard input to read from. */
  input: boolean;
  /** See `StartOrder`. */
  givesWay?: boolean | undefined;
  lock?: string | undefined;
  marker?: string | undefined;
}

export interface KeptEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** The marker stays: it was killed at its work. */
  isTorn: boolean;
}

/** A command that ends with this process, whatever way that ends. */
export interface KeptProcess {
  /** Null unless `input`. */
  stdin: Writable | null;
  stdout: Readable;
  stderr: Readable;
  /** Of the command, when it has been started. */
  pid(): number | undefined;
  /** When it has the lock and runs. Rejects with a `QmdFailure` where it cannot be started. */
  started: Promise<{ wasTorn: boolean }>;
  /** When it and all of its group have ended. Never rejects; the pipes may still hold what it said. */
  ended: Promise<KeptEnd>;
  /** SIGTERM to its group, and after the grace SIGKILL. */
  stop(): void;
  /** Whether this process stays alive for it. */
  hold(isDue: boolean): void;
}

/** After the grace, for a keeper that does not answer. */
const keeperExtraMs = 2000;
const folderTrouble: FolderTrouble = "FOLDER";

/** Starts a command under a keeper (`child-keeper.ts`). */
export function startKept(options: KeptOptions): KeptProcess {
  const { argv, environment, folder, graceMs, input, givesWay, lock, marker } = options;
  const [command = "", ...args] = argv;
  const keeper: ChildProcess = fork(fileURLToPath(import.meta.resolve("#child-keeper")), [], {
    cwd: folder,
    env: { ...environment },
    // Its standard output belongs to the command.
    execArgv: ["--no-warnings"],
    stdio: [input ? "pipe" : "ignore", "pipe", "pipe", "ipc"],
    // Else a signal to the group of this process, as from a terminal, would end the keeper before the command.
    detached: process.platform !== "win32",
  });
  const started = Promise.withResolvers<{ wasTorn: boolean }>();
  const ended = Promise.withResolvers<KeptEnd>();
  let pid: number | undefined;
  let isOver = false;
  started.promise.catch(() => undefined); // Whoever waits for it is told; nobody has to.

  keeper.on("message", (message: FromKeeper) => {
    if (message.type === "started") {
      pid = message.pid;
      started.resolve({ wasTorn: message.wasTorn });
    } else if (message.type === "failed") {
      started.reject(startFailure(message.code, message.message, command));
      over({ code: null, signal: null, isTorn: false });
    } else over(message);
  });
  keeper.once("error", (error) => {
    if (keeper.pid !== undefined) return; // A message that had no receiver any more.
    started.reject(startFailure(existsSync(folder) ? "" : folderTrouble, error.message, command));
    over({ code: null, signal: null, isTorn: false });
  });
  // Its last message may come after its end, but before the end of the channel.
  keeper.once("exit", () => {
    if (keeper.connected) keeper.once("disconnect", keeperEnded);
    else keeperEnded();
  });
  send({ type: "start", command, args, graceMs, givesWay, lock, marker });

  /** Somebody else has ended the keeper, or it was told to stop before there was a command. */
  function keeperEnded(): void {
    if (isOver) return;
    killGroup(pid);
    started.reject(new QmdFailure("crash", `${command} was ended before it began`));
    over({
      code: null,
      signal: pid === undefined ? "SIGTERM" : "SIGKILL",
      isTorn: pid !== undefined && marker !== undefined,
    });
  }

  function over({ code, signal, isTorn }: KeptEnd): void {
    isOver = true;
    ended.resolve({ code, signal, isTorn });
  }

  function send(message: ToKeeper): void {
    if (keeper.connected) keeper.send(message, () => {});
  }

  function stop(): void {
    if (isOver) return;
    send({ type: "stop" });
    const late = setTimeout(() => {
      killGroup(pid);
      keeper.kill("SIGKILL");
    }, graceMs + keeperExtraMs);
    late.unref();
    void ended.promise.then(() => clearTimeout(late));
  }

  function hold(isDue: boolean): void {
    for (const handle of [keeper, keeper.channel, keeper.stdin, keeper.stdout, keeper.stderr]) {
      const socket = handle as Pick<Socket, "ref" | "unref"> | null | undefined;
      if (isDue) socket?.ref();
      else socket?.unref();
    }
  }

  const { stdin, stdout, stderr } = keeper;
  if (stdout === null || stderr === null) throw new Error("a child was started without its pipes");
  // What is written to a process that has ended is told by its end.
  stdin?.on("error", () => {});
  return { stdin, stdout, stderr, pid: () => pid, started: started.promise, ended: ended.promise, stop, hold };
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === "win32" ? pid : -pid, "SIGKILL");
  } catch {
    // Nobody of it is left.
  }
}

function startFailure(code: string, message: string, what: string): QmdFailure {
  if (code === folderTrouble)
    return new QmdFailure("no_space", `the state folder of qmd cannot be used: ${message}`, {
      action: "make room on the disk, or make the folder writable",
    });
  if (["ENOENT", "EACCES", "ENOTDIR", "ENOEXEC"].includes(code))
    return new QmdFailure("not_installed", `${what} cannot be started: ${message}`, {
      action: "install it with: npm install -g @tobilu/qmd",
    });
  return new QmdFailure("qmd_error", `${what} cannot be started: ${message}`);
}
