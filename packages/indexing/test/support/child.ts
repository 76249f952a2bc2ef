import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** A process of its own that answers each line it is given with one line. */
export interface Child {
  pid: number | undefined;
  ask(line: string): Promise<string>;
  /** Lets it end by itself, and waits for that. */
  end(): Promise<void>;
  /** Ends it in the middle of whatever it does. */
  kill(): Promise<void>;
}

/** Starts a module with Node. It is ended with the test. */
export function startChild(module: URL, args: readonly string[]): Child {
  const file = fileURLToPath(module);
  const child = spawn(process.execPath, ["--conditions=@memslot/source", file, ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exit = once(child, "close");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exit;
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    pid: child.pid,
    async ask(line) {
      child.stdin.write(`${line}\n`);
      const { value, done } = await lines.next();
      if (done) throw new Error(`the process has ended before it answered "${line}"`);
      return value;
    },
    async end() {
      child.stdin.end();
      await exit;
    },
    async kill() {
      child.kill("SIGKILL");
      await exit;
    },
  };
}
