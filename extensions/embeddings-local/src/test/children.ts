import { type ChildProcess, spawn } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { FromChild } from "../protocol.ts";

/** The processes that this one starts from now on, in the order of their start. */
export function watchChildren(onMessage?: (child: ChildProcess, message: FromChild) => void): ChildProcess[] {
  const children: ChildProcess[] = [];
  const take = (event: unknown): void => {
    const { process } = event as { process: ChildProcess };
    children.push(process);
    process.on("message", (message) => onMessage?.(process, message as FromChild));
  };
  subscribe("child_process", take);
  onTestFinished(() => void unsubscribe("child_process", take));
  return children;
}

export interface Script {
  process: ChildProcess;
  /** Waits until it has printed a line that begins so, and gives the rest of the line. */
  line(beginning: string): Promise<string>;
  /** Waits for its end: exit code or signal. */
  ended: Promise<number | string>;
}

/** Runs a module of this folder with Node, in a process of its own that is ended after the test. */
export function startScript(module: string, args: readonly string[]): Script {
  const file = fileURLToPath(new URL(module, import.meta.url));
  const child = spawn(process.execPath, ["--conditions=@memslot/source", file, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
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
  const line = (beginning: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = text
          .split("\n")
          .slice(0, -1)
          .find((each) => each.startsWith(beginning));
        if (found === undefined) return;
        listeners.delete(look);
        resolve(found.slice(beginning.length));
      };
      listeners.add(look);
      void ended.then((code) => reject(new Error(`ended with ${code} before it printed "${beginning}": ${text}`)));
      look();
    });
  return { process: child, line, ended };
}
