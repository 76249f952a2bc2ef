import { EventEmitter } from "node:events";
import { syncBuiltinESMExports } from "node:module";
import threads, { type Worker, type WorkerOptions } from "node:worker_threads";
import { afterAll, beforeAll } from "vitest";

// A setup file of the quick tests, and of those of the page, which open ledgers by the thousand: the thread of one that was closed serves the next
// one of the same file, since starting a thread costs some times as much as opening a ledger in it. What a fresh thread
// does is seen by the first test of every file, by the tests of the threads themselves, and by all long ones.

const FreshWorker = threads.Worker;
const events = ["message", "messageerror", "error", "exit"] as const;
/** Those that nobody has, by the module that they run. */
const idle = new Map<string, Worker[]>();

/** Called with `new` in place of `Worker`. Another thread than that of a ledger is started as ever. */
function KeptWorker(entry: string | URL, options?: WorkerOptions): Worker | LentThread {
  if (options?.name !== "memslot-ledger") return new FreshWorker(entry, options);
  const thread = idle.get(String(entry))?.pop() ?? new FreshWorker(entry, options);
  return new LentThread(thread, String(entry));
}

/** A thread in the hands of one ledger. It is given back once it has said that its database is closed. */
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
    // An answer that is still due would come to the next one.
    if (!this.#isClosed || this.#due.size > 0) return await this.#thread.terminate();
    for (const [name, listener] of this.#passOn) this.#thread.off(name, listener);
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
afterAll(async () => {
  useWorker(FreshWorker);
  const kept = [...idle.values()].flat();
  idle.clear();
  await Promise.all(kept.map((thread) => thread.terminate()));
});
