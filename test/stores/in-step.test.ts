import { join } from "node:path";
import { type NoteIndex, type ChunkStore } from "@memslot/indexing";
import { createStoredIndex } from "@memslot/indexing/engine";
import { openLedger } from "@memslot/indexing/ledger";
import { tempFolder } from "@memslot/test-tools/files";
import { createInMemoryStore, type InMemoryStore } from "@memslot/testkit";
import { expect, onTestFinished, test } from "vitest";
import {
  breakable,
  type BreakableStore,
  type Disk,
  faultsOf,
  fileOf,
  type Host,
  openHost,
  space,
  vectorOf,
} from "../support/simulated-hosts.ts";

const notes: Disk = new Map([
  ["a.md", ["apple", "pear"]],
  ["b.md", ["plum"]],
]);
const apple = { terms: [{ term: "apple", prefix: false }], sources: ["memory"], limit: 9 };

interface World {
  inner: InMemoryStore;
  broken: BreakableStore;
  host: Host;
}

/** A host that has indexed the notes in an empty store. `change` replaces calls of the store. */
async function useWorld(
  change: (store: ChunkStore, inner: InMemoryStore) => ChunkStore = (store) => store,
  folder?: string,
): Promise<World> {
  const inner = createInMemoryStore();
  const broken = breakable(inner);
  const host = await openHost(change(broken.store, inner), folder);
  await host.sync(notes);
  return { inner, broken, host };
}

const withoutRevision = ({ revision: _revision, ...store }: ChunkStore): ChunkStore => store;

/** Puts a file into the store that no host knows. */
async function addStray(inner: InMemoryStore): Promise<void> {
  const chunk = { startLine: 1, endLine: 1, text: "apple", context: "", terms: "apple", hash: "x" };
  await inner.replaceFiles([{ path: "c.md", source: "memory", hash: "c", recipe: "first", chunks: [chunk] }]);
}

/** A sync brings host and store to the state of the notes. */
async function expectInStep({ host, inner }: Pick<World, "host"> & { inner?: InMemoryStore }): Promise<void> {
  await host.sync(notes);
  expect(await faultsOf(host.index, notes)).toEqual([]);
  if (inner) expect((await inner.listFiles()).map(({ path }) => path).toSorted()).toEqual(["a.md", "b.md"]);
}

const timesEmbedded = ({ embedded }: Host): number[] => [...embedded.values()];
const storeCheck = async (index: NoteIndex): Promise<object | undefined> =>
  (await index.check())?.find(({ name }) => name === "store");

test("a store that has lost everything is given all of it again, and nothing is embedded again", async () => {
  const folder = tempFolder();
  await (await useWorld(undefined, folder)).host.index.close();
  const { host } = await useWorld(undefined, folder);
  expect(await faultsOf(host.index, notes)).toEqual([]);
  expect(timesEmbedded(host)).toEqual([]);
});

test("a lost ledger is rebuilt from the notes: nothing is written to the store or embedded again", async () => {
  const { broken, host } = await useWorld();
  const before = [broken.writes(), host.embedded.size];
  await host.forgetLedger();
  await expectInStep({ host });
  expect([broken.writes(), host.embedded.size]).toEqual(before);
});

test("a second host imports the embeddings of the first, and removes what is no longer there", async () => {
  const { broken, host: first } = await useWorld();
  const second = await openHost(broken.store);
  const fewer: Disk = new Map([["b.md", ["plum"]]]);
  await second.sync(fewer);
  expect(timesEmbedded(second)).toEqual([]);
  for (const { index } of [second, first]) expect(await faultsOf(index, fewer)).toEqual([]);
});

test.each([
  ["with a revision", undefined],
  ["without a revision", withoutRevision],
])(
  "an unknown file in a store %s is excluded, the answer reports it, and the next sync removes it",
  async (_, change) => {
    const { inner, host } = await useWorld(change);
    await addStray(inner);
    const { rows, incomplete } = await host.index.searchKeyword(apple);
    expect(rows.map(({ path }) => path)).toEqual(["a.md"]);
    expect(incomplete).toMatch(/not in the index/u);
    await expectInStep({ host, inner });
  },
);

test("a search that is aborted while the store looks for an answer ends there", async () => {
  const { host } = await useWorld((store) => ({
    ...store,
    searchKeyword: (_query, { signal } = {}) =>
      new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason as Error))),
  }));
  const controller = new AbortController();
  const searching = host.index.searchKeyword(apple, { signal: controller.signal });
  controller.abort();
  await expect(searching).rejects.toMatchObject({ name: "AbortError" });
});

test("a store that fails and is empty afterwards is asked again, and reports the loss", async () => {
  let isBroken = false;
  const { host } = await useWorld((store, inner) => ({
    ...store,
    async searchKeyword(query) {
      if (!isBroken) return await inner.searchKeyword(query);
      isBroken = false;
      await inner.removeFiles(await inner.listFiles());
      throw new Error("a file of it is missing; it is recreated");
    },
  }));
  isBroken = true;
  const before = host.index.health().remade ?? 0;
  expect((await host.index.searchKeyword(apple)).rows).toEqual([]);
  expect(host.index.health().remade).toBe(before + 1);
  await expectInStep({ host });
  expect(timesEmbedded(host).every((count) => count === 1)).toBe(true);
});

test("vectors that are there before a space is used for this store are given to it at once", async () => {
  const folder = tempFolder();
  await (await useWorld(undefined, folder)).host.index.close();
  const inner = createInMemoryStore();
  const again = await openHost(breakable(inner).store, folder);
  await again.sync(new Map([["d.md", ["apple", "pear"]]]));
  const query = { space, vector: vectorOf("apple 0"), sources: ["memory"], limit: 1 };
  expect((await inner.searchVector(query)).rows[0]?.score).toBeCloseTo(1, 5);
});

test("a ledger that was recreated while it was open gets the pending vectors of the store again", async () => {
  const ledger = await openLedger({ store: "memory-test", path: join(tempFolder(), "x.sqlite"), cacheMaxEntries: 10 });
  let remade = 0;
  const pending: string[] = [];
  const index = await createStoredIndex({
    store: breakable(createInMemoryStore()).store,
    ledger: {
      ...ledger,
      health: () => ({ ...ledger.health(), remade }),
      async requestVectors(given) {
        pending.push(given.model);
        await ledger.requestVectors(given);
      },
    },
  });
  onTestFinished(() => index.close());
  await index.useSpace(space);
  await index.revision?.({ fresh: true });
  expect(pending).toEqual([space.model]);
  remade = 1;
  await index.revision?.({ fresh: true });
  expect(pending).toEqual([space.model, space.model]);
});

test("the rest of a failed write in a store without a revision is found in the same process", async () => {
  const { inner, broken, host } = await useWorld(withoutRevision);
  broken.breakAt(1, "after");
  await expect(host.sync(new Map([...notes, ["c.md", ["cherry"]]]))).rejects.toThrow("killed");
  broken.mend();
  await expectInStep({ host, inner });
});

test("what another host removes right before a write of ours is noticed", async () => {
  const { inner, host } = await useWorld();
  // A question for the revision, as each search asks it, a moment before.
  await host.index.revision?.();
  await inner.removeFiles([{ path: "b.md", source: "memory" }]);
  const [known] = (await host.index.listFiles()).filter(({ path }) => path === "a.md");
  await host.index.touchFiles(known === undefined ? [] : [{ ...known, mtimeMs: 7 }]);
  await host.index.removeFiles([{ path: "gone.md", source: "memory" }]);
  await expectInStep({ host, inner });
});

test("vectors are kept although the store gives no answer when they come", async () => {
  const broken = breakable(createInMemoryStore());
  const host = await openHost(broken.store);
  const { index } = host;
  const disk: Disk = new Map([["a.md", ["apple"]]]);
  await index.replaceFiles([fileOf("a.md", ["apple"], "first")]);
  const [pending] = await index.pendingVectors(space, 9);
  broken.breakAt(1, "before");
  const entries = [{ hash: pending?.hash ?? "", vector: vectorOf("apple 0") }];
  await expect(index.putVectors(space, entries)).rejects.toThrow("killed");
  broken.mend();
  expect(await index.pendingVectors(space, 9)).toEqual([]);
  await host.restart();
  await host.sync(disk);
  expect(await faultsOf(host.index, disk)).toEqual([]);
  expect(host.embedded.size).toBe(0);
});

test("a store that has lost a chunk of a file that it still lists gets it back by a repair", async () => {
  const { inner, host } = await useWorld();
  const { chunks, ...file } = fileOf("a.md", ["apple", "pear"], "first");
  await inner.replaceFiles([{ ...file, chunks: chunks.slice(0, 1) }]);
  expect(await faultsOf(host.index, notes)).not.toEqual([]);
  expect(await storeCheck(host.index)).toMatchObject({ ok: false, message: "it holds 2 chunks in place of 3" });
  const repaired = await host.index.repair();
  expect(repaired?.find(({ name }) => name === "store")?.fixed).toMatch(/given to it again/u);
  await expectInStep({ host });
  expect(await storeCheck(host.index)).toMatchObject({ ok: true });
  expect(timesEmbedded(host).every((count) => count === 1)).toBe(true);
});
