import { Worker } from "node:worker_threads";
import { MemoryError, messageOf } from "@memslot/core";
import type { IndexHealth } from "../../chunk-index.ts";
import { handedDown } from "../../thread-options.ts";
import type { Reply, Request } from "./protocol.ts";

const closeWaitsMs = 2000;
const terminateWaitsMs = 1000;
/** No call of a database takes so long: a thread that has not answered by then never will. */
const stuckAfterMs = 120_000;

/** The caller's side of `worker.ts`. */
export interface WorkerClient {
  /** Rejects with `UNAVAILABLE` when the worker has died or does not answer in time, and with `CLOSED` after `close`. */
  call(
    method: Request["method"],
    args: readonly unknown[],
    options?: {
      /** 120 s if left out: no call of a database takes so long. How long somebody waits for it is the guard's to say. */
      deadlineMs?: number;
      transfer?: ArrayBuffer[];
    },
  ): Promise<unknown>;
  /** As last reported; undefined before the first answer. */
  health(): IndexHealth | undefined;
  /**
   * Lets running calls end, has the worker close its database, and ends it. Comes back within about three seconds; a
   * thread that is still inside a call ends after it, and does not keep the process.
   */
  close(): Promise<void>;
}

/** What is needed of a worker. */
export interface LedgerThread {
  // oxlint-disable-next-line typescript/no-explicit-any -- as the events of Node have it
  on(event: "message" | "messageerror" | "error" | "exit", listener: (value: any) => void): unknown;
  postMessage(request: Request, transfer: ArrayBuffer[]): void;
  ref(): void;
  unref(): void;
  terminate(): Promise<unknown>;
}

interface Pending {
  resolve(value: unknown): void;
  reject(error: unknown): void;
  timer: NodeJS.Timeout;
}

/** Starts a worker. It keeps the process alive only while an answer is due. `what` names it in messages. */
export function startWorker(entry: URL, what: string, stuckMs: number = stuckAfterMs): WorkerClient {
  return clientOf(new Worker(entry, { name: "memslot-ledger", ...handedDown() }), what, stuckMs);
}

/** The caller's side of a thread that has been started. */
export function clientOf(worker: LedgerThread, what: string, stuckMs: number = stuckAfterMs): WorkerClient {
  const pending = new Map<number, Pending>();
  let lastId = 0;
  let latestHealth: IndexHealth | undefined;
  /** Why nothing can be asked any more. */
  let ended: MemoryError | undefined;
  let closing: Promise<void> | undefined;
  let hasExited = false;

  worker.unref();
  worker.on("message", (reply: Reply) => {
    if (reply.health) latestHealth = reply.health;
    settle(reply.id, ({ resolve, reject }) => (reply.error ? reject(errorOf(reply.error)) : resolve(reply.result)));
  });
  worker.on("messageerror", (error: unknown) => end(stopped(error)));
  worker.on("error", (error: unknown) => end(stopped(error)));
  worker.on("exit", (code: number) => {
    hasExited = true;
    end(stopped(new Error(`it exited with code ${code}`)));
  });

  function stopped(cause: unknown): MemoryError {
    return new MemoryError("UNAVAILABLE", `the thread of ${what} has stopped (${messageOf(cause)}); open it again`, {
      cause,
    });
  }

  function end(reason: MemoryError): void {
    ended ??= reason;
    for (const id of pending.keys()) settle(id, ({ reject }) => reject(ended));
  }

  function settle(id: number, how: (call: Pending) => void): void {
    const call = pending.get(id);
    if (!call) return;
    pending.delete(id);
    clearTimeout(call.timer);
    if (pending.size === 0) worker.unref();
    how(call);
  }

  function send(
    method: Request["method"],
    args: readonly unknown[],
    deadlineMs: number,
    transfer: ArrayBuffer[],
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (ended) return reject(ended);
      const id = ++lastId;
      // Made when it is needed: an error that looks at the stack with every call costs more than the rest of it here.
      const late = (): void => settle(id, (call) => call.reject(lateError(what, method, deadlineMs)));
      const timer = setTimeout(late, deadlineMs);
      pending.set(id, { resolve, reject, timer });
      worker.ref();
      try {
        worker.postMessage({ id, method, args }, transfer);
      } catch (error) {
        settle(id, (call) => call.reject(error));
      }
    });
  }

  async function stop(): Promise<void> {
    const hasAnswered = send("close", [], closeWaitsMs, []).then(
      () => true,
      () => hasExited,
    );
    const closeId = lastId;
    const isQuiet = await hasAnswered;
    end(closedError(what));
    if (isQuiet) return await terminate();
    // A call comes to its end by itself; and a thread that is stopped while the binding of SQLite loads in it takes the
    // whole process along.
    const stuck = setTimeout(() => void terminate(), stuckMs).unref();
    worker.on("message", ({ id }: Reply) => {
      if (id !== closeId) return;
      clearTimeout(stuck);
      void terminate();
    });
  }

  async function terminate(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const enough = new Promise<void>((resolve) => (timer = setTimeout(resolve, terminateWaitsMs)));
    await Promise.race([worker.terminate(), enough]);
    clearTimeout(timer);
  }

  return {
    async call(method, args, { deadlineMs = stuckAfterMs, transfer = [] } = {}) {
      return await send(method, args, deadlineMs, transfer);
    },
    health: () => latestHealth,
    close: () => (closing ??= stop()),
  };
}

function closedError(what: string): MemoryError {
  return new MemoryError("CLOSED", `${what} is closed`);
}

function lateError(what: string, method: string, deadlineMs: number): MemoryError {
  return new MemoryError("UNAVAILABLE", `${what} did not answer ${method} within ${deadlineMs / 1000} s; try again`);
}

function errorOf({ code, message, cause }: NonNullable<Reply["error"]>): MemoryError {
  return new MemoryError(code, message, cause === undefined ? undefined : { cause: new Error(cause) });
}
