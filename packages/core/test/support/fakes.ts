import { expect, onTestFinished, vi } from "vitest";
import {
  type CreateMemoryOptions,
  type EmbeddingProvider,
  type ManagerSearchOptions,
  type Memory,
  type MemorySearchManager,
  type MemorySearchOptions,
  type MemorySearchResult,
  type MemorySearchSettings,
  type MemslotConfig,
  type SearchReport,
  createMemory,
  parseConfig,
} from "@memslot/core";

/** A configuration that depends on nothing of the machine. */
export function config(
  content: Record<string, unknown> = {},
  options: { baseDir?: string; stateDir?: string } = {},
): MemslotConfig {
  return parseConfig(content, {
    baseDir: "/nowhere",
    stateDir: "/nowhere/state",
    env: { HOME: "/nowhere" },
    ...options,
  });
}

/** The settings of an agent with these keys under `memorySearch`. */
export function settings(memorySearch: Record<string, unknown> = {}): MemorySearchSettings {
  return config({ agents: { defaults: { memorySearch } } }).agent("main").memorySearch;
}

export function result(fields: Partial<MemorySearchResult> = {}): MemorySearchResult {
  return {
    path: "MEMORY.md",
    startLine: 1,
    endLine: 2,
    score: 0.5,
    textScore: 0.5,
    snippet: "text",
    source: "memory",
    ...fields,
  };
}

export function report(fields: Partial<SearchReport> = {}): SearchReport {
  return {
    backend: "fake",
    mode: "hybrid",
    state: "ok",
    legs: {},
    dropped: { minScore: 0, source: 0, limit: 0 },
    ...fields,
  };
}

/** A manager that finds nothing, reads nothing and counts how often it was closed. */
export interface FakeManager extends MemorySearchManager {
  closed: number;
}

export function fakeManager(own: Partial<MemorySearchManager> = {}): FakeManager {
  const fake: FakeManager = {
    closed: 0,
    capabilities: { keyword: true, vector: true, ownsIndex: true },
    search: async () => [],
    readFile: async ({ relPath, from }) => ({ status: "ok", text: "text", path: relPath, from, lines: 1 }),
    status: () => ({ backend: "fake", provider: "none" }),
    sync: async () => ({ added: 0, changed: 0, removed: 0, unchanged: 0, failed: [] }),
    probeEmbeddingAvailability: async () => ({ ok: true }),
    probeVectorAvailability: async () => true,
    close: async () => {
      fake.closed += 1;
    },
  };
  return Object.assign(fake, own);
}

export function guarded(own: Partial<MemorySearchManager> = {}, options: Partial<CreateMemoryOptions> = {}): Memory {
  return createMemory(fakeManager(own), {
    agentId: "main",
    workspaceDir: "/notes",
    backend: "fake",
    settings: settings({ notes: "agent" }),
    ownerAllowFrom: ["telegram:7"],
    ...options,
  });
}

export function fakeProvider(own: Partial<EmbeddingProvider> = {}): EmbeddingProvider {
  return {
    id: "fake-vectors",
    model: "small",
    embedQuery: async () => [1],
    embedBatch: async (texts) => texts.map(() => [1]),
    ...own,
  };
}

/** A promise that never settles: something that hangs. */
export function hang(): Promise<never> {
  return new Promise(() => {});
}

/** A promise with its two ends. */
export function gate<T = void>(): { opened: Promise<T>; open: (value: T) => void; fail: (error: unknown) => void } {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  return { opened: promise, open: resolve, fail: reject };
}

/** Lets everything go on that needs no timer. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** A clock and timers that stand still but for `pass`, from noon on. Real again after the test. */
export function stopClock(): void {
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "performance", "Date"],
    now: Date.parse("2026-01-01T12:00:00Z"),
  });
  onTestFinished(() => void vi.useRealTimers());
}

/** Lets this time pass on the stopped clock. What had to be done before is done by then, and what follows from it. */
export async function pass(ms: number): Promise<void> {
  await settle();
  await vi.advanceTimersByTimeAsync(ms);
  await settle();
}

/** A search that finds these notes and reports this, and what it was asked. */
export function searchOf(
  found: readonly MemorySearchResult[] = [],
  given?: Partial<SearchReport>,
): { search: MemorySearchManager["search"]; asked: (ManagerSearchOptions & { query: string })[] } {
  const asked: (ManagerSearchOptions & { query: string })[] = [];
  const search: MemorySearchManager["search"] = async (query, options) => {
    asked.push({ ...options, query });
    if (given) options.onDebug(report(given));
    return [...found];
  };
  return { search, asked };
}

export interface Answer {
  results: MemorySearchResult[];
  paths: string[];
  report: SearchReport;
}

/** A search as its caller sees it, with its report: there must be exactly one. */
export async function ask(memory: Memory, options: MemorySearchOptions = {}, query = "q"): Promise<Answer> {
  const reports: SearchReport[] = [];
  const { results, report } = await memory.ask(query, { ...options, onDebug: (given) => reports.push(given) });
  expect(reports).toEqual([report]);
  return { results, paths: results.map(({ path }) => path), report };
}

/** What a call that must fail was rejected with. */
export async function rejected(call: Promise<unknown>): Promise<unknown> {
  const [outcome] = await Promise.allSettled([call]);
  if (outcome?.status === "rejected") return outcome.reason;
  throw new Error("the call did not fail");
}
