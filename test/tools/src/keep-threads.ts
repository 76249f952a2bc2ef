import { EventEmitter } from "node:events";
import { syncBuiltinESMExports } from "node:module";
import threads, { type Worker, type WorkerOptions } from "node:worker_threads";
import { afterAll, beforeAll } from "vitest";

// A setup file of the quick tests, which open thousands of ledgers: the thread of a closed ledger serves the next one,
// because starting a thread costs several times as much as opening a ledger in it. Isolated and long tests use a fresh
// thread for each ledger.

interface Kept {
  FreshWorker: typeof Worker;
  /** Unused threads, by the module they run. */
  idle: Map<string, Worker[]>;
}

// This file is evaluated again for each test file of a process: the threads outlive it.
const { FreshWorker, idle } = ((globalThis as { memslotKeptThreads?: Kept }).memslotKeptThreads ??= {
  FreshWorker: threads.Worker,
  idle: new Map(),
});
const events = ["message", "messageerror", "error", "exit"] as const;

/** Called with `new` in place of `Worker`. Threads other than a ledger's start as usual. */
function KeptWorker(entry: string | URL, options?: WorkerOptions): Worker | LentThread {
  if (options?.name !== "memslot-ledger") return new FreshWorker(entry, options);
  // A thread that has ended in the pool has no number any more.
  const [last] = idle.get(String(entry))?.splice(-1) ?? [];
  const thread = last !== undefined && last.threadId > 0 ? last : new FreshWorker(entry, options);
  return new LentThread(thread, String(entry));
}

/** A thread lent to one ledger. It returns to the pool after it has closed its database. */
class LentThread extends EventEmitter {
  readonly #thread: Worker;
  readonly #entry: string;
  readonly #due = new Set<number>();
  readonly #passOn = events.map((name) => [name, (value: unknown) => this.#take(name, value)] as const);
  #closeId: number | undefined;
  #isClosed = false;

  constructor(thread: Worker, entry: string) {
    super();
    [this.#thread, this.#entry] = [thread, entry];
    for (const [name, listener] of this.#passOn) thread.on(name, listener);
  }

  postMessage(request: { id: number; method: string }, transfer: ArrayBuffer[]): void {
    this.#thread.postMessage(request, transfer);
    this.#due.add(request.id);
    if (request.method === "close") this.#closeId = request.id;
  }

  ref(): void {
    this.#thread.ref();
  }

  unref(): void {
    this.#thread.unref();
  }

  async terminate(): Promise<number> {
    // A pending answer would reach the next ledger.
    if (!this.#isClosed || this.#due.size > 0) return await this.#thread.terminate();
    for (const [name, listener] of this.#passOn) this.#thread.off(name, listener);
    this.#thread.unref();
    idle.set(this.#entry, [...(idle.get(this.#entry) ?? []), this.#thread]);
    this.emit("exit", 0);
    return 0;
  }

  #take(name: string, value: unknown): void {
    if (name === "message") {
      const { id, error } = value as { id: number; error?: unknown };
      this.#due.delete(id);
      if (id === this.#closeId) this.#isClosed = error === undefined;
    } else this.#isClosed = false;
    this.emit(name, value);
  }
}

function useWorker(worker: typeof Worker): void {
  threads.Worker = worker;
  syncBuiltinESMExports();
}

beforeAll(() => useWorker(KeptWorker as unknown as typeof Worker));
afterAll(() => useWorker(FreshWorker));
