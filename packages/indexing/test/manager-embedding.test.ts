import { EmbeddingError } from "@memslot/core";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { never, searchOptions, syncParams } from "./support/context.ts";
import { openMemory } from "./support/memory.ts";
import { fakeEmbeddings } from "./support/fake-embeddings.ts";
import { tempFolder as folderWith } from "@memslot/test-tools/files";
import { writeFileSync } from "node:fs";
import path from "node:path";

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
