import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

export interface Child {
  process: ChildProcess;
  /** Waits until it has printed a line that begins so, and gives the line. */
  line(beginning: string): Promise<string>;
  /** Waits for its end: exit code or signal. */
  ended(): Promise<number | string>;
  output(): string;
}

/** Runs a module of this folder with Node, in a process of its own. */
export function startChild(module: string, args: readonly string[], options: { env?: NodeJS.ProcessEnv } = {}): Child {
  const file = fileURLToPath(new URL(module, import.meta.url));
  const child = spawn(process.execPath, ["--conditions=@memslot/source", file, ...args], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, ...options.env },
  });
  let text = "";
  const listeners = new Set<() => void>();
  const take = (data: Buffer): void => {
    text += data.toString();
    for (const listener of listeners) listener();
  };
  child.stdout.on("data", take);
  child.stderr.on("data", take);
  const exit = once(child, "close").then(([code, signal]: (number | string | null)[]) => code ?? signal ?? -1);
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exit;
  });
  return {
    process: child,
    output: () => text,
    ended: () => exit,
    line: (beginning) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = text
            .split("\n")
            .slice(0, -1)
            .find((line) => line.startsWith(beginning));
          if (found === undefined) return;
          listeners.delete(look);
          resolve(found);
        };
        listeners.add(look);
        void exit.then((code) => reject(new Error(`ended with ${code} before it printed "${beginning}": ${text}`)));
        look();
      }),
  };
}
