import { MemoryError } from "../contract/errors.ts";
import { type CallLimits, type Extend, withDeadline } from "./deadline.ts";

interface CloseStep {
  what: string;
  free: () => Promise<void>;
}

/** Open until closed: runs calls, and ends them when it is closed. */
export class Lifecycle {
  readonly #name: string;
  readonly #closeMs: number;
  readonly #closing = new AbortController();
  /** What was really started, which may go on after its caller was told of an abort. */
  readonly #running = new Set<Promise<unknown>>();
  #closed: Promise<void> | undefined;

  constructor(name: string, closeMs: number) {
    this.#name = name;
    this.#closeMs = closeMs;
  }

  /** Throws `CLOSED` after `close`. */
  assertOpen(): void {
    if (this.#closed) throw new MemoryError("CLOSED", `${this.#name} is closed; open it again to go on`);
  }

  /** Throws `CLOSED` after `close`, and for a call that was running at that time. */
  async run<T>(limits: CallLimits, call: (signal: AbortSignal, extend: Extend) => Promise<T>): Promise<T> {
    this.assertOpen();
    const signals = [...(limits.signals ?? []), this.#closing.signal];
    return withDeadline({ ...limits, signals }, async (signal, extend) => {
      const work = call(signal, extend);
      this.#running.add(work);
      try {
        return await work;
      } finally {
        this.#running.delete(work);
      }
    });
  }

  /**
   * Aborts what is running, waits for it to end, then takes the steps one after the other, each of them also when one
   * before it failed. Each has `closeMs`. Every later call gets the promise of the first.
   */
  close(steps: readonly CloseStep[]): Promise<void> {
    return (this.#closed ??= this.#end(steps));
  }

  async #end(steps: readonly CloseStep[]): Promise<void> {
    const deadlineMs = this.#closeMs;
    this.#closing.abort(new MemoryError("CLOSED", `${this.#name} was closed while this call was running`));
    const ended = (): Promise<unknown> => Promise.allSettled(this.#running);
    // The one error here is the deadline: a call that listens to no abort. Its caller knows already, closing goes on.
    await withDeadline({ what: "ending the running calls", deadlineMs }, ended).catch(() => []);
    const errors: unknown[] = [];
    for (const { what, free } of steps)
      await withDeadline({ what, deadlineMs }, free).catch((error: unknown) => errors.push(error));
    if (errors.length > 0) throw errors[0];
  }
}
