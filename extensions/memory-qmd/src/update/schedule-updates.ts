import { isAbort, messageOf, withDeadline } from "@memslot/core";
import { createCooldown, SerialQueue } from "@memslot/core/host";
import { type QmdOptions, readDuration } from "../options.ts";
import { type IndexInput, QmdIndex } from "./qmd-index.ts";

/** Pause after an update that failed; doubles with each further one, up to the longest. */
const firstPauseMs = 30_000;
const longestPauseMs = 600_000;

interface UpdatesInput extends IndexInput {
  options: QmdOptions["update"];
  readOnly: boolean;
  scan: (signal: AbortSignal) => Promise<unknown>;
  wantsVectors: () => boolean;
}

/** Updates of the index of qmd: in the background, or at once for a caller that waits. Keeps no process alive. */
export class Updates {
  readonly index: QmdIndex;
  lastError: { error: unknown; message: string; at: string } | undefined;
  readonly #input: UpdatesInput;
  readonly #closing = new AbortController();
  readonly #queue = new SerialQueue();
  readonly #pause = createCooldown<unknown>();
  #failures = 0;
  #timer: { handle: NodeJS.Timeout; at: number } | undefined;
  #isQueued = false;
  #intervals: (NodeJS.Timeout | undefined)[] = [];
  #embedding: Promise<void> | undefined;
  #embeddedAt = Number.NEGATIVE_INFINITY;

  constructor(input: UpdatesInput) {
    this.#input = input;
    this.index = new QmdIndex(input);
  }

  startIntervals(): void {
    const { interval, embedInterval } = this.#input.options;
    this.#intervals = [every(interval, () => this.#scan()), every(embedInterval, () => this.#embed())];
  }

  /** Requests an update after the notes changed: `later`, together with further changes, or `soon`. */
  request(when: "later" | "soon"): void {
    const { readOnly, options } = this.#input;
    if (this.#closing.signal.aborted || readOnly) return;
    const pauseMs = this.#pause.current()?.remainingMs ?? 0;
    const at = Date.now() + Math.max(pauseMs, when === "soon" ? 0 : options.debounceMs);
    if (this.#timer !== undefined && this.#timer.at <= at) return;
    clearTimeout(this.#timer?.handle);
    const handle = setTimeout(() => this.#enqueue(), Math.max(0, at - Date.now())).unref();
    this.#timer = { handle, at };
  }

  #enqueue(): void {
    this.#timer = undefined;
    if (this.#isQueued) return;
    this.#isQueued = true;
    const run = async (): Promise<void> => {
      this.#isQueued = false;
      await this.#run(false, this.#closing.signal);
    };
    this.#queue.run(run).catch((error: unknown) => {
      if (!this.#closing.signal.aborted && !isAbort(error)) this.request("soon");
    });
  }

  /** Updates the index now. `force`: rebuilds it. */
  async now({ force, signal }: { force: boolean; signal: AbortSignal }): Promise<void> {
    if (this.#input.readOnly) return;
    const run = (inner: AbortSignal): Promise<void> => this.#queue.run(() => this.#run(force, inner));
    // An abort ends the wait for the queue too.
    await withDeadline({ what: "an update of qmd", signals: [signal] }, run);
  }

  async #run(force: boolean, given: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([given, this.#closing.signal]);
    try {
      signal.throwIfAborted();
      await this.index.update(force, signal);
      this.#failures = 0;
      this.#pause.end();
      this.lastError = undefined;
      const embedIntervalMs = readDuration(this.#input.options.embedInterval);
      if (embedIntervalMs > 0 && performance.now() - this.#embeddedAt >= embedIntervalMs) this.#embed();
    } catch (error) {
      if (!isAbort(error) && !signal.aborted) {
        this.#pause.start(error, Math.min(longestPauseMs, firstPauseMs * 2 ** this.#failures));
        this.#failures++;
        this.lastError = { error, message: messageOf(error), at: new Date().toISOString() };
      }
      throw error;
    }
  }

  #scan(): void {
    this.#input
      .scan(this.#closing.signal)
      .then(() => this.request("soon"))
      // The status of the scan has the failure.
      .catch(() => undefined);
  }

  #embed(): void {
    const { readOnly, wantsVectors } = this.#input;
    if (this.#closing.signal.aborted || readOnly || !wantsVectors()) return;
    this.#embeddedAt = performance.now();
    this.#embedding ??= this.#makeVectors()
      .catch(() => undefined)
      .finally(() => (this.#embedding = undefined));
  }

  async #makeVectors(): Promise<void> {
    const { client, options } = this.#input;
    const { signal } = this.#closing;
    const { needsEmbedding } = await this.index.readStatus(signal);
    if (needsEmbedding === 0) return;
    await client.embed({ minutes: Math.max(1, Math.ceil(options.embedTimeoutMs / 60_000)), signal });
    await this.index.readStatus(signal);
  }

  /** Has the next update rebuild an index that cannot be read or is empty. */
  async lost(isDamaged: boolean): Promise<void> {
    await this.index.lost(isDamaged);
    this.request("soon");
  }

  /** Writes `index.yml` again, so that the caller can repeat its search. */
  async restoreCollections(): Promise<void> {
    this.index.readCollections({ write: !this.#input.readOnly });
    await this.#input.client.restart();
    this.request("soon");
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer?.handle);
    for (const interval of this.#intervals) clearInterval(interval);
    this.#closing.abort();
    await Promise.all([this.#queue.settled(), this.#embedding]);
  }
}

function every(interval: string | number, work: () => void): NodeJS.Timeout | undefined {
  const milliseconds = readDuration(interval);
  return milliseconds > 0 ? setInterval(work, milliseconds).unref() : undefined;
}
