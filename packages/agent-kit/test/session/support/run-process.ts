import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { onTestFinished } from "vitest";

/** Each process starts from the sources: only the first has to compile them. */
const compileCache = path.resolve(import.meta.dirname, "../../../../../node_modules/.cache/compile");

/** A program of this folder in a process of its own, which tells things line by line. */
export interface TellingProcess {
  readonly pid: number;
  /** Everything that it told so far. */
  readonly told: readonly string[];
  /** Resolves when it has told a line that fits, or has ended: then with undefined. */
  next(fits: (line: string) => boolean): Promise<string | undefined>;
  send(line: string): void;
  /** Ends it at once, and waits until it is gone and everything is read that it told. */
  kill(): Promise<void>;
  readonly ended: Promise<unknown>;
}

/** `limits` go before the process, as `ulimit -f 40`. */
export function runProcess(program: string, args: readonly string[], limits = "true"): TellingProcess {
  const node = [process.execPath, "--conditions=@memslot/source", path.join(import.meta.dirname, program), ...args];
  const child: ChildProcess = spawn("sh", ["-c", `${limits} && exec "$@"`, "sh", ...node], {
    stdio: ["pipe", "pipe", "inherit"],
    // What cannot be written whole is no cache.
    env: { ...process.env, ...(limits === "true" && { NODE_COMPILE_CACHE: compileCache }) },
  });
  const told: string[] = [];
  let rest = "";
  let look: () => void = () => undefined;
  child.stdin?.on("error", () => undefined);
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    told.push(...lines);
    look();
  });
  let over = false;
  const ended = once(child, "close").then(() => {
    over = true;
    look();
  });
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  onTestFinished(kill);
  return {
    pid: child.pid ?? 0,
    told,
    next: (fits) =>
      new Promise((resolve) => {
        look = () => {
          const line = told.find(fits);
          if (line !== undefined || over) resolve(line);
        };
        look();
      }),
    send: (line) => void child.stdin?.write(`${line}\n`),
    kill,
    ended,
  };
}
