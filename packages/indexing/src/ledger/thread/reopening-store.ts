import { existsSync } from "node:fs";
import type { VectorSpace } from "../../chunk-store.ts";
import { type OpenedStore, openDatabaseStore } from "../database-store.ts";
import { type CompanionTables, noCompanion } from "../store-search-tables.ts";
import { createLeases } from "../leases.ts";
import { isPieces, type Pieces, methodsOf, reasonOf, StoreFailure } from "./remote-calls.ts";
import type { OpenOptions } from "./thread-messages.ts";
import { fileIdentity } from "../file/set-aside-damaged-file.ts";
import { isAboutWordsOnly, isDamage, isSqliteError } from "../file/store-errors.ts";

const maxRepairs = 3;

/** Reopens its store when the file is deleted, replaced, unwritable or damaged, and repeats the failed call once. */
export interface ReopeningStore extends Pick<OpenedStore, "methods" | "health" | "tidy" | "shrink" | "close"> {
  call(method: string, args: readonly unknown[]): Promise<unknown>;
}

export async function openReopeningStore(
  options: OpenOptions,
  tables: CompanionTables = noCompanion,
  openOnce: typeof openDatabaseStore = openDatabaseStore,
): Promise<ReopeningStore> {
  const { path, moves = 0 } = options;
  let store: OpenedStore = openOnce({ ...options, opening: `${moves}.1` }, tables);
  await store.settle();
  /** A first index may be dropped when the disk is full: no vector was paid for. */
  let isFirst = !store.holds("files") && !store.holds("embedding_cache");
  let openings = 1;
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
    if (store.identity === undefined || options.mayCreate === false || isSame(path, store.identity)) return;
    await reopen(
      existsSync(path)
        ? `the index ${path} was replaced by another file while it was open; that one is used now`
        : `the index ${path} was deleted while it was open; it is rebuilt from the notes`,
    );
  }

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
      // Searches continue with the open file.
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
    return true;
  }
}
