import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryError } from "@memslot/core";
import { type WrongManagers, askWith, beforeCalls, changeAnswers, neverAborted } from "../wrong.ts";

const leaked: number[] = [];

/** Closes what the leaking manager left open. */
export function closeLeaked(): void {
  for (const descriptor of leaked.splice(0)) closeSync(descriptor);
}

export const living: WrongManagers = {
  "meaning.abort": {
    "keeps the abort from the embedding provider": (right) => askWith(right, { signal: neverAborted() }),
  },
  "status.plain": {
    "throws from status during a sync"(right) {
      let syncing = false;
      return {
        async sync(params) {
          syncing = true;
          return right.sync?.(params).finally(() => (syncing = false));
        },
        ...beforeCalls(right, {
          status() {
            if (syncing) throw new Error("busy");
          },
        }),
      };
    },
    "gives a status that JSON cannot carry": (right) => ({
      status: () => ({ ...right.status(), custom: { store: new Map(), size: 10n } }),
    }),
  },
  "faults.no-network": {
    "does not say that its server is away": (right) =>
      beforeCalls(right, {
        search: async () =>
          fetch("http://127.0.0.1:9/").catch(() => {
            throw new Error("the search failed");
          }),
      }),
  },
  "status.snapshot": {
    "gives a status that changes in the hands of its reader"(right) {
      const status = right.status();
      return { status: () => Object.assign(status, right.status()) };
    },
  },
  "open.again": {
    "starts from nothing at each open"(right) {
      let synced = false;
      return {
        ...changeAnswers(right, { search: (results) => results.filter(() => synced) }),
        async sync(params) {
          synced = true;
          return right.sync?.({ ...params, force: true });
        },
      };
    },
  },
  "meaning.paraphrase": {
    "makes no use of the vectors": (right) =>
      changeAnswers(right, { search: (results) => results.filter(({ textScore = 0 }) => textScore > 0) }),
  },
  "meaning.provider-down": {
    "hides that the embedding provider is down": (right) => ({
      search: (query, options) =>
        right.search(query, { ...options, onDebug: (report) => options.onDebug({ ...report, state: "ok" }) }),
    }),
    "fails when the embedding provider does": (right) => ({
      async search(query, options) {
        let degraded: string | undefined;
        const results = await right.search(query, {
          ...options,
          onDebug: (report) => (degraded = report.state === "degraded" ? report.reason : undefined),
        });
        if (degraded !== undefined) throw new MemoryError("UNAVAILABLE", degraded);
        return results;
      },
    }),
  },
  "close.calls": {
    "leaves a file open after close": (right, { workspaceDir }) =>
      beforeCalls(right, { sync: () => leaked.push(openSync(join(workspaceDir, "MEMORY.md"), "r")) }),
  },
  "quality.no-errors": {
    "fails where it finds nothing by words": (right) => ({
      capabilities: { ...right.capabilities, vector: false },
      ...changeAnswers(right, {
        search(results) {
          const found = results.filter(({ textScore }) => textScore !== undefined);
          if (found.length === 0) throw new MemoryError("UNAVAILABLE", "nothing was found");
          return found;
        },
      }),
    }),
  },
  "status.sync": {
    "takes an index that was never synced for fresh": (right) => ({
      status: () => ({ ...right.status(), dirty: false }),
    }),
  },
  "close.twice": {
    "cannot be closed": (right) => changeAnswers(right, { close: () => Promise.reject(new Error("still in use")) }),
  },
};

const timers: NodeJS.Timeout[] = [];
const processes: ChildProcess[] = [];

function startWaiting(detached = false): ChildProcess {
  return spawn(process.execPath, ["-e", "setTimeout(() => {}, 60000)"], { stdio: "ignore", detached });
}

/** Ends what these managers left running. */
export function endLeft(): void {
  for (const timer of timers.splice(0)) clearInterval(timer);
  for (const child of processes.splice(0)) child.kill("SIGKILL");
}

/** Managers whose answers are right, and that nobody wants in their process. */
export const mannerless: WrongManagers = {
  "host.prints": {
    "prints a line with each search": (right) =>
      beforeCalls(right, { search: () => void process.stdout.write("searching\n") }),
    // oxlint-disable-next-line no-console -- that is the fault
    "warns on the console of its host": (right) => beforeCalls(right, { sync: () => console.warn("syncing") }),
  },
  "host.rejections": {
    "leaves a rejected promise with each search": (right) =>
      beforeCalls(right, { search: () => void Promise.reject(new Error("nobody waits for this")) }),
  },
  "host.nothing-left": {
    // Several: a timer of the runner may end meanwhile, and one more would make up for it.
    "leaves timers": (right) =>
      beforeCalls(right, {
        sync: () => void timers.push(...Array.from({ length: 20 }, () => setInterval(() => undefined, 60_000))),
      }),
    "leaves a process": (right) => beforeCalls(right, { sync: () => processes.push(startWaiting()) }),
    "leaves a process that it does not wait for": (right) =>
      beforeCalls(right, {
        sync() {
          const child = startWaiting(true);
          child.unref();
          processes.push(child);
        },
      }),
  },
  "host.writes": {
    "writes into the home folder": (right) =>
      beforeCalls(right, { sync: () => writeFile(join(homedir(), ".cache-of-mine"), "") }),
    "leaves temporary files": (right) => beforeCalls(right, { search: () => writeFile(join(tmpdir(), "a-draft"), "") }),
    "keeps its index in the workspace": (right, { workspaceDir }) =>
      beforeCalls(right, { sync: () => writeFile(join(workspaceDir, "index.json"), "{}") }),
  },
  "host.event-loop": {
    "waits without letting anybody else work": (right) =>
      beforeCalls(right, { sync: () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300) }),
  },
};

/** What goes wrong before there is a manager. */
export const opening: WrongManagers = {
  "open.abort": {
    "opens although it was called off": {
      open: (reference, context) => reference.open({ ...context, signal: new AbortController().signal }),
    },
    "calls being called off an error of its own": {
      async open(reference, context) {
        if (context.signal.aborted) throw new Error("the database is closed");
        return reference.open(context);
      },
    },
    "never ends opening once it was called off": {
      open: (reference, context) => (context.signal.aborted ? new Promise(() => undefined) : reference.open(context)),
    },
  },
  "open.look-only": {
    "makes its folder for whoever looks": {
      async open(reference, context) {
        await mkdir(join(context.stateDir, "reference"), { recursive: true });
        return reference.open(context);
      },
    },
    "notes down who has looked": {
      async open(reference, context) {
        const right = await reference.open(context);
        return {
          ...right,
          ...beforeCalls(right, { search: () => writeFile(join(context.stateDir, `asked-${Date.now()}`), "") }),
        };
      },
    },
  },
};
