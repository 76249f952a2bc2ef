import { join } from "node:path";
import { createStoredIndex } from "@memslot/indexing";
import { openLedger } from "@memslot/indexing/ledger";
import { tempFolder } from "@memslot/test-tools/files";
import { createInMemoryStore } from "@memslot/testkit";
import { expect, onTestFinished, test } from "vitest";
import { type Disk, breakable, faultsOf, fileOf, openHost, space, vectorOf } from "../support/store-world.ts";

const notes: Disk = new Map([
  ["a.md", ["apple", "pear"]],
  ["b.md", ["plum"]],
]);

test("a store that has lost everything is given all of it again, and nothing is embedded again", async () => {
  const folder = tempFolder();
  const host = await openHost(breakable(createInMemoryStore()).store, folder);
  await host.sync(notes);
  await host.index.close();
  const again = await openHost(breakable(createInMemoryStore()).store, folder);
  await again.sync(notes);
  expect(await faultsOf(again.index, notes)).toEqual([]);
  expect([...again.embedded.values()]).toEqual([]);
});

test("a ledger that is lost is made anew from the notes: nothing is written to the store or embedded again", async () => {
  const shared = breakable(createInMemoryStore());
  const host = await openHost(shared.store);
  await host.sync(notes);
  const before = [shared.writes(), host.embedded.size];
  await host.forgetLedger();
  await host.sync(notes);
  expect(await faultsOf(host.index, notes)).toEqual([]);
  expect([shared.writes(), host.embedded.size]).toEqual(before);
});

test("a second host takes over what the first has embedded, and takes out what is not there any more", async () => {
  const shared = breakable(createInMemoryStore());
  const first = await openHost(shared.store);
  await first.sync(notes);
  const second = await openHost(shared.store);
  const fewer: Disk = new Map([["b.md", ["plum"]]]);
  await second.sync(fewer);
  expect([...second.embedded.keys()]).toEqual([]);
  expect(await faultsOf(second.index, fewer)).toEqual([]);
  expect(await faultsOf(first.index, fewer)).toEqual([]);
});

test("what the store names and nobody knows is left out, and the answer says so", async () => {
  const inner = createInMemoryStore();
  const host = await openHost(breakable(inner).store);
  await host.sync(notes);
  const stray = { path: "c.md", source: "memory", hash: "c", recipe: "first" };
  await inner.replaceFiles([
    { ...stray, chunks: [{ startLine: 1, endLine: 1, text: "apple", context: "", terms: "apple", hash: "x" }] },
  ]);
  const ask = { terms: [{ term: "apple", prefix: false }], sources: ["memory"], limit: 9 };
  const answer = await host.index.searchKeyword(ask);
  expect(answer.rows.map(({ path }) => path)).toEqual(["a.md"]);
  expect(answer.incomplete).toMatch(/not in the index/u);
  await host.sync(notes);
  expect(await faultsOf(host.index, notes)).toEqual([]);
  expect((await inner.listFiles()).map(({ path }) => path).toSorted()).toEqual(["a.md", "b.md"]);
});

test("a store that fails and is empty afterwards is asked again, and says that it has lost something", async () => {
  const inner = createInMemoryStore();
  let isBroken = false;
  const store = {
    ...breakable(inner).store,
    async searchKeyword(query: Parameters<typeof inner.searchKeyword>[0]) {
      if (!isBroken) return await inner.searchKeyword(query);
      isBroken = false;
      await inner.removeFiles(await inner.listFiles());
      throw new Error("a file of it is missing; it is begun anew");
    },
  };
  const host = await openHost(store);
  await host.sync(notes);
  isBroken = true;
  const before = host.index.health().remade ?? 0;
  const ask = { terms: [{ term: "apple", prefix: false }], sources: ["memory"], limit: 9 };
  expect((await host.index.searchKeyword(ask)).rows).toEqual([]);
  expect(host.index.health().remade).toBe(before + 1);
  await host.sync(notes);
  expect(await faultsOf(host.index, notes)).toEqual([]);
  expect([...host.embedded.values()].every((count) => count === 1)).toBe(true);
});

test("repair gives everything again to a store that holds fewer chunks than its files have", async () => {
  const inner = createInMemoryStore();
  let missing = 1;
  const store = { ...breakable(inner).store, stats: async () => ({ location: "x", bytes: 0, chunks: 3 - missing }) };
  const host = await openHost(store);
  await host.sync(notes);
  const found = await host.index.upkeep?.check();
  expect(found?.find(({ name }) => name === "store")).toMatchObject({
    ok: false,
    message: "it holds 2 chunks in place of 3",
  });
  const repaired = await host.index.upkeep?.repair();
  missing = 0;
  expect(repaired?.find(({ name }) => name === "store")?.fixed).toMatch(/given to it again/u);
  await host.sync(notes);
  expect(await faultsOf(host.index, notes)).toEqual([]);
  expect((await host.index.upkeep?.check())?.find(({ name }) => name === "store")?.ok).toBe(true);
});

test("vectors that are there before a space is used for this store are given to it at once", async () => {
  const folder = tempFolder();
  const host = await openHost(breakable(createInMemoryStore()).store, folder);
  await host.sync(notes);
  await host.index.close();
  const inner = createInMemoryStore();
  const again = await openHost(breakable(inner).store, folder);
  const other: Disk = new Map([["d.md", ["apple", "pear"]]]);
  await again.sync(other);
  const query = { space, vector: vectorOf("apple 0"), sources: ["memory"], limit: 1 };
  expect((await inner.searchVector(query)).rows[0]?.score).toBeCloseTo(1, 5);
});

test("a ledger that was begun anew while it was open is told again which vectors the store is to have", async () => {
  const ledger = await openLedger({ store: "memory-test", path: join(tempFolder(), "x.sqlite"), cacheMaxEntries: 10 });
  let remade = 0;
  const owed: string[] = [];
  const index = await createStoredIndex({
    store: breakable(createInMemoryStore()).store,
    ledger: {
      ...ledger,
      health: () => ({ ...ledger.health(), remade }),
      async oweVectors(given) {
        owed.push(given.model);
        await ledger.oweVectors(given);
      },
    },
  });
  onTestFinished(() => index.close());
  await index.useSpace(space);
  await index.revision?.({ anew: true });
  expect(owed).toEqual([space.model]);
  remade = 1;
  await index.revision?.({ anew: true });
  expect(owed).toEqual([space.model, space.model]);
});

test("what a write that failed has left in a store without a revision is found in the same process", async () => {
  const inner = createInMemoryStore();
  const broken = breakable(inner);
  const { revision: _revision, ...store } = broken.store;
  const host = await openHost(store);
  await host.sync(notes);
  broken.breakAt(1, "after");
  await expect(host.sync(new Map([...notes, ["c.md", ["cherry"]]]))).rejects.toThrow("killed");
  broken.mend();
  await host.sync(notes);
  expect((await inner.listFiles()).map(({ path }) => path).toSorted()).toEqual(["a.md", "b.md"]);
  expect(await faultsOf(host.index, notes)).toEqual([]);
});

test("what nobody knows is taken out of a store without a revision once an answer has shown it", async () => {
  const inner = createInMemoryStore();
  const { revision: _revision, ...store } = breakable(inner).store;
  const host = await openHost(store);
  await host.sync(notes);
  const stray = { path: "c.md", source: "memory", hash: "c", recipe: "first" };
  await inner.replaceFiles([
    { ...stray, chunks: [{ startLine: 1, endLine: 1, text: "apple", context: "", terms: "apple", hash: "x" }] },
  ]);
  const ask = { terms: [{ term: "apple", prefix: false }], sources: ["memory"], limit: 9 };
  expect((await host.index.searchKeyword(ask)).incomplete).toMatch(/not in the index/u);
  await host.sync(notes);
  expect((await inner.listFiles()).map(({ path }) => path).toSorted()).toEqual(["a.md", "b.md"]);
});

test("what another host takes out right before a write of ours is noticed", async () => {
  const shared = createInMemoryStore();
  const host = await openHost(breakable(shared).store);
  await host.sync(notes);
  // A question for the revision, as each search asks it, a moment before.
  await host.index.revision?.();
  await shared.removeFiles([{ path: "b.md", source: "memory" }]);
  const [known] = (await host.index.listFiles()).filter(({ path }) => path === "a.md");
  await host.index.touchFiles(known === undefined ? [] : [{ ...known, mtimeMs: 7 }]);
  await host.index.removeFiles([{ path: "gone.md", source: "memory" }]);
  await host.sync(notes);
  expect((await shared.listFiles()).map(({ path }) => path).toSorted()).toEqual(["a.md", "b.md"]);
  expect(await faultsOf(host.index, notes)).toEqual([]);
});

test("vectors are kept although the store gives no answer when they come", async () => {
  const broken = breakable(createInMemoryStore());
  const host = await openHost(broken.store);
  const { index } = host;
  await index.replaceFiles([fileOf("a.md", ["apple"], "first")]);
  const [pending] = await index.pendingVectors(space, 9);
  const entries = [{ hash: pending?.hash ?? "", vector: vectorOf("apple 0") }];
  broken.breakAt(1, "before");
  await expect(index.putVectors(space, entries)).rejects.toThrow("killed");
  broken.mend();
  expect(await index.pendingVectors(space, 9)).toEqual([]);
  await host.restart();
  await host.sync(new Map([["a.md", ["apple"]]]));
  expect(await faultsOf(host.index, new Map([["a.md", ["apple"]]]))).toEqual([]);
  expect(host.embedded.size).toBe(0);
});

test("a store that has lost a chunk of a file that it still lists gets it back by a repair", async () => {
  const inner = createInMemoryStore();
  const host = await openHost(breakable(inner).store);
  await host.sync(notes);
  const { chunks, ...file } = fileOf("a.md", ["apple", "pear"], "first");
  await inner.replaceFiles([{ ...file, chunks: chunks.slice(0, 1) }]);
  expect(await faultsOf(host.index, notes)).not.toEqual([]);
  expect((await host.index.upkeep?.check())?.find(({ name }) => name === "store")?.ok).toBe(false);
  await host.index.upkeep?.repair();
  await host.sync(notes);
  expect(await faultsOf(host.index, notes)).toEqual([]);
  expect([...host.embedded.values()].every((count) => count === 1)).toBe(true);
});
