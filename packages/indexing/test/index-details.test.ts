import { writeFileSync } from "node:fs";
import path from "node:path";
import { EmbeddingError } from "@memslot/core";
import { manageIndex } from "@memslot/indexing";
import { describe, expect, onTestFinished, test } from "vitest";
import { contextFor, never, searchOptions, syncParams } from "./support/context.ts";
import { fakeEmbeddings } from "./support/fake-embeddings.ts";
import { createFakeStore } from "./support/fake-store.ts";
import { tempFolder as folderWith } from "@memslot/test-tools/files";

async function open(
  workspace: string,
  provider: ReturnType<typeof fakeEmbeddings> | undefined,
): Promise<Awaited<ReturnType<typeof manageIndex>>> {
  const context = contextFor(workspace, provider === undefined ? {} : { provider });
  const manager = await manageIndex({ index: createFakeStore(), context, backend: "test" });
  onTestFinished(() => manager.close?.());
  return manager;
}

describe("the syncs of an index", () => {
  test("are told with what they did: those that were asked for, and those that found something", async () => {
    const workspace = folderWith({ "memory/a.md": "budget" });
    const manager = await open(workspace, undefined);
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
    const store = createFakeStore();
    const workspace = folderWith({ "memory/a.md": "budget" });
    const manager = await manageIndex({ index: store, context: contextFor(workspace), backend: "test" });
    onTestFinished(() => manager.close?.());
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
    const manager = await open(folderWith({ "memory/a.md": "our budget", "memory/b.md": "a kitten" }), provider);
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
    const manager = await open(folderWith({ "memory/a.md": "budget" }), undefined);
    expect(manager.releaseQuarantine).toBeUndefined();
    expect(await manager.details?.({ signal: never })).toMatchObject({ spaces: [], price: undefined });
  });
});
