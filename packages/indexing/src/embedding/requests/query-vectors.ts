import { ProviderError, MemoryError, withDeadline } from "@memslot/core";

interface QueryRequest {
  reason: string;
  signal: AbortSignal;
  /** Whether a caller still waits in so many milliseconds. */
  waits(milliseconds: number): boolean;
}

interface Flight {
  readonly vector: Promise<Float32Array>;
  readonly controller: AbortController;
  waiters: number;
  isWanted: boolean;
  patientUntil: number;
}

const keptQueries = 256;

/** The vectors of queries: the last ones are cached, and callers with the same query share one request. */
export class QueryVectors {
  readonly #what: string;
  readonly #embed: (query: string, request: QueryRequest) => Promise<Float32Array>;
  readonly #recent = new Map<string, Float32Array>();
  readonly #flights = new Map<string, Flight>();
  readonly #closing = new AbortController();

  constructor(what: string, embed: (query: string, request: QueryRequest) => Promise<Float32Array>) {
    this.#what = what;
    this.#embed = embed;
  }

  /** Ends within `patienceMs`. A request that takes longer continues for the next caller with the same query. */
  async get(
    query: string,
    { signal, reason, patienceMs }: { signal: AbortSignal; reason: string; patienceMs: number },
  ): Promise<Float32Array> {
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
      const limits = { what: this.#what, deadlineMs: patienceMs, signals: [signal] };
      const vector = await withDeadline(limits, () => flight.vector);
      return vector.slice();
    } catch (error) {
      signal.throwIfAborted();
      if (!MemoryError.is(error, "UNAVAILABLE")) throw error;
      flight.isWanted = true;
      throw new ProviderError("transient", error.message, { cause: error });
    } finally {
      if (--flight.waiters === 0 && !flight.isWanted) {
        this.#forget(query, flight);
        flight.controller.abort();
      }
    }
  }

  async close(): Promise<void> {
    const closed = new MemoryError("CLOSED", `${this.#what} is closed`);
    this.#closing.abort(closed);
    const open = [...this.#flights.values()];
    for (const { controller } of open) controller.abort(closed);
    await Promise.allSettled(open.map(({ vector }) => vector));
  }

  #start(query: string, reason: string): Flight {
    const controller = new AbortController();
    const { signal } = controller;
    const waits = (milliseconds: number): boolean => Date.now() + milliseconds < flight.patientUntil;
    // Begins in the next turn, when `flight` exists.
    const vector = Promise.resolve()
      .then(() => this.#embed(query, { reason, signal, waits }))
      .then((made) => this.#keep(query, made))
      .finally(() => this.#forget(query, flight));
    const flight: Flight = { vector, controller, waiters: 0, isWanted: false, patientUntil: 0 };
    this.#flights.set(query, flight);
    return flight;
  }

  #keep(query: string, vector: Float32Array): Float32Array {
    this.#recent.delete(query);
    this.#recent.set(query, vector);
    const [oldest] = this.#recent.keys();
    if (this.#recent.size > keptQueries && oldest !== undefined) this.#recent.delete(oldest);
    return vector;
  }

  #forget(query: string, flight: Flight): void {
    if (this.#flights.get(query) === flight) this.#flights.delete(query);
  }
}
