import { EmbeddingError, MemoryError, withDeadline } from "@memslot/core";

interface QueryRequest {
  reason: string;
  signal: AbortSignal;
  /** Whether a caller would still wait when the next attempt is made in so many milliseconds. */
  waits(milliseconds: number): boolean;
}

interface Flight {
  readonly vector: Promise<Float32Array>;
  readonly controller: AbortController;
  waiters: number;
  /** The patience of a caller has ended, and the answer is wanted for the next time. */
  isWanted: boolean;
  /** The latest end of a patience, in milliseconds since 1970. */
  patientUntil: number;
}

interface Source {
  /** Names the provider in a message. */
  what: string;
  embed(query: string, request: QueryRequest): Promise<Float32Array>;
}

const keptQueries = 256;

/** The vectors of queries: the last ones are kept, and those who ask the same at the same time share one request. */
export class QueryVectors {
  readonly #source: Source;
  /** Ordered by last use, most recent last. */
  readonly #recent = new Map<string, Float32Array>();
  readonly #flights = new Map<string, Flight>();
  readonly #closing = new AbortController();

  constructor(source: Source) {
    this.#source = source;
  }

  /**
   * Ends within `patienceMs`, with a vector or an `EmbeddingError`; throws the signal's reason when aborted. A request
   * that takes longer continues, for the next caller with the same query.
   */
  async get(
    query: string,
    { signal, reason, patienceMs }: { signal: AbortSignal; reason: string; patienceMs: number },
  ): Promise<Float32Array> {
    const { what } = this.#source;
    signal.throwIfAborted();
    this.#closing.signal.throwIfAborted();
    const known = this.#recent.get(query);
    if (known) {
      this.#keep(query, known);
      return known.slice();
    }
    const flight = this.#flights.get(query) ?? this.#start(query, reason);
    flight.waiters++;
    flight.patientUntil = Math.max(flight.patientUntil, Date.now() + patienceMs);
    try {
      const vector = await withDeadline({ what, deadlineMs: patienceMs, signals: [signal] }, () => flight.vector);
      // A copy: what the caller does with it is its own.
      return vector.slice();
    } catch (error) {
      signal.throwIfAborted();
      if (!MemoryError.is(error, "UNAVAILABLE")) throw error;
      flight.isWanted = true;
      throw new EmbeddingError("transient", error.message, { cause: error });
    } finally {
      if (--flight.waiters === 0 && !flight.isWanted) {
        this.#forget(query, flight);
        flight.controller.abort();
      }
    }
  }

  /** Ends the requests that go on. */
  async close(): Promise<void> {
    const closed = new MemoryError("CLOSED", `${this.#source.what} is closed`);
    this.#closing.abort(closed);
    const open = [...this.#flights.values()];
    for (const { controller } of open) controller.abort(closed);
    await Promise.allSettled(open.map(({ vector }) => vector));
  }

  #start(query: string, reason: string): Flight {
    const controller = new AbortController();
    const waits = (milliseconds: number): boolean => Date.now() + milliseconds < flight.patientUntil;
    const work = async (): Promise<Float32Array> => {
      try {
        const vector = await this.#source.embed(query, { reason, signal: controller.signal, waits });
        this.#keep(query, vector);
        return vector;
      } finally {
        this.#forget(query, flight);
      }
    };
    // Begun in the next turn, when `flight` is there.
    const vector = Promise.resolve().then(work);
    const flight: Flight = { vector, controller, waiters: 0, isWanted: false, patientUntil: 0 };
    this.#flights.set(query, flight);
    return flight;
  }

  #keep(query: string, vector: Float32Array): void {
    this.#recent.delete(query);
    this.#recent.set(query, vector);
    const [oldest] = this.#recent.keys();
    if (this.#recent.size > keptQueries && oldest !== undefined) this.#recent.delete(oldest);
  }

  #forget(query: string, flight: Flight): void {
    if (this.#flights.get(query) === flight) this.#flights.delete(query);
  }
}
