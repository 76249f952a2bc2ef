import {
  createRest,
  type EmbeddingError,
  type EmbeddingProvider,
  embeddingErrorOf,
  type SyncProgress,
  traceCall,
  withDeadline,
} from "@memslot/core";

/** How long a model that could not be fetched or loaded is left alone by searches. */
const restMs = 60_000;

/** Has a provider fetch and load what it needs, once at a time, for all who wait for it. */
export class Preparation {
  readonly #provider: EmbeddingProvider;
  /** Aborted when the memory is closed. */
  readonly #closing: AbortSignal;
  readonly #rest = createRest<EmbeddingError>();
  /** Whoever waits for it and wants to see how far it is. */
  readonly #watchers = new Set<(update: SyncProgress) => void>();
  #isDone: boolean;
  #running: Promise<void> | undefined;
  #activity: string | undefined;

  constructor(provider: EmbeddingProvider, closing: AbortSignal) {
    this.#provider = provider;
    this.#closing = closing;
    this.#isDone = provider.prepare === undefined;
  }

  /** What is being fetched or loaded now. */
  get activity(): string | undefined {
    return this.#activity;
  }

  /** A failure is told again for a minute, to whoever does not ask to `retry`. */
  async wait(how: {
    signal: AbortSignal;
    retry: boolean;
    progress?: ((update: SyncProgress) => void) | undefined;
  }): Promise<void> {
    const { signal, retry, progress } = how;
    if (this.#isDone) return;
    const resting = this.#rest.current();
    if (!retry && resting) throw resting.failure;
    if (progress) this.#watchers.add(progress);
    try {
      const shared = (this.#running ??= this.#run());
      // One who stops waiting leaves the work to the others.
      await withDeadline({ what: `preparing ${this.#provider.id}`, signals: [signal] }, () => shared);
    } finally {
      if (progress) this.#watchers.delete(progress);
    }
  }

  /** Waits for what is running. */
  async settled(): Promise<void> {
    await this.#running?.catch(() => undefined);
  }

  async #run(): Promise<void> {
    const provider = this.#provider;
    this.#activity = "loading the model";
    try {
      await traceCall(
        "provider",
        () => ({ operation: "prepare", provider: provider.id, model: provider.model }),
        async () =>
          await provider.prepare?.({
            signal: this.#closing,
            progress: (update) => {
              this.#activity = describe(update);
              for (const watch of this.#watchers) watch(update);
            },
          }),
      );
      this.#isDone = true;
    } catch (error) {
      this.#closing.throwIfAborted();
      const failure = embeddingErrorOf(error, provider.id);
      this.#rest.start(failure, restMs);
      throw failure;
    } finally {
      this.#activity = undefined;
      this.#running = undefined;
    }
  }
}

/** `downloading model.gguf, 34 %` */
function describe({ completed, total, label }: SyncProgress): string {
  const share = total > 0 ? `, ${Math.floor((100 * completed) / total)} %` : "";
  return `${label ?? "preparing"}${share}`;
}
