import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

export interface Script {
  process: ChildProcess;
  /** Waits until it has printed this line. */
  line(text: string): Promise<void>;
  /** Waits until it has printed a line that begins so, and gives the rest of that. */
  rest(beginning: string): Promise<string>;
  /** Waits for its end: exit code or signal. */
  ended: Promise<number | string>;
}

/** Runs a module of this folder with Node, in a process group of its own that is ended after the test. */
export function startScript(module: string, args: readonly string[]): Script {
  const file = fileURLToPath(new URL(module, import.meta.url));
  const child = spawn(process.execPath, ["--conditions=@memslot/source", file, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let text = "";
  const listeners = new Set<() => void>();
  const take = (data: Buffer): void => {
    text += data.toString();
    for (const listener of listeners) listener();
  };
  child.stdout.on("data", take);
  child.stderr.on("data", take);
  const ended = once(child, "exit").then(([code, signal]: (number | string | null)[]) => code ?? signal ?? -1);
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const find = (isIt: (line: string) => boolean): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = text.split("\n").slice(0, -1).find(isIt);
        if (found === undefined) return;
        listeners.delete(look);
        resolve(found);
      };
      listeners.add(look);
      void ended.then((code) => reject(new Error(`ended with ${code} before it printed that: ${text}`)));
      look();
    });
  return {
    process: child,
    line: async (wanted) => void (await find((line) => line === wanted)),
    rest: async (beginning) => (await find((line) => line.startsWith(beginning))).slice(beginning.length),
    ended,
  };
}
