import { rmSync } from "node:fs";
import path from "node:path";
import type { EmbeddingProvider, MemorySearchSettings, SyncEstimate } from "@memslot/core";
import { expect, test } from "vitest";
import { estimateSync } from "./estimate.ts";
import { createNotesSource } from "../scan/read-note.ts";
import { syncFiles } from "../sync/sync.ts";
import { estimateTokens } from "../text/split-by-tokens.ts";
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

interface Bench {
  folder: string;
  store: SpaceStore;
  sync(): Promise<void>;
  estimate(
    provider?: Partial<EmbeddingProvider>,
    change?: Partial<Parameters<typeof estimateSync>[0]>,
  ): Promise<SyncEstimate>;
}

/** A workspace that was synced, with the vectors of all but its last texts, and then changed. */
async function changedWorkspace(limits: Partial<EmbeddingProvider> = {}): Promise<Bench> {
  const folder = tempFolder({ "MEMORY.md": note("facts", 10) });
  const inMemory = (notes: Record<string, string>): void => writeFiles(path.join(folder, "memory"), notes);
  inMemory(Object.fromEntries(["a", "b", "c", "d", "e"].map((name) => [`${name}.md`, note(name, 20)])));
  const store = await createSpaceStore();
  const sources = (own: MemorySearchSettings = settings) => [
    createNotesSource({ workspaceDir: folder, settings: own }),
  ];
  const sync = async (): Promise<void> => {
    await syncFiles({ table: store, sources: sources(), params: syncParams() });
  };
  await sync();
  const left = await fillWith(store, scriptedRequests({ provider: limits }), { budget: budgetOf(() => 2500) });
  expect(left?.chunks).toBeGreaterThan(10);
  rmSync(path.join(folder, "memory", "d.md"));
  // The same text again, and one line that is too long for the provider.
  const long = `# long\n\n${"log ".repeat(900)}\n`;
  inMemory({ "a.md": note("other a", 25), "e.md": note("other e", 5), "copy.md": note("c", 20), "long.md": long });
  store.calls.length = 0;
  return {
    folder,
    store,
    sync,
    estimate: async (provider, change) =>
      await estimateSync({
        store,
        sources: sources(change?.settings),
        settings,
        space,
        provider: scriptedRequests({ provider: provider ?? {} }).provider,
        reason: undefined,
        signal: never,
        ...change,
      }),
  };
}

test.each([
  ["without limits", {}],
  ["with limits", { maxBatchItems: 9, maxBatchTokens: 300, maxInputTokens: 50 }],
])("an estimate is what the next sync sends, %s, and writes nothing", async (_, limits) => {
  const { store, sync, estimate } = await changedWorkspace(limits);
  const estimated = await estimate(limits);
  const calls = new Set(store.calls.map(({ method }) => method));
  expect(calls).toEqual(new Set(["listFiles", "knownVectors", "noted", "quarantined"]));
  expect(estimated).toMatchObject({ files: 7, changedFiles: 4, provider: "scripted", model: "m1", price: undefined });

  const cached = store.vectors.size;
  await sync();
  const requests = scriptedRequests({ provider: limits });
  expect(await fillWith(store, requests, { concurrency: 1 })).toBeUndefined();
  const sent = requests.sent.flat();
  expect(sent.length).toBeGreaterThan(20);
  const tokens = Math.ceil(sent.reduce((sum, text) => sum + estimateTokens(text), 0));
  const { embedded: chunks } = await store.spaceStats(space);
  expect(estimated).toMatchObject({ pendingTexts: sent.length, tokens, chunks });
  expect(Math.abs(estimated.requests - requests.sent.length)).toBeLessThanOrEqual(1);
  expect(estimated.cachedTexts).toBeLessThanOrEqual(cached);
  const all = estimated.cachedTexts + estimated.pendingTexts;
  expect(new Set((await store.sample(1000)).map(({ hash }) => hash)).size).toBe(all);
  const nothing = { changedFiles: 0, pendingTexts: 0, tokens: 0, requests: 0 };
  expect(await estimate(limits)).toMatchObject({ ...nothing, cachedTexts: all });
});

test("an estimate excludes quarantined texts", async () => {
  const { store, sync, estimate } = await changedWorkspace();
  await sync();
  const before = await estimate();
  const [first] = await store.pendingVectors(space, 1);
  await store.quarantine(space, [{ hash: first?.hash ?? "", reason: "too long" }]);
  const after = await estimate();
  expect(before.pendingTexts - after.pendingTexts).toBe(1);
  expect(before.tokens).toBeGreaterThan(after.tokens);
  expect(after.cachedTexts).toBe(before.cachedTexts);
});

test("without a provider nothing is sent, with the reason", async () => {
  const { estimate } = await changedWorkspace();
  const { chunks } = await estimate();
  const nothing = { cachedTexts: 0, pendingTexts: 0, tokens: 0, requests: 0, model: undefined, price: undefined };
  const change = { provider: undefined, space: undefined, reason: "no key is set" };
  const expected = { files: 7, changedFiles: 4, chunks, provider: "none", reason: "no key is set", ...nothing };
  expect(await estimate({}, change)).toEqual(expected);
});

test("an estimate has the price, that of the batch interface if it is enabled", async () => {
  const { estimate } = await changedWorkspace();
  const price = { usdPerMillionTokens: 0.02, batchUsdPerMillionTokens: 0.01, asOf: "2026-03-01", source: "a page" };
  const provider = { price, batches: scriptedBatches({ maxItems: 10 }) };
  const direct = await estimate(provider);
  expect(direct.price).toEqual({ ...price, usd: (direct.tokens / 1e6) * 0.02 });
  expect(direct.price?.usd).toBeGreaterThan(0);
  const batch = { enabled: true, wait: true, concurrency: 2, pollIntervalMs: 2000, timeoutMinutes: 60 };
  const jobs = await estimate(provider, { settings: { ...settings, remote: { ...settings.remote, batch } } });
  expect(jobs.price?.usd).toBe((direct.tokens / 1e6) * 0.01);
  expect(jobs.requests).toBe(Math.ceil(jobs.pendingTexts / 10));
});

test("an estimate skips an unreadable file, and ends if it is aborted", async () => {
  const { folder, store, estimate } = await changedWorkspace();
  const controller = new AbortController();
  store.before("listFiles", () => controller.abort());
  await expect(estimate({}, { signal: controller.signal })).rejects.toMatchObject({ name: "AbortError" });
  // Deleted between the scan and the reading.
  store.before("listFiles", () => rmSync(path.join(folder, "memory", "b.md")));
  expect(await estimate()).toMatchObject({ files: 6 });
});
