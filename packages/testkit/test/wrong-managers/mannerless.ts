import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import type { MemorySearchManager } from "@memslot/core";
import type { WrongManager } from "./wrong-manager.ts";

const timers: NodeJS.Timeout[] = [];
const processes: ChildProcess[] = [];

/** Ends what these managers left running. */
export function endLeft(): void {
  for (const timer of timers.splice(0)) clearInterval(timer);
  for (const child of processes.splice(0)) child.kill("SIGKILL");
}

const printsNothing = "manners: prints nothing";
const writesBelow = "manners: writes below the state folder and nowhere else";
const leavesNothing = "manners: after close no timer, thread or process of it is left";
const goesOn = "manners: the host goes on while it works";

/** Managers whose answers are right, and that nobody wants in their process. */
export const mannerless: readonly WrongManager[] = [
  {
    fault: "prints a line with each search",
    caughtBy: printsNothing,
    spoil: (right) => before(right, "search", () => void process.stdout.write("searching\n")),
  },
  {
    fault: "warns on the console of its host",
    caughtBy: printsNothing,
    // oxlint-disable-next-line no-console -- that is the fault
    spoil: (right) => before(right, "sync", () => console.warn("syncing")),
  },
  {
    fault: "leaves a rejected promise with each search",
    caughtBy: "manners: leaves no promise to be rejected unseen",
    spoil: (right) => before(right, "search", () => void Promise.reject(new Error("nobody waits for this"))),
  },
  {
    fault: "leaves a timer",
    caughtBy: leavesNothing,
    spoil: (right) => before(right, "sync", () => void timers.push(setInterval(() => undefined, 60_000))),
  },
  {
    fault: "leaves a process",
    caughtBy: leavesNothing,
    spoil: (right) =>
      before(
        right,
        "sync",
        () => void processes.push(spawn(process.execPath, ["-e", "setTimeout(() => {}, 60000)"], { stdio: "ignore" })),
      ),
  },
  {
    fault: "leaves a process that it does not wait for",
    caughtBy: leavesNothing,
    spoil: (right) =>
      before(right, "sync", () => {
        const child = spawn(process.execPath, ["-e", "setTimeout(() => {}, 60000)"], {
          stdio: "ignore",
          detached: true,
        });
        child.unref();
        processes.push(child);
      }),
  },
  {
    fault: "writes into the home folder",
    caughtBy: writesBelow,
    spoil: (right) => before(right, "sync", () => writeFile(join(homedir(), ".cache-of-mine"), "")),
  },
  {
    fault: "leaves temporary files",
    caughtBy: writesBelow,
    spoil: (right) => before(right, "search", () => writeFile(join(tmpdir(), "a-draft"), "")),
  },
  {
    fault: "keeps its index in the workspace",
    caughtBy: writesBelow,
    spoil: (right, { workspaceDir }) => before(right, "sync", () => writeFile(join(workspaceDir, "index.json"), "{}")),
  },
  {
    fault: "works without letting anybody else do so",
    caughtBy: goesOn,
    spoil: (right) =>
      before(right, "search", () => {
        const until = performance.now() + 300;
        while (performance.now() < until);
      }),
  },
  {
    fault: "waits without letting anybody else work",
    caughtBy: goesOn,
    spoil: (right) =>
      before(right, "sync", () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)),
  },
];

const looksOnly = "open: to look only makes nothing on disk";
const endsOpening = "open: ends when its signal is aborted";

/** What goes wrong before there is a manager. */
export const opening: readonly WrongManager[] = [
  {
    fault: "opens although it was called off",
    caughtBy: endsOpening,
    open: (reference, context) => reference.open({ ...context, signal: new AbortController().signal }),
  },
  {
    fault: "calls being called off an error of its own",
    caughtBy: endsOpening,
    async open(reference, context) {
      if (context.signal.aborted) throw new Error("the database is closed");
      return reference.open(context);
    },
  },
  {
    fault: "never ends opening once it was called off",
    caughtBy: endsOpening,
    open: (reference, context) => (context.signal.aborted ? new Promise(() => undefined) : reference.open(context)),
  },
  {
    fault: "makes its folder for whoever looks",
    caughtBy: looksOnly,
    async open(reference, context) {
      await mkdir(join(context.stateDir, "reference"), { recursive: true });
      return reference.open(context);
    },
  },
  {
    fault: "notes down who has looked",
    caughtBy: looksOnly,
    async open(reference, context) {
      const right = await reference.open(context);
      return {
        ...right,
        ...before(right, "search", () => writeFile(join(context.stateDir, `asked-${Date.now()}`), "")),
      };
    },
  },
];

/** Does something before each call of a method. */
function before(
  right: MemorySearchManager,
  method: "search" | "sync",
  deed: () => unknown,
): Partial<MemorySearchManager> {
  if (method === "search")
    return {
      async search(query, options) {
        await deed();
        return right.search(query, options);
      },
    };
  return {
    async sync(params) {
      await deed();
      return right.sync?.(params);
    },
  };
}
