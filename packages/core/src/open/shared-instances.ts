import { isDeepStrictEqual } from "node:util";
import type { Memory } from "../contract/memory.ts";
import { callMemory, eachMemoryCall, signalOf, withSignal } from "../guard/call-table.ts";
import { Lifecycle, withDeadline } from "../guard/deadline.ts";

interface ShareOptions {
  key: {
    facts: unknown;
    /** Compared by identity: the plugin and the provider as objects. */
    objects: readonly unknown[];
  };
  /** Runs when there is no instance yet. Its signal aborts when no caller waits for the instance any more. */
  open: (signal: AbortSignal, notify: (line: string) => void) => Promise<Memory>;
  notify: (line: string) => void;
  signal: AbortSignal | undefined;
  closeMs: number;
}

type User = Pick<ShareOptions, "notify">;

// The only module-level state: two managers of one index in a process would conflict.
const instances = new Set<Instance>();

/** Returns a handle on the shared instance of a key; the last close closes it. */
export async function shareInstance(options: ShareOptions): Promise<Memory> {
  const { signal, closeMs } = options;
  // As JSON has them: a value that is undefined counts as omitted.
  const key = { ...options.key, facts: JSON.parse(JSON.stringify(options.key.facts)) as unknown };
  for (;;) {
    const instance = [...instances].find((each) => each.isFor(key)) ?? new Instance(key, options.open);
    if (!instance.closing) return instance.enter(options);
    // Its files may still be in use. Whoever closes it gets the error.
    const ended = instance.closing.catch(() => undefined);
    await withDeadline(
      { what: "the close of the same memory", deadlineMs: 4 * closeMs, signals: [signal] },
      () => ended,
    );
  }
}

class Instance {
  closing: Promise<void> | undefined;
  readonly #key: ShareOptions["key"];
  readonly #opening: Promise<Memory>;
  readonly #users = new Set<User>();
  readonly #notices = new Set<string>();
  readonly #abandoned = new AbortController();

  constructor(key: ShareOptions["key"], open: ShareOptions["open"]) {
    this.#key = key;
    instances.add(this);
    const opening = async (): Promise<Memory> => open(this.#abandoned.signal, (line) => this.#notify(line));
    this.#opening = opening();
    this.#opening.catch(() => instances.delete(this));
  }

  isFor({ facts, objects }: ShareOptions["key"]): boolean {
    const own = this.#key;
    return own.objects.every((object, index) => object === objects[index]) && isDeepStrictEqual(own.facts, facts);
  }

  async enter({ notify, signal, closeMs }: ShareOptions): Promise<Memory> {
    const user = { notify };
    const isNew = ![...this.#users].some((other) => other.notify === notify);
    // Counted before waiting: a handle that is closed meanwhile must not close what this call is about to get.
    this.#users.add(user);
    if (isNew) for (const line of this.#notices) notify(line);
    try {
      const memory = await withDeadline({ what: "opening", signals: [signal] }, () => this.#opening);
      // Ending calls, closing the manager and closing the provider each have their own time.
      return createHandle(memory, 4 * closeMs, () => this.#leave(user));
    } catch (error) {
      this.#leave(user).catch(() => undefined);
      throw error;
    }
  }

  #notify(line: string): void {
    if (this.#notices.has(line)) return;
    this.#notices.add(line);
    for (const notify of new Set([...this.#users].map((user) => user.notify))) notify(line);
  }

  async #leave(user: User): Promise<void> {
    this.#users.delete(user);
    if (this.#users.size > 0 || this.closing) return;
    this.#abandoned.abort();
    await (this.closing = this.#end());
  }

  async #end(): Promise<void> {
    try {
      const memory = await this.#opening.catch(() => undefined);
      await memory?.close();
    } finally {
      instances.delete(this);
    }
  }
}

/** Creates a handle on a shared memory: closing it ends its own calls and leaves the shared memory open. */
export function createHandle(memory: Memory, closeMs: number, release: () => Promise<void>): Memory {
  const { agentId, workspaceDir, ownerAllowFrom } = memory;
  const lifecycle = new Lifecycle(`the memory of agent "${agentId}"`, closeMs);
  return {
    ...eachMemoryCall((name) => async (...given) => {
      const limits = { what: name, signals: [signalOf(name, given)] };
      return lifecycle.run(limits, (signal) => callMemory(memory, name, withSignal(name, given, signal)));
    }),
    agentId,
    workspaceDir,
    ownerAllowFrom,
    status: () => memory.status(),
    close: () => lifecycle.close([{ what: "closing", free: release }]),
  };
}
