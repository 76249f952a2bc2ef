import { MemoryError, messageOf } from "@memslot/core";
import type { IndexHealth } from "../../index-row-types.ts";
import type { OpenOptions, Reply, Request } from "./thread-messages.ts";

const closeWaitsMs = 2000;
const mostCloseWaits = 5;
const terminateWaitsMs = 1000;
/** Longer than any call of a database. */
const stuckAfterMs = 120_000;

export interface WorkerClient {
  /** Rejects with `UNAVAILABLE` for a dead or late worker, and `CLOSED` after `close`. */
  call(
    method: Request["method"],
    args: readonly unknown[],
    /** Default 120 s. The guard has the deadline of the caller. */
    options?: { deadlineMs?: number },
  ): Promise<unknown>;
  health(): IndexHealth | undefined;
  /** Waits for running calls and closes the database, within about three seconds. */
  close(): Promise<void>;
}

export interface LedgerThread {
  // oxlint-disable-next-line typescript/no-explicit-any -- as the events of Node have it
  on(event: "message" | "messageerror" | "error" | "exit" | "moved", listener: (value: any) => void): unknown;
  postMessage(request: Request): void;
  ref(): void;
  unref(): void;
  terminate(isClosed: boolean): Promise<unknown>;
  reportStuck?(): void;
  callsBegun?(): number;
}

interface Pending {
  request: Request;
  resolve(value: unknown): void;
  reject(error: unknown): void;
  timer: NodeJS.Timeout;
}

/** The caller's side of a thread. Keeps the process alive only while a reply is pending. */
export function clientOf(worker: LedgerThread, what: string, stuckMs: number = stuckAfterMs): WorkerClient {
  const pending = new Map<number, Pending>();
  let lastId = 0;
  let latestHealth: IndexHealth | undefined;
  let ended: MemoryError | undefined;
  let closing: Promise<void> | undefined;
  let hasExited = false;
  let opened: OpenOptions | undefined;
  let space: Request | undefined;
  let moves = 0;

  worker.unref();
  worker.on("message", (reply: Reply) => {
    if (reply.health) latestHealth = reply.health;
    if (reply.id === 0 && reply.error) end(stopped(errorOf(reply.error)));
    const request = reply.error ? undefined : pending.get(reply.id)?.request;
    if (request?.method === "open") opened = request.args[0] as OpenOptions;
    if (request?.method === "useSpace") space = { ...request, id: 0 };
    settle(reply.id, ({ resolve, reject }) => (reply.error ? reject(errorOf(reply.error)) : resolve(reply.result)));
  });
  worker.on("moved", () => {
    hasExited = closing !== undefined;
    if (hasExited) return end(closedError(what));
    const { remade } = latestHealth ?? {};
    if (opened) worker.postMessage({ id: 0, method: "open", args: [{ ...opened, moves: ++moves, remade }] });
    if (space) worker.postMessage(space);
    for (const { request } of pending.values()) worker.postMessage(request);
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

  function late(id: number, deadlineMs: number): void {
    settle(id, ({ request, reject }) => reject(lateError(what, request.method, deadlineMs)));
    // The thread may be busy with other requests.
    if (closing === undefined) worker.reportStuck?.();
  }

  function send(method: Request["method"], args: readonly unknown[], deadlineMs: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (ended) return reject(ended);
      const id = ++lastId;
      const request = { id, method, args };
      // Created on demand: an error with a stack trace per call would dominate the cost.
      const timer = setTimeout(late, deadlineMs, id, deadlineMs);
      pending.set(id, { request, resolve, reject, timer });
      worker.ref();
      try {
        worker.postMessage(request);
      } catch (error) {
        settle(id, (call) => call.reject(error));
      }
    });
  }

  async function stop(): Promise<void> {
    const hasAnswered = send("close", [], mostCloseWaits * closeWaitsMs).then(
      () => true,
      () => hasExited,
    );
    const closeId = lastId;
    let begun = worker.callsBegun?.();
    let timer: NodeJS.Timeout | undefined;
    const isStuck = new Promise<false>((resolve) => {
      timer = setInterval(() => {
        const before = begun;
        begun = worker.callsBegun?.();
        if (begun === before) resolve(false);
      }, closeWaitsMs);
    });
    const isQuiet = await Promise.race([hasAnswered, isStuck]);
    clearInterval(timer);
    end(closedError(what));
    if (isQuiet) return await terminate(true);
    // Stopping a thread while it loads the SQLite binding would end the process.
    const stuck = setTimeout(() => void terminate(false), stuckMs).unref();
    const gone = (): void => {
      clearTimeout(stuck);
      void terminate(true);
    };
    worker.on("message", ({ id }: Reply) => (id === closeId ? gone() : undefined));
    worker.on("moved", gone);
  }

  async function terminate(isClosed: boolean): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const enough = new Promise<void>((resolve) => (timer = setTimeout(resolve, terminateWaitsMs)));
    await Promise.race([worker.terminate(isClosed), enough]);
    clearTimeout(timer);
  }

  return {
    call: (method, args, { deadlineMs = stuckAfterMs } = {}) => send(method, args, deadlineMs),
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
