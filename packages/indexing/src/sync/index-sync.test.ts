import { EmbeddingError, type SyncProgress } from "@memslot/core";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { Embedder } from "../embedding/embedder.ts";
import { createIndexSync, type IndexSync } from "./index-sync.ts";
import { never, settingsWith, syncParams } from "../../test/support/context.ts";
import { type FakeEmbeddings, fakeEmbeddings } from "../../test/support/fake-embeddings.ts";
import { createFakeSource, type FakeSource } from "../../test/support/fake-source.ts";
import { createFakeStore, type FakeStore } from "../../test/support/fake-store.ts";
import { tempFolder } from "@memslot/test-tools/files";
import { eventually } from "@memslot/test-tools/wait";
import data from "./test/index-sync.json" with { type: "json" };

const names = { agentId: "main", backend: "test" };

interface Lab {
  store: FakeStore;
  source: FakeSource;
  index: IndexSync;
}

async function lab(
  change: { store?: FakeStore; source?: FakeSource; provider?: FakeEmbeddings; onSearch?: boolean } = {},
): Promise<Lab> {
  const { store = createFakeStore(), source = createFakeSource({ "a.md": "alpha", "b.md": "beta" }) } = change;
  const vectors = change.provider && embedderOf(store, change.provider);
  await vectors?.count();
  const index = await createIndexSync({ store, sources: [source], onSearch: change.onSearch ?? true, vectors, names });
  return { store, source, index };
}

function embedderOf(store: FakeStore, provider: FakeEmbeddings): Embedder {
  return new Embedder({
    store,
    provider,
    choice: { provider, requested: "fake", reason: "asked for by the test", degraded: false },
    settings: settingsWith(),
    agentId: "main",
    stateDir: tempFolder(),
    notify: () => undefined,
  });
}

const found = async (store: FakeStore, word: string): Promise<string[]> =>
  (await store.searchKeyword({ terms: [{ term: word, prefix: false }], sources: ["memory"], limit: 9 })).rows.map(
    ({ path }) => path,
  );

function work(store: FakeStore): string[] {
  const names = store.calls.map(({ method }) => method);
  return names.filter((name) => /replaceFiles|removeFiles|touchFiles|Build$/.test(name));
}

test("a search that finds nothing to do asks for no right to write", async () => {
  const { store, source } = await lab();
  const provider = fakeEmbeddings();
  await (await lab({ store, source, provider })).index.sync(syncParams());
  const { index } = await lab({ store, source, provider });
  store.calls.length = 0;
  expect(await index.sync(syncParams({ reason: "search", wait: false }))).toMatchObject({ unchanged: 2 });
  expect(store.calls.map(({ method }) => method).filter((name) => name.startsWith("leases."))).toEqual([]);
  source.write("c.md", "gamma");
  await index.sync(syncParams({ reason: "search", wait: false }));
  expect(store.calls.map(({ method }) => method)).toContain("leases.acquire");
});

describe("a rebuild", () => {
  test("by force fills a build beside the one that answers, which stays as it is until the end", async () => {
    const { store, source, index } = await lab();
    await index.sync(syncParams());
    store.calls.length = 0;
    const answers: string[][] = [];
    source.beforeRead = async () => void answers.push(await found(store, "alpha"));
    const report = await index.sync(syncParams({ force: true }));
    expect(report).toEqual({ added: 0, changed: 2, removed: 0, unchanged: 0, failed: [] });
    expect(answers).toEqual([["a.md"], ["a.md"]]);
    expect(work(store)).toEqual(["startBuild", "next.replaceFiles", "finishBuild"]);
    expect(await found(store, "alpha")).toEqual(["a.md"]);
    expect(store.next).toBeUndefined();
  });

  test("happens once for each of two recipes that share an index, however often notes change", async () => {
    const noted = new Map<string, string | undefined>();
    const { store, source: one } = await lab();
    store.note = async (name, value) => void noted.set(name, value);
    store.noted = async (name) => noted.get(name);
    const other = createFakeSource({ "a.md": "alpha", "b.md": "beta", "c.md": "gamma" });
    other.recipe = "r2";
    const notices: string[] = [];
    const open = async (source: FakeSource): Promise<IndexSync> =>
      await createIndexSync({
        store,
        sources: [source],
        onSearch: true,
        vectors: undefined,
        names,
        notify: (line) => void notices.push(line),
      });
    one.write("c.md", "gamma");
    const both = [await open(one), await open(other)];
    for (let edit = 0; edit < 12; edit++) {
      for (const source of [one, other]) source.write("c.md", `gamma${edit}`);
      for (const index of both.toSorted(() => (edit % 2) - 0.5)) {
        await index.freshen(never);
        await eventually(() => index.facts().writer === undefined, "nothing is done behind the search");
      }
      expect(await found(store, `gamma${edit}`)).toEqual(["c.md"]);
    }
    expect(work(store).filter((name) => name === "finishBuild").length).toBeLessThanOrEqual(2);
    expect(notices).toEqual([expect.stringContaining("another version of memslot")]);
    const asked = both[notices.length === 1 ? 1 : 0];
    await asked?.sync(syncParams());
    expect(new Set((await store.listFiles()).map(({ recipe }) => recipe)).size).toBe(1);
  });

  test("for a search goes on behind it, and the old build answers", async () => {
    const { store, source } = await lab();
    await (await lab({ store, source })).index.sync(syncParams());
    source.recipe = "r2";
    const { index } = await lab({ store, source });
    const gate = Promise.withResolvers<void>();
    source.beforeRead = () => gate.promise;
    expect(await index.freshen(never)).toBeUndefined();
    expect(await found(store, "beta")).toEqual(["b.md"]);
    await eventually(() => store.next !== undefined, "the new build is begun");
    expect(index.facts().stats.generation?.id).toBe(1);
    gate.resolve();
    await eventually(() => store.next === undefined && index.facts().writer === undefined, "the new build answers");
    expect((await store.listFiles()).map(({ recipe }) => recipe)).toEqual(["r2", "r2"]);
    expect(index.facts()).toMatchObject({ outdated: false, dirty: false });
  });

  test("takes along what is changed, added and removed while it runs", async () => {
    const { store, source, index } = await lab();
    await index.sync(syncParams());
    let once = true;
    source.beforeRead = async (path) => {
      if (!once || path !== "b.md") return;
      once = false;
      source.write("a.md", "gamma");
      source.write("c.md", "delta");
      source.remove("b.md");
      expect(await index.freshen(never)).toBeUndefined();
      expect(await found(store, "gamma")).toEqual(["a.md"]);
      expect(await found(store, "beta")).toEqual([]);
    };
    await index.sync(syncParams({ force: true }));
    expect(once).toBe(false);
    expect(store.paths()).toEqual(["a.md", "c.md"]);
    expect(await found(store, "gamma")).toEqual(["a.md"]);
    expect(await found(store, "delta")).toEqual(["c.md"]);
  });

  test("that was interrupted goes on where it was", async () => {
    const source = createFakeSource(Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`${n}.md`, `word${n}`])));
    const { store, index } = await lab({ source });
    await index.sync(syncParams());
    const stop = new AbortController();
    let reads = 0;
    source.beforeRead = () => void (++reads === 200 && stop.abort());
    await expect(index.sync(syncParams({ force: true, signal: stop.signal }))).rejects.toMatchObject({
      name: "AbortError",
    });
    await index.close();
    const done = new Set(store.next?.paths);
    expect(done.size).toBeGreaterThan(60);
    expect(done.size).toBeLessThan(300);

    source.beforeRead = undefined;
    source.reads.length = 0;
    const again = await lab({ store, source });
    expect(await again.index.sync(syncParams())).toMatchObject({ changed: 300, failed: [] });
    expect(source.reads.filter((path) => done.has(path))).toEqual([]);
    expect(source.reads).toHaveLength(300 - done.size);
    expect(store.next).toBeUndefined();
  });

  test("that was begun for settings that are taken back is dropped", async () => {
    const { store, source, index } = await lab();
    await index.sync(syncParams());
    await store.startBuild("for other settings");
    await (await lab({ store, source })).index.sync(syncParams());
    expect(store.next).toBeUndefined();
    expect(store.calls.map(({ method }) => method)).toContain("abandonBuild");
  });

  test("does not take over with fewer vectors than the build that answers, and does once they are there", async () => {
    let broken = false;
    const fail = (): Error | undefined => (broken ? new EmbeddingError("auth", "the model is away") : undefined);
    const provider = fakeEmbeddings({ fail });
    const { store, source, index } = await lab({ provider });
    // The recipe changes within one process here: none of them is to own the index.
    store.noted = async () => undefined;
    await index.sync(syncParams());
    source.recipe = "r2";
    source.write("a.md", "money for a trip");
    broken = true;
    await index.sync(syncParams());
    // The text that both builds lack speaks against neither.
    expect(store.next).toBeUndefined();

    source.recipe = "r3";
    const read = source.read.bind(source);
    source.read = async (...given) => {
      const reading = await read(...given);
      const chunks = reading?.changed?.chunks.map((chunk) => ({ ...chunk, hash: `${chunk.hash} cut otherwise` }));
      return reading && chunks ? { ...reading, changed: { ...reading.record, chunks } } : reading;
    };
    const report = await index.sync(syncParams());
    expect(report.pendingVectors?.reason).toContain("the model is away");
    expect(store.next?.paths.toSorted()).toEqual(["a.md", "b.md"]);
    expect(index.facts().waitingFor).toContain("have no vector yet");

    broken = false;
    expect((await index.sync(syncParams())).pendingVectors).toBeUndefined();
    expect(store.next).toBeUndefined();
    expect(index.facts().waitingFor).toBeUndefined();
  });
});

describe("another process at work", () => {
  test("on a build: a sync that does not want to wait says who and how far, and does nothing", async () => {
    const { store, index } = await lab();
    store.leaseHeldByOther("build", { pid: 77, reason: "cli", completed: 120, total: 500 });
    await expect(index.sync(syncParams({ wait: false }))).rejects.toMatchObject({
      code: "BUSY",
      message: expect.stringMatching(/process 77.*cli, 120 of 500.*since 2026/s),
    });
    expect(work(store)).toEqual([]);
    expect(index.facts().writer).toMatchObject({ pid: 77 });
  });

  test("one that waits sees its progress, and goes on when it has ended", async () => {
    const { store, index } = await lab();
    store.leaseHeldByOther("build", { pid: 77, completed: 1, total: 500 });
    const seen: SyncProgress[] = [];
    const progress = (update: SyncProgress): void => {
      seen.push(update);
      store.leaseHeldByOther("build", undefined);
    };
    expect(await index.sync(syncParams({ progress }))).toMatchObject({ added: 2 });
    expect(seen[0]).toMatchObject({ completed: 1, total: 500, label: expect.stringContaining("process 77") });
  });

  test("one that waits can be given up", async () => {
    const { store, index } = await lab();
    store.leaseHeldByOther("build", {});
    const stop = new AbortController();
    const progress = (): void => stop.abort();
    await expect(index.sync(syncParams({ progress, signal: stop.signal }))).rejects.toMatchObject({
      name: "AbortError",
    });
  });

  test("on a build does not keep a search from finding a note that was saved", async () => {
    const { store, source, index } = await lab();
    await index.sync(syncParams());
    store.leaseHeldByOther("build", {});
    source.write("c.md", "gamma");
    expect(await index.freshen(never)).toBeUndefined();
    expect(await found(store, "gamma")).toEqual(["c.md"]);
  });

  test("on the files: a search says that it is stale where there is something to write, and only there", async () => {
    const { store, source, index } = await lab();
    await index.sync(syncParams());
    store.leaseHeldByOther("files", { pid: 77 });
    expect(await index.freshen(never)).toBeUndefined();
    source.write("c.md", "gamma");
    expect((await index.freshen(never))?.reason).toMatch(/^1 file has changed and/);
    await eventually(() => index.facts().writer?.pid === 77, "it is known who is at work");
    expect(index.facts()).toMatchObject({ dirty: true });
    store.leaseHeldByOther("files", undefined);
    expect(await index.freshen(never)).toBeUndefined();
    expect(index.facts()).toMatchObject({ dirty: false });
  });

  test("what it has left is read again by the next lease owner, before it writes", async () => {
    const { store, source } = await lab();
    // Shared store: findings stay valid until a fresh check.
    const revision = store.revision.bind(store);
    let known: string | undefined;
    store.revision = async (how?: { fresh: boolean }) =>
      (known = how?.fresh === true ? await revision() : (known ??= await revision()));
    const { index } = await lab({ store, source });
    await index.sync(syncParams());
    source.write("c.md", "gamma");
    const meanwhile = async (): Promise<void> => {
      store.before("leases.acquire", () => undefined);
      const other = createFakeSource({ "a.md": "alpha", "b.md": "beta", "c.md": "gamma" });
      await (await lab({ store: { ...store, revision }, source: other })).index.sync(syncParams());
      store.calls.length = 0;
    };
    // The long-work lease comes first, then the file lease after the scan.
    store.before("leases.acquire", () => store.before("leases.acquire", meanwhile));
    await index.sync(syncParams());
    expect(work(store)).toEqual([]);
  });

  test("making vectors: nothing is sent twice, and what is missing is reported", async () => {
    const provider = fakeEmbeddings();
    const { store, index } = await lab({ provider });
    store.leaseHeldByOther("build", { pid: 77 });
    expect(await index.freshen(never)).toBeUndefined();
    await eventually(
      () => JSON.stringify(index.facts().missingVectors ?? "").includes("process 77"),
      "it is known who is at work",
    );
    expect(provider.sent).toEqual([]);
    store.leaseHeldByOther("build", undefined);
    await index.freshen(never);
    await eventually(() => index.facts().missingVectors === undefined, "the vectors are there");
    expect(provider.sent.flat().toSorted()).toEqual(["alpha", "beta", "memory"]);
  });

  test.each(data.waits as [string, boolean, number, number][])("%s", async (_what, isShared, inTimeMs, tooLongMs) => {
    const { store, source } = await lab();
    const leases = { ...store.leases, ...(isShared && { slept: () => undefined }) };
    const { index } = await lab({ store: Object.assign(store, { leases }), source });
    store.leaseHeldByOther("files", { pid: 77 });
    let now = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
    onTestFinished(() => clock.mockRestore());
    const times = [inTimeMs, tooLongMs];
    store.before("leases.holder", () => {
      now = times.shift() ?? now;
    });
    const progress: string[] = [];
    const busy = index.sync(syncParams({ wait: false, progress: ({ label }) => void progress.push(label ?? "") }));
    await expect(busy).rejects.toMatchObject({ code: "BUSY", message: expect.stringContaining("process 77") });
    expect(now, "it was asked for again before").toBe(tooLongMs);
    expect(progress.some((label) => label.includes("process 77"))).toBe(isShared);

    // A lease released in time costs only the wait.
    now = 0;
    store.before("leases.holder", () => {
      now = inTimeMs;
      store.leaseHeldByOther("files", undefined);
    });
    expect(await index.sync(syncParams({ wait: false }))).toMatchObject({ added: 2 });
  });

  test("leases are given back, whatever comes of the work", async () => {
    const { store, index } = await lab();
    await index.sync(syncParams());
    expect(store.heldLeases()).toEqual([]);
    store.fail("next.replaceFiles", () => new Error("no space left"));
    await expect(index.sync(syncParams({ force: true }))).rejects.toThrow("no space left");
    expect(store.heldLeases()).toEqual([]);
    expect(index.facts().lastError?.message).toBe("no space left");
    store.fail("next.replaceFiles", undefined);
    await index.sync(syncParams({ force: true }));
    expect(index.facts().stats.generation?.id).toBe(2);
  });
});

describe("what is known without looking", () => {
  test("a change that comes in while the files are looked at is not forgotten", async () => {
    const { source, index } = await lab();
    source.beforeRead = () => index.markDirty();
    await index.sync(syncParams());
    expect(index.facts().dirty).toBe(true);
  });

  test("an answer without a look is stale while a change is waiting for one", async () => {
    const { index } = await lab({ onSearch: false });
    expect((await index.freshen(never))?.reason).toMatch(/has not been built yet/);
    await index.sync(syncParams());
    expect(await index.freshen(never)).toBeUndefined();
    index.markDirty();
    expect(await index.freshen(never)).toMatchObject({
      state: "stale",
      reason: "files have changed since the last scan",
    });
    await index.scan("watch");
    expect(await index.freshen(never)).toBeUndefined();
  });
});

describe("a search that goes on before the look at the files has ended", () => {
  function gate(): { opened: Promise<void>; open: () => void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    return { opened: promise, open: resolve };
  }

  test("says that not all were looked at, and mentions no unseen changes", async () => {
    const { index, source } = await lab();
    await index.sync(syncParams());
    const { scan } = source;
    const slow = gate();
    source.scan = async (signal, indexed) => {
      await slow.opened;
      return await scan(signal, indexed);
    };
    expect(await index.freshen(never)).toMatchObject({ state: "stale", reason: "not all files have been scanned yet" });
    slow.open();
    expect(await index.freshen(never)).toBeUndefined();
  });

  test("says how many have changed where that is known", async () => {
    const { index, source } = await lab();
    await index.sync(syncParams());
    for (let number = 0; number < 40; number++) source.write(`n${number}.md`, `number${number}`);
    const slow = gate();
    source.beforeRead = () => slow.opened;
    expect(await index.freshen(never)).toMatchObject(data.stillIndexed);
    slow.open();
    expect(await index.freshen(never)).toBeUndefined();
  });

  test("is fresh as soon as all were looked at and none has changed, whatever else is to be done", async () => {
    const { index, store } = await lab();
    await index.sync(syncParams());
    await index.freshen(never);
    const slow = gate();
    // Counting comes after the look.
    store.before("stats", () => slow.opened);
    expect(await index.freshen(never)).toBeUndefined();
    slow.open();
  });
});

test("an index that another process has made is seen by one that never looks at the files", async () => {
  const store = createFakeStore();
  const source = createFakeSource({ "a.md": "alpha" });
  const { index } = await lab({ store, source, onSearch: false });
  expect((await index.freshen(never))?.reason).toMatch(/has not been built yet/);
  const other = await lab({ store, source });
  await other.index.sync(syncParams());
  expect(await index.freshen(never)).toBeUndefined();
  expect(index.facts().stats).toMatchObject({ files: 1, chunks: 1 });
  store.calls.length = 0;
  await index.freshen(never);
  expect(store.calls.map(({ method }) => method)).toEqual(["revision"]);
});
