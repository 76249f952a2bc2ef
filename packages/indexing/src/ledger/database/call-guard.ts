import type { Integrity } from "../integrity.ts";
import { Damage } from "../file/file-faults.ts";
import { type Meta, metaKeys } from "../file/meta.ts";
import { isAboutWordsOnly, isCorrupt, toStoreError } from "../file/store-errors.ts";
import { isPieces, type Pieces } from "../thread/pieces.ts";
import type { Transactions } from "./transactions.ts";

/** Turns failures into what a caller can act on. A damaged database answers nothing more and is made anew at the next open. */
export interface CallGuard {
  /** The same calls, guarded. */
  all<Calls extends object>(calls: Calls): Calls;
  /** What a failure outside of calls says, and whether the database is damaged. */
  failureOf(error: unknown): Error;
  isBroken(): boolean;
}

export function createCallGuard(input: {
  meta: Meta;
  transactions: Transactions;
  integrity: Pick<Integrity, "look">;
  location: string;
}): CallGuard {
  const { meta, transactions, integrity, location } = input;
  let broken: Error | undefined;

  function guarded(call: (...args: readonly unknown[]) => unknown): typeof call {
    return (...args) => {
      if (broken) throw broken;
      try {
        integrity.look();
        const answer = call(...args);
        return isPieces(answer) ? guardedPieces(answer) : answer;
      } catch (error) {
        throw failureOf(error);
      }
    };
  }

  async function* guardedPieces(pieces: Pieces<unknown>): Pieces<unknown> {
    try {
      return yield* pieces;
    } catch (error) {
      throw failureOf(error);
    }
  }

  function failureOf(error: unknown): Error {
    const failure = toStoreError(error, location);
    if (isCorrupt(error) || error instanceof Damage) {
      broken = failure;
      if (isAboutWordsOnly(error)) markStale();
    }
    return failure;
  }

  /** Words alone are no loss: they are made anew from the texts. */
  function markStale(): void {
    try {
      transactions.write(() => meta.set(metaKeys.wordsStale, "1"));
    } catch {
      // Too damaged to record it: then the next process to open it sees that by itself.
    }
  }

  return {
    all: (calls) =>
      Object.fromEntries(Object.entries(calls).map(([name, call]) => [name, guarded(call)])) as typeof calls,
    failureOf,
    isBroken: () => broken !== undefined,
  };
}
