import { EmbeddingError, MemoryError, withDeadline } from "@memslot/core";

/** The vectors of queries: the last ones are kept, and those who ask the same at the same time share one request. */
export interface QueryVectors {
  /**
   * Ends within `patienceMs`, with a vector or an `EmbeddingError`; throws the signal's reason when aborted. A request
   * that takes longer goes on, for whoever asks the same again.
   */
  get(query: string, options: { signal: AbortSignal; reason: string; patienceMs: number }): Promise<Float32Array>;
  /** Ends what goes on. */
  close(): Promise<void>;
}

export interface QueryRequest {
  reason: string;
  signal: AbortSignal;
  /** Whether somebody would still wait when the next attempt is made in so many milliseconds. */
  mayPause(milliseconds: number): boolean;
}

interface Flight {
  readonly vector: Promise<Float32Array>;
  readonly controller: AbortController;
  waiters: number;
  /** Somebody's patience has ended, and the answer is wanted for the next time. */
  isWanted: boolean;
  /** The latest end of a patience, in milliseconds since 1970. */
  patientUntil: number;
}

const keptQueries = 256;

export function createQueryVectors(options: {
  /** Names the provider in a message. */
  what: string;
  now: () => Date;
  embed(query: string, request: QueryRequest): Promise<Float32Array>;
}): QueryVectors {
  const { what, now, embed } = options;
  /** The one that was asked for last is the last. */
  const recent = new Map<string, Float32Array>();
  const flights = new Map<string, Flight>();
  const closing = new AbortController();

  function keep(query: string, vector: Float32Array): void {
    recent.delete(query);
    recent.set(query, vector);
    const [oldest] = recent.keys();
    if (recent.size > keptQueries && oldest !== undefined) recent.delete(oldest);
  }

  function forget(query: string, flight: Flight): void {
    if (flights.get(query) === flight) flights.delete(query);
  }

  function start(query: string, reason: string): Flight {
    const controller = new AbortController();
    const mayPause = (milliseconds: number): boolean => now().getTime() + milliseconds < flight.patientUntil;
    const work = async (): Promise<Float32Array> => {
      try {
        const vector = await embed(query, { reason, signal: controller.signal, mayPause });
        keep(query, vector);
        return vector;
      } finally {
        forget(query, flight);
      }
    };
    // Begun in the next turn, when `flight` is there.
    const vector = Promise.resolve().then(work);
    const flight: Flight = { vector, controller, waiters: 0, isWanted: false, patientUntil: 0 };
    flights.set(query, flight);
    return flight;
  }

  return {
    async get(query, { signal, reason, patienceMs }) {
      signal.throwIfAborted();
      closing.signal.throwIfAborted();
      const known = recent.get(query);
      if (known) {
        keep(query, known);
        return known.slice();
      }
      const flight = flights.get(query) ?? start(query, reason);
      flight.waiters++;
      flight.patientUntil = Math.max(flight.patientUntil, now().getTime() + patienceMs);
      try {
        const limits = { what, deadlineMs: patienceMs, signals: [signal] };
        const vector = await withDeadline(limits, () => flight.vector);
        // A copy: what the caller does with it is its own.
        return vector.slice();
      } catch (error) {
        signal.throwIfAborted();
        if (!MemoryError.is(error, "UNAVAILABLE")) throw error;
        flight.isWanted = true;
        throw new EmbeddingError("transient", error.message, { cause: error });
      } finally {
        if (--flight.waiters === 0 && !flight.isWanted) {
          forget(query, flight);
          flight.controller.abort();
        }
      }
    },

    async close() {
      const closed = new MemoryError("CLOSED", `${what} is closed`);
      closing.abort(closed);
      const open = [...flights.values()];
      for (const { controller } of open) controller.abort(closed);
      await Promise.allSettled(open.map(({ vector }) => vector));
    },
  };
}
