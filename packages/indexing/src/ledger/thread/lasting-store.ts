import { existsSync } from "node:fs";
import type { VectorSpace } from "../../chunk-store.ts";
import { type OpenedStore, openDatabaseStore } from "../database-store.ts";
import { type CompanionTables, noCompanion } from "../companion.ts";
import { createLeases } from "../leases.ts";
import { isPieces, type Pieces, methodsOf, reasonOf, StoreFailure } from "./remote.ts";
import type { OpenOptions } from "./protocol.ts";
import { fileIdentity } from "../file/set-aside.ts";
import { isAboutWordsOnly, isDamage, isSqliteError } from "../file/store-errors.ts";

/** A disk that damages what is written to it is not fought for ever. */
const maxRepairs = 3;

/**
 * A store that outlives its file: one that is deleted or replaced by another while it is open, can no longer be written
 * or turns out to be damaged, is opened anew in place, and the call that met it is made once more.
 */
export interface LastingStore extends Pick<OpenedStore, "methods" | "health" | "tidy" | "shrink" | "close"> {
  /** Answers a call. What takes long comes as `Pieces`. */
  call(method: string, args: readonly unknown[]): Promise<unknown>;
}

/** `openOnce` is for tests. */
export async function openLastingStore(
  options: OpenOptions,
  tables: CompanionTables = noCompanion,
  openOnce: typeof openDatabaseStore = openDatabaseStore,
): Promise<LastingStore> {
  const { path, moves = 0 } = options;
  let store: OpenedStore = openOnce({ ...options, opening: `${moves}.1` }, tables);
  await store.settle();
  /** A first index, which a full disk may take away: the notes are found without it, and no vector was paid for. */
  let isFirst = !store.holds("files") && !store.holds("embedding_cache");
  let openings = 1;
  // What was in memory, or in a file that has gone, did not come along into this thread.
  let remade = (options.remade ?? 0) + (moves > 0 && isFirst ? 1 : 0);
  let repairs = 0;
  let wantedSpace: VectorSpace | undefined;
  let earlierNotices: string[] = [];
  const { close: closeLeases, ...leases } = createLeases({
    indexPath: () => (store.identity === undefined ? undefined : path),
    locksDir: options.locksDir,
    store: options.store,
    rows: { get: (key) => store.rows.get(key), set: (key, value) => store.rows.set(key, value) },
  });

  async function reopen(notice?: string, found?: Pick<OpenOptions, "damaged" | "isFull">): Promise<void> {
    earlierNotices = [...noticesOf(), ...(notice === undefined ? [] : [notice])];
    store.close();
    remade++;
    store = openOnce({ ...options, ...found, opening: `${moves}.${++openings}` }, tables);
    isFirst = false;
    await store.settle();
    if (wantedSpace) store.useSpace(wantedSpace);
  }

  function noticesOf(): string[] {
    return [...new Set([...earlierNotices, ...store.health().notices])];
  }

  async function lookAtFile(): Promise<void> {
    // Whoever only looks makes no file, and what is open is the last that there is to see.
    if (store.identity === undefined || options.mayCreate === false || isSame(path, store.identity)) return;
    await reopen(
      existsSync(path)
        ? `the index ${path} was replaced by another file while it was open; that one is used now`
        : `the index ${path} was deleted while it was open; it is made anew from the notes`,
    );
  }

  /** True: it was opened anew, and the call that failed can be made once more. */
  async function recover(error: unknown): Promise<boolean> {
    if (store.identity === undefined) return false;
    const cause = error instanceof Error ? error.cause : undefined;
    if (isDamage(cause)) {
      if (++repairs > maxRepairs) return false;
      const isInWords = isAboutWordsOnly(cause);
      const damaged = isInWords ? undefined : { identity: store.identity, reason: reasonOf(cause) };
      await reopen(undefined, { damaged });
      return true;
    }
    const isFull = isSqliteError(cause, "SQLITE_FULL") && isFirst && !store.holds("embedding_cache");
    if (!isFull && !isSqliteError(cause, "SQLITE_READONLY")) return false;
    await reopen(undefined, { isFull });
    return true;
  }

  function invoke(method: string, args: readonly unknown[]): unknown {
    if (method === "useSpace") wantedSpace = args[0] as VectorSpace;
    const owner: object = method in leases ? leases : store;
    const call = (owner as Record<string, (...args: readonly unknown[]) => unknown>)[method];
    if (call === undefined) throw new StoreFailure("INVALID_ARGUMENT", `there is no call ${method}`);
    return call(...args);
  }

  async function* inPieces(method: string, args: readonly unknown[], first: Pieces<unknown>): Pieces<unknown> {
    try {
      return yield* first;
    } catch (error) {
      if (!(await recover(error))) throw error;
      return yield* invoke(method, args) as Pieces<unknown>;
    }
  }

  return {
    methods: [...store.methods, ...methodsOf(leases)],
    async call(method, args) {
      // Searches go on answering from what they have.
      if (!store.searches.has(method)) await lookAtFile();
      try {
        const answer = invoke(method, args);
        return isPieces(answer) ? inPieces(method, args, answer) : answer;
      } catch (error) {
        if (!(await recover(error))) throw error;
        return invoke(method, args);
      }
    },
    health: () => ({ ...store.health(), ...(remade > 0 && { remade }), notices: noticesOf() }),
    tidy: (isQuiet) => store.tidy(isQuiet),
    shrink: () => store.shrink(),
    close() {
      try {
        closeLeases();
      } finally {
        store.close();
      }
    },
  };
}

function isSame(path: string, identity: string): boolean {
  try {
    return fileIdentity(path) === identity;
  } catch {
    // It cannot be told. What is wrong with it shows when it is used.
    return true;
  }
}
