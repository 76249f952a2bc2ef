import { compareWithSum } from "../file/file-sum.ts";
import { Damage } from "../file/file-faults.ts";
import { type Meta, metaKeys } from "../file/meta.ts";
import { isAboutWordsOnly, isCorrupt, toStoreError } from "../file/store-errors.ts";
import { isPieces, type Pieces } from "../thread/pieces.ts";
import { reasonOf } from "../thread/store-failure.ts";
import type { Soundness } from "../upkeep/soundness.ts";
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
  soundness: Soundness;
  location: string;
  isOnDisk: boolean;
}): CallGuard {
  const { meta, transactions, soundness, location, isOnDisk } = input;
  let broken: Error | undefined;

  function guarded(call: (...args: readonly unknown[]) => unknown): typeof call {
    return (...args) => {
      if (broken) throw broken;
      try {
        soundness.look();
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

  function failureOf(given: unknown): Error {
    // What cannot be read of the words alone may be a page that was spoilt, and then nothing else is to be relied on.
    const isSpoilt = isOnDisk && isAboutWordsOnly(given) && compareWithSum(location, { anew: true }) === "differs";
    const error = isSpoilt ? new Damage(reasonOf(given)) : given;
    const failure = toStoreError(error, location);
    if (isCorrupt(error) || error instanceof Damage) {
      broken = failure;
      markDamaged(error);
    }
    return failure;
  }

  /** Words alone are no loss: they are made anew from the texts. */
  function markDamaged(error: unknown): void {
    try {
      transactions.write(() =>
        isAboutWordsOnly(error) ? meta.set(metaKeys.wordsStale, "1") : meta.set(metaKeys.damaged, reasonOf(error)),
      );
    } catch {
      // Too damaged to say so: then the next one to open it sees that by itself.
    }
  }

  return {
    all: (calls) =>
      Object.fromEntries(Object.entries(calls).map(([name, call]) => [name, guarded(call)])) as typeof calls,
    failureOf,
    isBroken: () => broken !== undefined,
  };
}
