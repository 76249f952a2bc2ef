import { EmbeddingError, type EmbeddingProvider } from "@memslot/core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { manageIndex } from "@memslot/indexing/engine";
import { never, searchOptions, syncParams } from "./support/context.ts";
import { openMemory } from "./support/memory.ts";
import { fakeEmbeddings } from "./support/fake-embeddings.ts";
import { tempFolder as folderWith } from "@memslot/test-tools/files";
import { writeFileSync } from "node:fs";
import path from "node:path";

describe("a provider that comes back", () => {
  // The clock stands still and is moved by hand; files are read in real time.

  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));
  afterEach(() => void vi.useRealTimers());

  async function until(holds: () => boolean): Promise<void> {
    for (let turn = 0; turn < 20_000 && !holds(); turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(holds()).toBe(true);
  }

  interface FarEnd {
    provider: EmbeddingProvider;
    /** Texts of each request so far. */
    sent: string[][];
    how: "answers" | "fails" | "hangs";
  }

  function farEnd(): FarEnd {
    const inner = fakeEmbeddings({ limits: { dimensions: 5 } });
    const end: FarEnd = {
      how: "fails",
      sent: [],
      provider: {
        ...inner,
        async embedBatch(texts) {
          end.sent.push([...texts]);
          if (end.how === "fails") throw new EmbeddingError("transient", "fake answered 503");
          if (end.how === "hangs") return await new Promise<never>(() => undefined);
          return await inner.embedBatch(texts);
        },
      },
    };
    return end;
  }

  async function open(end: FarEnd): Promise<Awaited<ReturnType<typeof manageIndex>>> {
    const workspace = folderWith({ "memory/a.md": "our budget", "memory/b.md": "a kitten" });
    return (await openMemory(workspace, { provider: end.provider })).manager;
  }

  describe("a provider that is back", () => {
    test("is noticed within 30 seconds by a process that does nothing", async () => {
      const end = farEnd();
      const manager = await open(end);
      const syncing = manager.sync?.(syncParams());
      // The pauses between the attempts: four of the texts, two of the plain word that would show them guilty.
      while (end.sent.length < 6) await vi.advanceTimersByTimeAsync(500).then(() => until(() => true));
      expect((await syncing)?.pendingVectors).toMatchObject({ chunks: 2, failure: "transient" });
      end.how = "answers";
      await vi.advanceTimersByTimeAsync(15_000);
      await until(() => manager.status().vector?.embedded === 2);
      expect(end.sent.slice(6), "one word first").toEqual([["memory"], expect.any(Array)]);
    });

    test("after it hung, too, however long that was; it is asked with one word as long as it hangs", async () => {
      const end = farEnd();
      const manager = await open(end);
      end.how = "hangs";
      // Nobody waits for the vectors of a search.
      const searching = manager.search("budget", searchOptions());
      await until(() => end.sent.length === 1);
      await vi.advanceTimersByTimeAsync(300);
      expect((await searching).map(({ path }) => path)).toEqual(["memory/a.md"]);
      for (let round = 0; round < 40; round++) {
        await vi.advanceTimersByTimeAsync(5000);
        for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
      }
      const asked = end.sent.length;
      expect(asked).toBeGreaterThan(200 / 30);
      expect(end.sent.slice(1).every(([text, ...more]) => text === "memory" && more.length === 0)).toBe(true);
      end.how = "answers";
      for (let second = 0; second < 30; second++) {
        await vi.advanceTimersByTimeAsync(1000);
        for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
      }
      await until(() => manager.status().vector?.embedded === 2);
    });
  });
});

describe("details of an index", () => {
  describe("the syncs of an index", () => {
    test("are told with what they did: those that were asked for, and those that found something", async () => {
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
      expect(manager.status().embedding?.quarantined, "nobody has let it go").toHaveLength(1);
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
