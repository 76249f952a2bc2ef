import { spawn } from "node:child_process";
import path from "node:path";
import { onTestFinished } from "vitest";

/** A test program in its own process, which prints what it has done line by line. */
export interface Program {
  readonly pid: number;
  /** The lines it has printed so far. */
  readonly lines: readonly string[];
  /** Waits for the first line that fits. Undefined if the program ended before it. */
  next(fits: (line: string) => boolean): Promise<string | undefined>;
  send(line: string): void;
  /** Kills it and waits until its whole output is read. */
  kill(): Promise<void>;
  readonly ended: Promise<Ended>;
}

interface Ended {
  /** Null if it was killed. */
  readonly code: number | null;
  readonly lines: readonly string[];
  readonly errors: string;
}

interface RunOptions {
  /** Shell command that limits the process, such as `ulimit -f 40`. */
  readonly limits?: string | undefined;
  /** Called for each line. */
  readonly onLine?: ((line: string, program: Program) => void) | undefined;
}

/** Runs a program of `packages/agent-kit/test`. It is killed after the test. */
export function runProgram(file: string, args: readonly (string | number)[], options: RunOptions = {}): Program {
  const { limits = "true", onLine } = options;
  const node = [process.execPath, "--conditions=@memslot/source", path.join(import.meta.dirname, "..", file)];
  const child = spawn("sh", ["-c", `${limits} && exec "$@"`, "sh", ...node, ...args.map(String)], {
    // A limit on the size of files would cut the cache of compiled modules short.
    env: { ...process.env, NODE_COMPILE_CACHE: undefined, NODE_V8_COVERAGE: undefined },
  });
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  let [rest, errors, hasEnded] = ["", "", false];
  const { promise: ended, resolve } = Promise.withResolvers<Ended>();
  const program: Program = {
    pid: child.pid ?? 0,
    lines,
    ended,
    next: (fits) =>
      new Promise((found) => {
        const look = (): void => {
          const line = lines.find(fits);
          if (line === undefined && !hasEnded) return;
          waiting.delete(look);
          found(line);
        };
        waiting.add(look);
        look();
      }),
    send: (line) => void child.stdin.write(`${line}\n`),
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
  child.stdin.on("error", () => undefined);
  child.stderr.on("data", (part: Buffer) => (errors += part.toString()));
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const whole = (rest + text).split("\n");
    rest = whole.pop() ?? "";
    for (const line of whole) {
      lines.push(line);
      onLine?.(line, program);
    }
    for (const look of waiting) look();
  });
  child.on("close", (code) => {
    hasEnded = true;
    resolve({ code, lines, errors });
    for (const look of waiting) look();
  });
  onTestFinished(program.kill);
  return program;
}
