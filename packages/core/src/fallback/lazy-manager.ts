import { MemoryError } from "../contract/errors.ts";
import type { MemorySearchManager } from "../contract/manager.ts";
import { abortErrorOf, withDeadline } from "../guard/deadline.ts";
import { checkManager } from "../guard/opened.ts";

/** A manager that is open already, or how it is opened. */
interface Source {
  name: string;
  manager?: MemorySearchManager | undefined;
  open?(signal: AbortSignal): Promise<MemorySearchManager>;
}

/** A manager that is opened with the first need, and again with the next one where that has failed. */
export class LazyManager {
  readonly name: string;
  /** The open one. It stays to be asked for its status when it is closed. */
  current: MemorySearchManager | undefined;
  protected readonly closing: AbortController = new AbortController();
  readonly #source: Source;
  readonly #openMs: number;
  #opening: Promise<MemorySearchManager> | undefined;
  /** What was really started, which may go on for a while after it was aborted. */
  #work: Promise<MemorySearchManager> | undefined;

  constructor(source: Source, openMs = 60_000) {
    this.name = source.name;
    this.current = source.manager;
    this.#source = source;
    this.#openMs = openMs;
  }

  /**
   * Callers share one opening, which goes on when one of them is aborted. Throws `UNAVAILABLE` after the deadline, and
   * `CLOSED` after `close`.
   */
  async get(signal: AbortSignal | undefined): Promise<MemorySearchManager> {
    if (this.closing.signal.aborted)
      throw new MemoryError("CLOSED", `"${this.name}" is closed; open the memory again to go on`);
    if (this.current) return this.current;
    const shared = (this.#opening ??= this.#start());
    shared.catch(() => undefined);
    return withDeadline({ what: `opening "${this.name}"`, signals: [signal] }, () => shared);
  }

  /** Aborts an opening that is on its way, waits for its end, and closes what is open. */
  async close(): Promise<void> {
    this.closing.abort(new MemoryError("CLOSED", `"${this.name}" was closed`));
    await this.#work?.catch(() => undefined);
    await this.current?.close?.();
  }

  async #start(): Promise<MemorySearchManager> {
    const { signal } = this.closing;
    const limits = { what: `opening "${this.name}"`, deadlineMs: this.#openMs, signals: [signal] };
    try {
      return (this.current = await withDeadline(limits, (inner) => (this.#work = this.#open(inner))));
    } catch (error) {
      // What is past its deadline closes itself when it comes; nobody waits for it.
      if (!signal.aborted) this.#work = undefined;
      throw error;
    } finally {
      this.#opening = undefined;
    }
  }

  async #open(signal: AbortSignal): Promise<MemorySearchManager> {
    const opened = (await this.#source.open?.(signal)) as MemorySearchManager;
    if (signal.aborted) {
      await opened?.close?.();
      throw abortErrorOf(signal);
    }
    checkManager(this.name, opened);
    return opened;
  }
}
