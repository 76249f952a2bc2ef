import assert from "node:assert/strict";
import type { ManagerSearchOptions, MemoryReadResult, MemorySearchResult, SearchReport } from "@memslot/core";
import type { OpenedMemory } from "./lab.ts";

/** The paths of results, best first. */
export function pathsOf(results: readonly MemorySearchResult[]): string[] {
  return [...new Set(results.map((result) => result.path))];
}

/** The lines of what was read, without a notice that may stand after them. */
export function linesOf({ text, lines }: MemoryReadResult): string[] {
  return lines === 0 ? [] : text.split("\n").slice(0, lines);
}

/** Asks, and expects the file among the results. */
export async function assertFinds(opened: OpenedMemory, query: string, path: string): Promise<MemorySearchResult> {
  const { results, report } = await opened.ask(query);
  const found = results.find((result) => result.path === path);
  assert.ok(
    found !== undefined,
    `"${query}" did not find ${path} but ${JSON.stringify(pathsOf(results))}; the report says ${JSON.stringify(report)}`,
  );
  return found;
}

/** Asks, and expects the file to be absent. Other files may come. */
export async function assertDoesNotFind(opened: OpenedMemory, query: string, path: string): Promise<void> {
  const { results } = await opened.ask(query, { maxResults: 200 });
  assert.ok(!pathsOf(results).includes(path), `"${query}" found ${path}`);
}

/** Expects an answer that can be believed: the state is `ok`, or a spare answers and the report names it. */
export function assertSound(report: SearchReport): void {
  const wanted = report.fallback === undefined ? "ok" : "degraded";
  assert.equal(report.state, wanted, `the report says ${JSON.stringify(report)}`);
}

/** The options of a search below the guard. */
export function managerSearch(options: Partial<ManagerSearchOptions> = {}): ManagerSearchOptions {
  return {
    maxResults: 6,
    maxTokens: 4000,
    minScore: 0.35,
    strict: false,
    sources: ["memory"],
    sessionKey: undefined,
    audience: "private",
    signal: new AbortController().signal,
    onDebug: () => undefined,
    ...options,
  };
}

/** Waits for a promise to settle, and fails when it hangs. */
export async function settles<T>(
  what: string,
  promise: Promise<T>,
  patienceMs: number,
): Promise<PromiseSettledResult<T>> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new assert.AssertionError({ message: `${what} does not end` })), patienceMs);
  });
  try {
    const [outcome] = await Promise.race([Promise.allSettled([promise]), late]);
    return outcome;
  } finally {
    clearTimeout(timer);
  }
}
