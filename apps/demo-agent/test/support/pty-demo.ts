import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { spawn } from "@lydell/node-pty";
import { type DemoPlace, demoEnv } from "../run-demo.ts";

const cli = fileURLToPath(new URL("../../src/cli.ts", import.meta.url));
const patienceMs = 45_000;

/** The chat as a person at a terminal has it. */
export interface PtyDemo {
  type(keys: string): void;
  /** Waits until `wanted` was shown since the last call that found something; gives what was shown up to it. */
  shown(wanted: string | RegExp): Promise<string>;
  /** All that was shown, with the control sequences of the terminal. */
  readonly raw: string;
  resize(columns: number, rows: number): void;
  ended: Promise<number>;
  kill(): void;
}

export function startPtyDemo(
  place: DemoPlace,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): PtyDemo {
  const terminal = spawn(process.execPath, ["--conditions=@memslot/source", cli, ...args], {
    name: "xterm-256color",
    cols: 100,
    rows: 30,
    cwd: place.rootDir,
    env: demoEnv(place, { TERM: "xterm-256color", ...env }),
  });
  let raw = "";
  let seen = 0;
  let over = false;
  terminal.onData((data) => (raw += data));
  const ended = new Promise<number>((resolve) =>
    terminal.onExit(({ exitCode }) => {
      over = true;
      resolve(exitCode);
    }),
  );
  return {
    type: (keys) => terminal.write(keys),
    shown: async (wanted) => {
      const endsAt = performance.now() + patienceMs;
      for (;;) {
        const rest = raw.slice(seen);
        const match = typeof wanted === "string" ? rest.indexOf(wanted) : rest.search(wanted);
        if (match >= 0) {
          const length = typeof wanted === "string" ? wanted.length : (wanted.exec(rest)?.[0].length ?? 0);
          seen += match + length;
          return rest.slice(0, match + length);
        }
        if (over || performance.now() > endsAt)
          throw new Error(
            `${over ? "ended" : "waited"} without ${String(wanted)}; shown: ${JSON.stringify(raw.slice(seen))}`,
          );
        await pause(10);
      }
    },
    get raw() {
      return raw;
    },
    resize: (columns, rows) => terminal.resize(columns, rows),
    ended,
    kill: () => over || terminal.kill("SIGKILL"),
  };
}
