import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** A child process whose output is read line by line. */
export interface Child {
  process: ChildProcess;
  /** Waits for a line with this prefix and returns it. */
  line(beginning: string): Promise<string>;
  /** The same, and returns the rest of the line. */
  rest(beginning: string): Promise<string>;
  /** Its exit code or signal. */
  ended: Promise<number | string>;
  /** Everything printed to stdout and stderr. */
  output(): string;
}

export interface ChildOptions {
  /** Added to the environment of this process. */
  env?: NodeJS.ProcessEnv | undefined;
  /** Of the user and the group that it runs as. */
  uid?: number | undefined;
  /** In a process group of its own. */
  detached?: boolean | undefined;
}

/** Runs a module with Node, from the sources. It is killed after the test. */
export function startChild(module: URL, args: readonly string[], options: ChildOptions = {}): Child {
  const { env, uid, detached = false } = options;
  const child = spawn(process.execPath, ["--conditions=@memslot/source", fileURLToPath(module), ...args], {
    stdio: ["pipe", "pipe", "pipe"],
    detached,
    env: { ...process.env, ...env },
    ...(uid !== undefined && { uid, gid: uid }),
  });
  let text = "";
  const looks = new Set<() => void>();
  const take = (data: Buffer): void => {
    text += data.toString();
    for (const look of looks) look();
  };
  child.stdin.on("error", () => undefined);
  child.stdout.on("data", take);
  child.stderr.on("data", take);
  // A process that it has started may keep its output open.
  const event = detached ? "exit" : "close";
  const ended = once(child, event).then(([code, signal]: (number | string | null)[]) => code ?? signal ?? -1);
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const line = (beginning: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const lines = text.split("\n").slice(0, -1);
        const found = lines.find((each) => each.startsWith(beginning));
        if (found === undefined) return;
        looks.delete(look);
        resolve(found);
      };
      looks.add(look);
      void ended.then((code) => reject(new Error(`ended with ${code} before it printed "${beginning}": ${text}`)));
      look();
    });
  const rest = async (beginning: string): Promise<string> => (await line(beginning)).slice(beginning.length);
  return { process: child, line, rest, ended, output: () => text };
}

/** Whether a process exists. One that has ended does until its parent has asked for its end. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
