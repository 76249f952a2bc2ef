import { createRest, isAbort, messageOf, SerialQueue, withDeadline } from "@memslot/core";
import type { QmdOptions } from "../settings/options.ts";
import type { QmdIndexStatus } from "../qmd-contract.ts";
import { type IndexInput, UpdatedIndex } from "./updated-index.ts";

/** After an update that failed; twice as long with each further one, up to the second. */
const firstRestMs = 30_000;
const longestRestMs = 600_000;

export interface UpdateFacts {
  /** What the last update failed of; nothing where it went well. */
  lastError?: { error: unknown; message: string; at: string } | undefined;
  /** What the index held when it was asked last. */
  index?: QmdIndexStatus | undefined;
}

interface UpdatesInput extends IndexInput {
  options: QmdOptions["update"];
  /** Nothing is told to qmd and nothing is written, for somebody who only looks. */
  readOnly: boolean;
  /** After an update that went well. */
  onUpdated: () => void;
}

/** Tells qmd what has changed: in the background and never for a search, or at once where somebody waits for it. */
export class Updates {
  readonly index: UpdatedIndex;
  readonly #input: UpdatesInput;
  readonly #closing = new AbortController();
  readonly #inTurn = new SerialQueue();
  readonly #rest = createRest<unknown>();
  #failures = 0;
  #lastError: UpdateFacts["lastError"];
  #timer: { handle: NodeJS.Timeout; at: number } | undefined;
  #isQueued = false;

  constructor(input: UpdatesInput) {
    this.#input = input;
    this.index = new UpdatedIndex(input);
  }

  /** Something has changed. It is told after a while, together with what comes until then; `soon`: without waiting. */
  request(when: "later" | "soon"): void {
    const { readOnly, options } = this.#input;
    if (this.#closing.signal.aborted || readOnly) return;
    const restMs = this.#rest.current()?.remainingMs ?? 0;
    const at = Date.now() + Math.max(restMs, when === "soon" ? 0 : options.debounceMs);
    if (this.#timer !== undefined && this.#timer.at <= at) return;
    clearTimeout(this.#timer?.handle);
    const handle = setTimeout(() => this.#queue(), Math.max(0, at - Date.now())).unref();
    this.#timer = { handle, at };
  }

  #queue(): void {
    this.#timer = undefined;
    if (this.#isQueued) return;
    this.#isQueued = true;
    this.#inTurn
      .run(async () => {
        this.#isQueued = false;
        await this.#run(false, this.#closing.signal);
      })
      .catch((error: unknown) => {
        // What failed is in the facts, and is tried again.
        if (!this.#closing.signal.aborted && !isAbort(error)) this.request("soon");
      });
  }

  /** Brings the index up to date with the files as they are now. `force`: it is made anew from nothing. */
  async now({ force, signal }: { force: boolean; signal: AbortSignal }): Promise<void> {
    if (this.#input.readOnly) return;
    const run = (inner: AbortSignal): Promise<void> => this.#inTurn.run(() => this.#run(force, inner));
    // Whoever gives up waiting for its turn is told at once.
    await withDeadline({ what: "an update of qmd", signals: [signal] }, run);
  }

  async #run(force: boolean, given: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([given, this.#closing.signal]);
    try {
      signal.throwIfAborted();
      await this.index.update(force, signal);
      this.#failures = 0;
      this.#rest.end();
      this.#lastError = undefined;
      this.#input.onUpdated();
    } catch (error) {
      if (!isAbort(error) && !signal.aborted) {
        this.#rest.start(error, Math.min(longestRestMs, firstRestMs * 2 ** this.#failures));
        this.#failures++;
        this.#lastError = { error, message: messageOf(error), at: new Date().toISOString() };
      }
      throw error;
    }
  }

  /** The index cannot be read, or holds nothing of what it should: it is made anew behind whoever asks. */
  async lost(isDamaged: boolean): Promise<void> {
    await this.index.lost(isDamaged);
    this.request("soon");
  }

  /** `index.yml` is written anew and read again by qmd; whoever asked may ask once more. */
  async restoreCollections(): Promise<void> {
    this.index.renewCollections({ write: !this.#input.readOnly });
    await this.#input.process.restart();
    this.request("soon");
  }

  facts(): UpdateFacts {
    return { lastError: this.#lastError, index: this.index.status };
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer?.handle);
    this.#closing.abort();
    await this.#inTurn.settled();
  }
}
