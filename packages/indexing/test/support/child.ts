import { startChild as start } from "@memslot/test-tools/child";

/** A process of its own that answers each line with one line, which begins with the number of the answer. */
export interface Child {
  pid: number | undefined;
  ask(line: string): Promise<string>;
  /** Ends its input, and waits until it has ended by itself. */
  end(): Promise<unknown>;
  /** Ends it in the middle of whatever it does. */
  kill(): Promise<unknown>;
}

export function startChild(module: URL, args: readonly string[]): Child {
  const { process, rest, ended } = start(module, args);
  let asked = 0;
  return {
    pid: process.pid,
    async ask(line) {
      process.stdin?.write(`${line}\n`);
      return await rest(`${++asked} `);
    },
    end: () => (process.stdin?.end(), ended),
    kill: () => (process.kill("SIGKILL"), ended),
  };
}
