import type { ManagerSearchOptions, MemorySearchManager, MemorySearchResult, SearchReport } from "@memslot/core";
import { manageIndex } from "@memslot/indexing/engine";
import { expect, onTestFinished } from "vitest";
import { contextFor, searchOptions, syncParams } from "./context.ts";
import { createFakeStore, type FakeStore } from "./fake-store.ts";

export interface TestMemory {
  manager: MemorySearchManager;
  store: FakeStore;
  sync(): Promise<unknown>;
}

/** A memory over a fake store. It is closed after the test. */
export async function openMemory(
  workspaceDir: string,
  { store = createFakeStore(), ...change }: Parameters<typeof contextFor>[1] & { store?: FakeStore } = {},
): Promise<TestMemory> {
  const manager = await manageIndex({ index: store, context: contextFor(workspaceDir, change), backend: "test" });
  onTestFinished(() => manager.close?.());
  return { manager, store, sync: async () => await manager.sync?.(syncParams()) };
}

/** Searches, and gives the report with the results. */
export async function search(
  manager: MemorySearchManager,
  query: string,
  change: Partial<ManagerSearchOptions> = {},
): Promise<{ results: MemorySearchResult[]; paths: string[]; report: SearchReport }> {
  const options = searchOptions(change);
  const results = await manager.search(query, options);
  expect(options.reports).toHaveLength(1);
  return { results, paths: results.map((result) => result.path), report: options.reports[0] as SearchReport };
}

/** Searches until the answer is not stale: on a busy machine a search does not wait for the end of its scan. */
export async function ask(...given: Parameters<typeof search>): ReturnType<typeof search> {
  let asked = await search(...given);
  while (asked.report.state === "stale") asked = await search(...given);
  return asked;
}
