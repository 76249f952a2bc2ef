import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "@memslot/test-tools/wait";
import { EmbeddingError } from "@memslot/core";
import { describe, expect, test, onTestFinished, vi } from "vitest";
import { searchOptions, settingsWith, syncParams, never } from "./support/context.ts";
import { ask, openMemory, search } from "./support/memory.ts";
import { fakeEmbeddings } from "./support/fake-embeddings.ts";
import { createFakeStore } from "./support/fake-store.ts";
import { tempFolder as folderWith, writeFiles } from "@memslot/test-tools/files";
import data from "./data/manager.json" with { type: "json" };

/** A promise that a test opens. */
function gate(): { opened: Promise<void>; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

describe("a search", () => {
  test("finds a word of 100,000 letters, in English and in German notes, and answers one that no note has", async () => {
    const word = "ay".repeat(50_000);
    const german = "Wir haben gestern mit der Bahn die Stadt verlassen und sind erst nach dem Abend wieder gekommen.";
    const { manager } = await openMemory(folderWith({ "memory/a.md": word, "memory/b.md": `${german}\n${word}\n` }));
    const found = await search(manager, word);
    expect(new Set(found.paths)).toEqual(new Set(["memory/a.md", "memory/b.md"]));
    expect((await search(manager, `zq${"lo".repeat(50_000)}`)).results).toEqual([]);
  });

  test("answers from what is there while a sync takes long, and says that it is stale", async () => {
    const workspace = folderWith({ "memory/a.md": "zebra one" });
    const { manager, store } = await openMemory(workspace);
    await search(manager, "zebra");
    const slow = gate();
    store.before("replaceFiles", () => slow.opened);
    writeFiles(workspace, { "memory/b.md": "zebra two" });
    let stale = await search(manager, "zebra");
    // A busy machine is still scanning when the first answer is due.
    while (!/still being indexed/.test(stale.report.reason ?? "")) stale = await search(manager, "zebra");
    expect(stale).toMatchObject({ paths: ["memory/a.md"], report: { state: "stale" } });
    slow.open();
    expect(await ask(manager, "zebra")).toMatchObject({
      paths: expect.arrayContaining(["memory/b.md"]) as string[],
      report: { state: "ok" },
    });
  });

  test("finds a note that was saved while an earlier sync had already looked", async () => {
    const workspace = folderWith({ "memory/a.md": "zebra one" });
    const { manager, store, sync } = await openMemory(workspace);
    await sync();
    const [held, scanned] = [gate(), gate()];
    // The scan is over when a changed file is written to the store.
    store.before("replaceFiles", () => {
      scanned.open();
      return held.opened;
    });
    writeFiles(workspace, { "memory/a.md": "zebra once more" });
    const running = sync();
    await scanned.opened;
    writeFiles(workspace, { "memory/b.md": "zebra two" });
    const searching = search(manager, "zebra");
    held.open();
    let answer = await searching;
    if (answer.report.state !== "ok") answer = await ask(manager, "zebra");
    expect(answer.paths.toSorted()).toEqual(["memory/a.md", "memory/b.md"]);
    expect(await running).toMatchObject({ added: 0, changed: 1 });
  });

  test("on an empty index waits for all of the first sync", async () => {
    const { manager, store } = await openMemory(folderWith({ "memory/a.md": "zebra" }));
    store.before("replaceFiles", async () => await sleep(500));
    expect(await search(manager, "zebra")).toMatchObject({ paths: ["memory/a.md"], report: { state: "ok" } });
  });

  test("whose sync fails answers from what is there, and says so", async () => {
    const workspace = folderWith({ "memory/a.md": "zebra" });
    const { manager, store } = await openMemory(workspace);
    await search(manager, "zebra");
    writeFiles(workspace, { "memory/b.md": "giraffe" });
    store.fail("replaceFiles", () => new Error("disk full"));
    const failed = await search(manager, "zebra");
    expect(failed).toMatchObject(data.failedSync);
    expect(manager.status()).toMatchObject({ dirty: true, lastSyncError: "disk full" });
    store.fail("replaceFiles", undefined);
    expect(await ask(manager, "zebra")).toMatchObject({ report: { state: "ok" } });
    expect(manager.status().lastSyncError).toBeUndefined();
  });

  test("that cannot answer at all throws and reports nothing", async () => {
    const { manager, store } = await openMemory(folderWith({ "memory/a.md": "zebra" }));
    store.fail("searchKeyword", () => new Error("database is closed"));
    const options = searchOptions();
    await expect(manager.search("zebra", options)).rejects.toThrow("database is closed");
    expect(options.reports).toEqual([]);
  });

  test("hands the signal of the caller to every question that it asks the store", async () => {
    const { manager, store } = await openMemory(folderWith({ "memory/a.md": "zebra one" }));
    const { signal } = new AbortController();
    await manager.search('"zebra one" path:memory', searchOptions({ signal }));
    const asked = store.calls.filter(({ method }) => method === "searchKeyword");
    expect(asked.length).toBeGreaterThan(0);
    for (const { argument } of asked) expect(argument).toMatchObject([{ terms: expect.any(Array) }, { signal }]);
  });
});

describe("where searches do not sync", () => {
  const settings = settingsWith({ onSearch: false });

  test("an index that was never built is called stale, not empty", async () => {
    const { manager } = await openMemory(folderWith({ "MEMORY.md": "zebra" }), { settings });
    const { results, report } = await search(manager, "zebra");
    expect(results).toEqual([]);
    expect(report.state).toBe("stale");
    expect(report.reason).toContain("index");
  });
});

describe("several things at once", () => {
  test("a provider that is down hides no notes that are new", async () => {
    const workspace = folderWith({ "MEMORY.md": "zebra" });
    let down = false;
    const provider = fakeEmbeddings({
      limits: { dimensions: 5 },
      fail: () => (down ? new EmbeddingError("transient", "fake: connection refused") : undefined),
    });
    const { manager, store, sync } = await openMemory(workspace, { provider });
    await sync();
    down = true;
    const slow = gate();
    store.before("replaceFiles", () => slow.opened);
    const many = Array.from({ length: 300 }, (_, index) => [`memory/${index}.md`, `giraffe ${index}`] as const);
    writeFiles(workspace, Object.fromEntries(many));
    const { report, paths } = await search(manager, "zebra");
    slow.open();
    expect(paths).toEqual(["MEMORY.md"]);
    expect(report.state).toBe("degraded");
    expect(report.reason).toContain("connection refused");
    // How far the scan got depends on the machine; the answer reports unknown notes in any case.
    expect(report.reason).toMatch(/300 files have changed|not all files have been scanned yet/);
    expect(report.conditions?.map(({ state }) => state).toSorted()).toEqual(["degraded", "stale"]);
  });
});

describe("meaning", () => {
  test("a provider that hangs does not hold the words back, and is left alone until it answers", async () => {
    const hang = gate();
    const provider = fakeEmbeddings({ limits: { dimensions: 5 } });
    let batches = 0;
    const slow = {
      ...provider,
      embedBatch: async (texts: readonly string[]) => {
        batches++;
        await hang.opened;
        return await provider.embedBatch(texts);
      },
    };
    const { manager } = await openMemory(folderWith({ "memory/a.md": "our budget" }), { provider: slow });
    for (let round = 0; round < 3; round++) {
      expect(await search(manager, "budget")).toMatchObject({ paths: ["memory/a.md"], report: { state: "degraded" } });
    }
    expect(batches).toBe(1);
    hang.open();
    await eventually(() => manager.status().vector?.embedded === 1, "the vector is there");
    expect(await search(manager, "money")).toMatchObject({ paths: ["memory/a.md"], report: { state: "ok" } });
  });

  test("vectors of a note that is saved while others are made are made as well", async () => {
    const hang = gate();
    const provider = fakeEmbeddings({ limits: { dimensions: 5 } });
    const slow = {
      ...provider,
      embedBatch: async (texts: readonly string[]) => {
        await hang.opened;
        return await provider.embedBatch(texts);
      },
    };
    const workspace = folderWith({ "memory/a.md": "our budget" });
    const { manager, store } = await openMemory(workspace, { provider: slow });
    await search(manager, "budget");
    writeFiles(workspace, { "memory/b.md": "a kitten" });
    await search(manager, "kitten");
    hang.open();
    await eventually(() => manager.status().vector?.embedded === 2, "both vectors are there");
    expect(await store.stats()).toMatchObject({ chunks: 2 });
  });
});

describe("syncs", () => {
  test("never run side by side", async () => {
    const { manager, store, sync } = await openMemory(folderWith({ "memory/a.md": "zebra" }));
    let running = 0;
    let most = 0;
    store.before("listFiles", async () => {
      most = Math.max(most, ++running);
      await sleep(20);
      running--;
    });
    await Promise.all([sync(), search(manager, "zebra"), sync(), search(manager, "zebra"), sync()]);
    expect(most).toBe(1);
  });

  test("started by searches at the same time are one", async () => {
    const { manager, store } = await openMemory(folderWith({ "memory/a.md": "zebra" }));
    const answers = await Promise.all(Array.from({ length: 5 }, () => search(manager, "zebra")));
    for (const answer of answers) expect(answer.paths).toEqual(["memory/a.md"]);
    expect(store.calls.filter(({ method }) => method === "listFiles")).toHaveLength(1);
  });

  test("that are aborted leave no error behind", async () => {
    const { manager, sync } = await openMemory(folderWith({ "memory/a.md": "zebra" }));
    await expect(manager.sync?.(syncParams({ signal: AbortSignal.abort() }))).rejects.toMatchObject({
      name: "AbortError",
    });
    expect(manager.status().lastSyncError).toBeUndefined();
    const controller = new AbortController();
    const aborted = syncParams({ signal: controller.signal, progress: () => controller.abort() });
    await expect(manager.sync?.(aborted)).rejects.toMatchObject({ name: "AbortError" });
    expect(manager.status().lastSyncError).toBeUndefined();
    expect(await sync()).toMatchObject({ added: 1 });
  });
});

describe("status", () => {
  test("with failed files is dirty", async () => {
    const workspace = folderWith({ "memory/a.md": "zebra", "memory/bad.md": "text" });
    const store = createFakeStore();
    const { manager, sync } = await openMemory(workspace, { store });
    // Between the look at the files and the reading of them.
    store.before("listFiles", () => {
      rmSync(path.join(workspace, "memory/bad.md"));
      mkdirSync(path.join(workspace, "memory/bad.md"));
    });
    await sync();
    expect(manager.status()).toMatchObject(data.failedFile);
  });

  test("notices of the store are reported once and kept", async () => {
    const lines: string[] = [];
    const store = createFakeStore();
    store.setHealth({ notices: ["the index was damaged and was built again"] });
    const { manager } = await openMemory(folderWith(), { store, notify: (line) => void lines.push(line) });
    expect(lines).toEqual(["the index was damaged and was built again"]);
    expect(manager.status().custom?.notices).toEqual(lines);
  });

  test("capabilities follow the store", async () => {
    const store = createFakeStore();
    store.setHealth({ fts: { enabled: true, available: false, error: "no fts5" } });
    const { manager } = await openMemory(folderWith(), { store, provider: fakeEmbeddings() });
    expect(manager.capabilities).toEqual({ keyword: false, vector: true, ownsIndex: true });
    expect(manager.status().custom?.searchMode).toBe("vector");
  });
});

describe("closing", () => {
  test("ends a running sync and waits for it before it closes the store", async () => {
    const { manager, store } = await openMemory(
      folderWith(Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`memory/${index}.md`, "zebra"]))),
    );
    let writing = false;
    const begun = gate();
    store.before("replaceFiles", async () => {
      writing = true;
      begun.open();
      await sleep(20);
      writing = false;
    });
    store.before("close", () => expect(writing).toBe(false));
    const syncing = manager.sync?.(syncParams()).catch((error: unknown) => error);
    await begun.opened;
    await manager.close?.();
    expect(await syncing).toMatchObject({ name: "AbortError" });
    expect(store.calls.at(-1)?.method).toBe("close");
  });
});

test("a provider that is back is noticed within 30 seconds by a process that does nothing", async () => {
  // The clock stands still and is moved by hand; files are read in real time.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const turns = async (holds: () => boolean): Promise<void> => {
    for (let turn = 0; turn < 20_000 && !holds(); turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(holds()).toBe(true);
  };
  const sent: string[][] = [];
  let isDown = true;
  const provider = fakeEmbeddings({
    limits: { dimensions: 5 },
    fail(_what, _call, texts) {
      sent.push([...texts]);
      return isDown ? new EmbeddingError("transient", "fake answered 503") : undefined;
    },
  });
  const workspace = folderWith({ "memory/a.md": "our budget", "memory/b.md": "a kitten" });
  const { manager } = await openMemory(workspace, { provider });
  const syncing = manager.sync?.(syncParams());
  // The pauses between the attempts: four of the texts, two of the plain word that would show them guilty.
  while (sent.length < 6) await vi.advanceTimersByTimeAsync(500).then(() => turns(() => true));
  expect((await syncing)?.pendingVectors).toMatchObject({ chunks: 2, failure: "transient" });
  isDown = false;
  await vi.advanceTimersByTimeAsync(15_000);
  await turns(() => manager.status().vector?.embedded === 2);
  expect(sent.slice(6), "one word first").toEqual([["memory"], expect.any(Array)]);
});

describe("details of an index", () => {
  describe("the syncs of an index", () => {
    test("are reported with their changes: requested ones, and those that found a change", async () => {
      const workspace = folderWith({ "memory/a.md": "budget" });
      const manager = (await openMemory(workspace)).manager;
      await manager.sync?.(syncParams({ reason: "cli" }));
      await manager.search("budget", searchOptions());
      writeFileSync(path.join(workspace, "memory/b.md"), "server");
      await manager.search("server", searchOptions());
      const { syncs = [] } = (await manager.details?.({ signal: never })) ?? {};
      expect(syncs).toMatchObject([
        { reason: "search", added: 1, changed: 0, removed: 0, unchanged: 1, failed: 0 },
        { reason: "cli", added: 1, unchanged: 0 },
      ]);
      expect(syncs[0]?.durationMs).toBe(manager.status().lastSync?.durationMs);
    });

    test("that fail as a whole have their reason", async () => {
      const { manager, store } = await openMemory(folderWith({ "memory/a.md": "budget" }));
      store.replaceFiles = async () => Promise.reject(new Error("torn page"));
      await expect(manager.sync?.(syncParams({ reason: "cli" }))).rejects.toThrow("torn page");
      const { syncs = [] } = (await manager.details?.({ signal: never })) ?? {};
      expect(syncs).toMatchObject([{ reason: "cli", error: expect.stringContaining("torn page") }]);
      expect(syncs[0]).not.toHaveProperty("added");
    });
  });

  describe("texts that a provider refuses", () => {
    test("are sent again by the next sync once they were released", async () => {
      let refuses = true;
      const provider = fakeEmbeddings({
        limits: { dimensions: 5 },
        fail: (what, _call, texts) =>
          refuses && what === "batch" && texts.some((text) => text.includes("kitten"))
            ? new EmbeddingError("input", "this text is refused")
            : undefined,
      });
      const workspace = folderWith({ "memory/a.md": "our budget", "memory/b.md": "a kitten" });
      const { manager } = await openMemory(workspace, { provider });
      await manager.sync?.(syncParams());
      expect(manager.status().embedding?.quarantined).toMatchObject([{ path: "memory/b.md" }]);
      refuses = false;
      await manager.sync?.(syncParams());
      expect(manager.status().embedding?.quarantined, "it was not released").toHaveLength(1);
      expect(await manager.releaseQuarantine?.({ signal: never })).toEqual({ chunks: 1 });
      expect(manager.status().embedding).toMatchObject({ quarantined: [], pending: { chunks: 1 } });
      await manager.sync?.(syncParams());
      expect(manager.status().vector?.embedded).toBe(2);
      expect(await manager.releaseQuarantine?.({ signal: never })).toEqual({ chunks: 0 });
      const { spaces } = (await manager.details?.({ signal: never })) ?? {};
      expect(spaces).toEqual([{ provider: "fake", model: "groups", dimensions: 5, vectors: 2, inUse: true }]);
    });

    test("are none where there is no provider", async () => {
      const manager = (await openMemory(folderWith({ "memory/a.md": "budget" }))).manager;
      expect(manager.releaseQuarantine).toBeUndefined();
      expect(await manager.details?.({ signal: never })).toMatchObject({ spaces: [], price: undefined });
    });
  });
});
