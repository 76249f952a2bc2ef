import { rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { EmbeddingProvider, MemorySearchSettings, SyncEstimate } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { estimateSync } from "./estimate.ts";
import { createNotesSource } from "../scan/read-note.ts";
import { syncFiles } from "../sync/sync.ts";
import { estimateTokens } from "../text/token-weight.ts";
import { never, settingsWith, syncParams } from "../../test/support/context.ts";
import { tempFolder, writeFiles } from "@memslot/test-tools/files";
import { budgetOf, fillWith, scriptedRequests } from "./fill/test/scripted-requests.ts";
import { scriptedBatches } from "./fill/test/batch-bench.ts";
import { createSpaceStore, space, type SpaceStore } from "../../test/support/space-store.ts";

const settings = settingsWith({ chunking: { tokens: 60, overlap: 0 } });

function note(name: string, paragraphs: number): string {
  const body = Array.from({ length: paragraphs }, (_, index) => `${name} ${index} `.padEnd(200, "words "));
  return `# ${name}\n\n${body.join("\n\n")}\n`;
}

async function sync(store: SpaceStore, workspaceDir: string, own: MemorySearchSettings = settings): Promise<void> {
  await syncFiles({
    table: store,
    sources: [createNotesSource({ workspaceDir, settings: own })],
    params: syncParams(),
  });
}

async function estimate(
  store: SpaceStore,
  workspaceDir: string,
  change: Partial<Parameters<typeof estimateSync>[0]> = {},
): Promise<SyncEstimate> {
  const { provider } = scriptedRequests();
  return await estimateSync({
    store,
    sources: [createNotesSource({ workspaceDir, settings: change.settings ?? settings })],
    settings,
    space,
    provider,
    reason: undefined,
    signal: never,
    ...change,
  });
}

async function chunkHashes(store: SpaceStore): Promise<Set<string>> {
  return new Set((await store.sample(1000)).map(({ hash }) => hash));
}

/** A workspace that was synced, with the vectors of all but its last texts, and then changed. */
async function changedWorkspace(
  provider: Partial<EmbeddingProvider> = {},
): Promise<{ folder: string; store: SpaceStore }> {
  const folder = tempFolder({ "MEMORY.md": note("facts", 10) });
  writeFiles(
    folder,
    Object.fromEntries(["a", "b", "c", "d", "e"].map((name) => [`memory/${name}.md`, note(name, 20)])),
  );
  const store = await createSpaceStore();
  await sync(store, folder);
  const requests = scriptedRequests({ provider });
  const left = await fillWith(store, requests, {
    budget: budgetOf(() => 2500),
  });
  expect(left?.chunks).toBeGreaterThan(10);
  writeFileSync(path.join(folder, "memory", "a.md"), note("other a", 25));
  writeFileSync(path.join(folder, "memory", "e.md"), note("other e", 5));
  rmSync(path.join(folder, "memory", "d.md"));
  // The same text again, and one line that is too long for the provider.
  writeFileSync(path.join(folder, "memory", "copy.md"), note("c", 20));
  writeFileSync(path.join(folder, "memory", "long.md"), `# long\n\n${"log ".repeat(900)}\n`);
  return { folder, store };
}

describe("an estimate", () => {
  test.each([
    ["without limits", {}],
    ["with limits", { maxBatchItems: 9, maxBatchTokens: 300, maxInputTokens: 50 }],
  ])("says what the sync after it sends, %s", async (_, limits) => {
    const { folder, store } = await changedWorkspace(limits);
    const { provider } = scriptedRequests({ provider: limits });
    const estimated = await estimate(store, folder, { provider });
    expect(estimated).toMatchObject({ files: 7, changedFiles: 4, provider: "scripted", model: "m1" });

    const cached = store.vectors.size;
    await sync(store, folder);
    const requests = scriptedRequests({ provider: limits });
    expect(await fillWith(store, requests, { concurrency: 1 })).toBeUndefined();
    const sent = requests.sent.flat();
    expect(sent.length).toBeGreaterThan(20);
    expect(estimated.pendingTexts).toBe(sent.length);
    expect(estimated.tokens).toBe(Math.ceil(sent.reduce((sum, text) => sum + estimateTokens(text), 0)));
    expect(Math.abs(estimated.requests - requests.sent.length)).toBeLessThanOrEqual(1);
    const { embedded } = await store.spaceStats(space);
    expect(estimated.chunks).toBe(embedded);
    expect(estimated.cachedTexts).toBeLessThanOrEqual(cached);
    expect(estimated.cachedTexts + estimated.pendingTexts).toBe((await chunkHashes(store)).size);

    expect(await estimate(store, folder, { provider })).toMatchObject({
      changedFiles: 0,
      pendingTexts: 0,
      tokens: 0,
      requests: 0,
      cachedTexts: estimated.cachedTexts + estimated.pendingTexts,
    });
  });

  test("writes nothing", async () => {
    const { folder, store } = await changedWorkspace();
    store.calls.length = 0;
    await estimate(store, folder);
    expect(new Set(store.calls.map(({ method }) => method))).toEqual(
      new Set(["listFiles", "knownVectors", "noted", "quarantined"]),
    );
  });

  test("counts no text that is quarantined", async () => {
    const { folder, store } = await changedWorkspace();
    await sync(store, folder);
    const before = await estimate(store, folder);
    const [first] = await store.pendingVectors(space, 1);
    await store.quarantine(space, [{ hash: first?.hash ?? "", reason: "too long" }]);
    const after = await estimate(store, folder);
    expect(before.pendingTexts - after.pendingTexts).toBe(1);
    expect(before.tokens).toBeGreaterThan(after.tokens);
    expect(after.cachedTexts).toBe(before.cachedTexts);
  });

  test("without a provider sends nothing, and says why", async () => {
    const { folder, store } = await changedWorkspace();
    const estimated = await estimate(store, folder, { provider: undefined, space: undefined, reason: "no key is set" });
    const { chunks } = await estimate(store, folder);
    expect(estimated).toEqual({
      files: 7,
      changedFiles: 4,
      chunks,
      cachedTexts: 0,
      pendingTexts: 0,
      tokens: 0,
      requests: 0,
      provider: "none",
      model: undefined,
      reason: "no key is set",
      price: undefined,
    });
  });

  test("names the price where it is known, that of the batch interface where it is used", async () => {
    const { folder, store } = await changedWorkspace();
    const price = { usdPerMillionTokens: 0.02, batchUsdPerMillionTokens: 0.01, asOf: "2026-03-01", source: "a page" };
    const { provider } = scriptedRequests({ provider: { price, batches: scriptedBatches({ maxItems: 10 }) } });
    const direct = await estimate(store, folder, { provider });
    expect(direct.price).toEqual({ ...price, usd: (direct.tokens / 1e6) * 0.02 });
    expect(direct.price?.usd).toBeGreaterThan(0);
    const batch = { enabled: true, wait: true, concurrency: 2, pollIntervalMs: 2000, timeoutMinutes: 60 };
    const own = { ...settings, remote: { ...settings.remote, batch } };
    const jobs = await estimate(store, folder, { provider, settings: own });
    expect(jobs.price?.usd).toBe((direct.tokens / 1e6) * 0.01);
    expect(jobs.requests).toBe(Math.ceil(jobs.pendingTexts / 10));
    expect((await estimate(store, folder)).price).toBeUndefined();
  });

  test("leaves out a file that cannot be read, and ends when it is aborted", async () => {
    const { folder, store } = await changedWorkspace();
    const controller = new AbortController();
    store.before("listFiles", () => controller.abort());
    await expect(estimate(store, folder, { signal: controller.signal })).rejects.toMatchObject({ name: "AbortError" });
    // Gone between the scan and the reading of it.
    store.before("listFiles", () => rmSync(path.join(folder, "memory", "b.md")));
    expect(await estimate(store, folder)).toMatchObject({ files: 6 });
  });
});
