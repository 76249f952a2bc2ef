import { withDeadline } from "../guard/deadline.ts";
import { SerialQueue, warn } from "../async-helpers.ts";
import {
  abortSignal,
  between,
  callable,
  filled,
  named,
  object,
  optional,
  readFields,
  required,
  whole,
} from "../guard/runtime-type-checks.ts";
import { MemoryError, messageOf } from "../contract/errors.ts";
import type { Memory } from "../contract/memory.ts";

export interface MemoryPoolOptions {
  open: (key: string, call: { signal: AbortSignal }) => Promise<Memory>;
  /** How many memories may be open at a time. Default: 100. */
  max?: number | undefined;
  /** How long an unused memory stays open, in milliseconds. Default: 60,000. */
  idleMs?: number | undefined;
  /** How long a call waits while `max` memories are in use, in milliseconds. Default: 30,000. */
  waitMs?: number | undefined;
  notify?: ((line: string) => void) | undefined;
}

type Settled = { [Name in keyof MemoryPoolOptions]-?: NonNullable<MemoryPoolOptions[Name]> };

interface Pooled {
  readonly key: string;
  readonly opening: Promise<Memory>;
  users: number;
  hasFailed: boolean;
  isClosing: boolean;
  timer: NodeJS.Timeout | undefined;
}

/** Keeps the memories of many users open in one process; the least recently used one is closed first. */
export class MemoryPool {
  readonly #options: Settled;
  readonly #pooled = new Map<string, Pooled>();
  readonly #turns = new SerialQueue();
  readonly #closed = new AbortController();
  #change = Promise.withResolvers<void>();

  constructor(options: MemoryPoolOptions) {
    this.#options = checkPool(options);
  }

  get size(): number {
    return this.#pooled.size;
  }

  /** Calls `work` with the memory of `key`. Throws `UNAVAILABLE` after `waitMs`, `AbortError`, `CLOSED`. */
  async use<Result>(
    key: string,
    work: (memory: Memory) => Promise<Result>,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<Result> {
    required(named("the name of a user or a workspace", filled))("key", key);
    required(callable)("work", work);
    optional(abortSignal, undefined)("signal", signal);
    const pooled = await this.#take(key, signal);
    try {
      const memory = await withDeadline(
        { what: `opening the memory of ${key}`, signals: [signal] },
        () => pooled.opening,
      );
      return await work(memory);
    } catch (error) {
      if (MemoryError.is(error, "CLOSED") || MemoryError.is(error, "UNAVAILABLE")) pooled.hasFailed = true;
      throw error;
    } finally {
      this.#giveBack(pooled);
    }
  }

  /** Refuses new calls, and closes each memory after its last user. Returns when all are closed. */
  async close(): Promise<void> {
    this.#closed.abort(new MemoryError("CLOSED", "the memory pool is closed"));
    for (const pooled of this.#pooled.values()) if (pooled.users === 0) this.#end(pooled);
    while (this.#pooled.size > 0) await this.#change.promise;
  }

  async #take(key: string, signal: AbortSignal | undefined): Promise<Pooled> {
    this.#closed.signal.throwIfAborted();
    const open = this.#enter(key);
    if (open) return open;
    const limits = {
      what: "the memory pool",
      deadlineMs: this.#options.waitMs,
      signals: [signal, this.#closed.signal],
      action: `all of its ${this.#options.max} memories are in use: raise \`max\``,
    };
    const stop = new AbortController();
    const taking = this.#turns.run(() => this.#enterInTurn(key, stop.signal));
    try {
      return await withDeadline(limits, () => taking);
    } catch (error) {
      stop.abort();
      taking.then((pooled) => this.#giveBack(pooled)).catch(() => undefined);
      throw error;
    }
  }

  async #enterInTurn(key: string, signal: AbortSignal): Promise<Pooled> {
    for (;;) {
      signal.throwIfAborted();
      if (!this.#pooled.has(key) && this.#pooled.size < this.#options.max) this.#add(key);
      const open = this.#enter(key);
      if (open) return open;
      // One that is closing already frees a place first.
      const unused = [...this.#pooled.values()].find(({ users }) => users === 0);
      if (unused) this.#end(unused);
      await withDeadline({ what: "the memory pool", signals: [signal] }, () => this.#change.promise);
    }
  }

  #enter(key: string): Pooled | undefined {
    const pooled = this.#pooled.get(key);
    if (pooled === undefined || pooled.isClosing) return undefined;
    clearTimeout(pooled.timer);
    pooled.users++;
    return pooled;
  }

  #add(key: string): void {
    const { signal } = this.#closed;
    const opening = (async (): Promise<Memory> => this.#options.open(key, { signal }))();
    const pooled: Pooled = { key, opening, users: 0, hasFailed: false, isClosing: false, timer: undefined };
    this.#pooled.set(key, pooled);
    opening.catch(() => this.#remove(pooled));
  }

  #giveBack(pooled: Pooled): void {
    pooled.users--;
    if (pooled.users > 0 || this.#pooled.get(pooled.key) !== pooled) return;
    this.#pooled.delete(pooled.key);
    this.#pooled.set(pooled.key, pooled);
    if (pooled.hasFailed || this.#closed.signal.aborted) this.#end(pooled);
    else pooled.timer = setTimeout(() => this.#end(pooled), this.#options.idleMs).unref();
    this.#announce();
  }

  /** Closes a memory that has no user. It keeps its place until then: its files are in use. */
  #end(pooled: Pooled): void {
    if (pooled.isClosing) return;
    pooled.isClosing = true;
    clearTimeout(pooled.timer);
    const close = async (): Promise<void> => (await pooled.opening.catch(() => undefined))?.close();
    close()
      .catch((error: unknown) =>
        this.#options.notify(`the memory of ${pooled.key} was not closed: ${messageOf(error)}`),
      )
      .finally(() => this.#remove(pooled));
  }

  #remove(pooled: Pooled): void {
    if (this.#pooled.get(pooled.key) === pooled) this.#pooled.delete(pooled.key);
    this.#announce();
  }

  #announce(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }
}

/**
 * Makes a pool of memories for a server with many users.
 *
 * ```ts
 * const pool = createMemoryPool({
 *   max: 100,
 *   open: (user, { signal }) => openMemory({ agentId: "main", workspaceDir: path.join("users", user), signal }),
 * });
 * const results = await pool.use("alice", (memory) => memory.search("when do we meet?"));
 * ```
 */
export function createMemoryPool(options: MemoryPoolOptions): MemoryPool {
  return new MemoryPool(options);
}

const milliseconds = between(0, 2 ** 31 - 1);

function checkPool(options: MemoryPoolOptions): Settled {
  const { open, notify = warn } = required(object)("options", options) as MemoryPoolOptions;
  required(callable)("open", open);
  required(callable)("notify", notify);
  const max = optional(whole(1, 1_000_000), 100);
  const numbers = { max, idleMs: optional(milliseconds, 60_000), waitMs: optional(milliseconds, 30_000) };
  return { open, notify, ...readFields(numbers, options) };
}
