import { expect, test } from "vitest";
import { noCompanion } from "../database/companion.ts";
import type { openDatabaseStore, OpenedStore } from "../database/database-store.ts";
import { openLastingStore } from "./lasting-store.ts";
import type { OpenOptions } from "./protocol.ts";
import { StoreFailure } from "./store-failure.ts";

/** A store that fails as it is told, in place of the one on disk. */
function failing(
  error: Error,
  failures: number,
): { options: OpenOptions; openOnce: typeof openDatabaseStore; opened(): number } {
  let opened = 0;
  let left = failures;
  const options = {
    path: "/nowhere/main.sqlite",
    store: "tests",
    cacheMaxEntries: 1,
    busyTimeoutMs: 1,
  };
  const store = {
    identity: "1:1",
    settle: async () => undefined,
    health: () => ({ location: options.path, fts: {}, vector: {}, notices: [] }),
    spaces() {
      if (left-- > 0) throw new StoreFailure("UNAVAILABLE", "it failed", { cause: error });
      return "answer";
    },
    close: () => undefined,
  };
  return { options, openOnce: () => (opened++, store as unknown as OpenedStore), opened: () => opened };
}

function sqliteError(code: string): Error {
  return Object.assign(new Error(`simulated ${code}`), { code });
}

test("a database that can no longer be written is opened again, and the call made once more", async () => {
  const once = failing(sqliteError("SQLITE_READONLY_DBMOVED"), 1);
  const store = await openLastingStore(once.options, noCompanion, once.openOnce);
  expect(await store.call("spaces", [])).toBe("answer");
  expect(once.opened()).toBe(2);
  const twice = failing(sqliteError("SQLITE_READONLY"), 2);
  const other = await openLastingStore(twice.options, noCompanion, twice.openOnce);
  await expect(other.call("spaces", [])).rejects.toThrow("it failed");
  expect(twice.opened()).toBe(2);
});

test("a disk that damages what is written to it is not fought for ever, and other failures are told as they are", async () => {
  const damaged = failing(sqliteError("SQLITE_CORRUPT"), 100);
  const store = await openLastingStore(damaged.options, noCompanion, damaged.openOnce);
  for (let call = 0; call < 10; call++) await expect(store.call("spaces", [])).rejects.toThrow("it failed");
  expect(damaged.opened()).toBe(4);
  const full = failing(sqliteError("SQLITE_FULL"), 1);
  const other = await openLastingStore(full.options, noCompanion, full.openOnce);
  await expect(other.call("spaces", [])).rejects.toThrow("it failed");
  expect(full.opened()).toBe(1);
});
