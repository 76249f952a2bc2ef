import type { FileTables, FileTarget } from "../files/file-tables.ts";
import type { Generations } from "./generations.ts";
import type { Companion } from "../database/companion.ts";
import type { DatabaseStore } from "../thread/protocol.ts";
import { StoreFailure } from "../thread/store-failure.ts";
import type { Transactions } from "../database/transactions.ts";
import type { Vectors } from "../vectors/vectors.ts";

type BuildMethod =
  | "buildStart"
  | "buildCurrent"
  | "buildFinish"
  | "buildAbandon"
  | `next${Capitalize<Exclude<keyof FileTables, "removeInside">>}`;

/** What a store does with the builds of a ledger. */
export interface Builds extends Pick<DatabaseStore, BuildMethod> {
  /** The files of the build with this number, inside a transaction. Throws where it is not being made any more. */
  tableOf(build: number): FileTables;
}

/** Makes a new generation beside the one that answers. What is dropped here is deleted by `dropped-generations.ts`. */
export function createBuilds(input: {
  transactions: Transactions;
  generations: Generations;
  fileTables: (target: FileTarget) => FileTables;
  vectors: Pick<Vectors, "listener" | "cache">;
  companion: Pick<Companion, "prepare">;
}): Builds {
  const { transactions, generations, vectors, companion } = input;
  /** What this process builds, and the one that its present call is about. */
  let started: number | undefined;
  let asked = 0;
  const files = input.fileTables({ generation: () => expectNext(asked), changed: () => undefined });

  /** Another process may have begun another build, or put this one in place. */
  function expectNext(id: number): number {
    if (generations.next()?.id === id) return id;
    throw new StoreFailure("BUSY", "another process has ended this rebuild of the index; start it again");
  }

  function drop(id: number): void {
    generations.drop(id);
    vectors.listener.changed();
  }

  function on<Args extends readonly unknown[], Result>(
    call: (...args: Args) => Result,
  ): (build: number, ...args: Args) => Result {
    return (build, ...args) => {
      asked = build;
      return call(...args);
    };
  }

  return {
    buildStart(name) {
      const id = transactions.write(() => {
        const next = generations.next();
        if (next?.name === name) return next.id;
        if (next) drop(next.id);
        return generations.add(name);
      });
      started = id;
      companion.prepare(id);
      return id;
    },
    buildCurrent() {
      const next = transactions.read(() => generations.next());
      started = next?.id;
      return next && { name: next.name, build: next.id };
    },
    buildFinish() {
      if (started === undefined) throw new StoreFailure("INVALID_ARGUMENT", "no rebuild was started to be finished");
      const id = started;
      vectors.cache.noteChunks();
      // Before the step, so that the first search after it finds all in its place.
      companion.prepare(transactions.read(() => expectNext(id)));
      transactions.write(() => {
        expectNext(id);
        generations.flip(Date.now());
        generations.revise();
        vectors.listener.changed();
      });
      started = undefined;
    },
    buildAbandon() {
      started = undefined;
      if (generations.next() === undefined) return;
      transactions.write(() => {
        const next = generations.next();
        if (next) drop(next.id);
      });
    },
    tableOf(build) {
      asked = expectNext(build);
      return files;
    },
    nextListFiles: on(files.listFiles),
    nextReplaceFiles: on(files.replaceFiles),
    nextTouchFiles: on(files.touchFiles),
    nextRemoveFiles: on(files.removeFiles),
  };
}
