import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { MemoryError, openMemory, parseConfig } from "@memslot/core";
import { createWorkspace } from "@memslot/test-tools/files";
import { eventually } from "@memslot/test-tools/wait";
import { expect, onTestFinished, test, vi } from "vitest";
import memoryCore from "./index.ts";
import { fileOf, find, open, tempPath, runChild } from "./test/stores.ts";

async function failureOf(work: Promise<unknown>): Promise<MemoryError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!MemoryError.is(error)) throw new Error(`not a MemoryError: ${String(error)}`);
  return error;
}

/** Opens a store and gives the thread it works in. */
async function openWithThread(path: string): Promise<{ store: Awaited<ReturnType<typeof open>>; thread: Worker }> {
  const started = once(process, "worker") as Promise<[Worker]>;
  const store = await open(path);
  const [thread] = await started;
  return { store, thread };
}

test("a store whose thread is killed inside a call says so, and the file opens again with all that was written", async () => {
  const path = await tempPath();
  const { store, thread } = await openWithThread(path);
  await store.replaceFiles([fileOf("a.md", ["word"])]);
  const many = Array.from({ length: 3000 }, (_, index) => fileOf(`${index}.md`, ["more words ".repeat(20)]));
  const waiting = failureOf(store.replaceFiles(many));
  // Its log grows when the call has begun.
  const bytes = statSync(`${path}-wal`).size;
  await expect.poll(() => statSync(`${path}-wal`).size, { interval: 1, timeout: 60_000 }).toBeGreaterThan(bytes);
  await thread.terminate();
  expect((await waiting).code).toBe("UNAVAILABLE");
  const later = await failureOf(store.listFiles());
  expect([later.code, later.message]).toEqual(["UNAVAILABLE", expect.stringContaining(path)]);
  expect(store.health().location).toBe(path);
  await store.close();
  const again = await open(path);
  expect(await find(again, "word")).toEqual(["word"]);
  expect([1, 3001]).toContain((await again.listFiles()).length);
  await again.replaceFiles([fileOf("b.md", ["second"])]);
});

test("a store whose thread is killed between two calls goes on in another, which ends with its last store", async () => {
  const { store, thread } = await openWithThread(await tempPath());
  await store.replaceFiles([fileOf("a.md", ["word"])]);
  const started = once(process, "worker") as Promise<[Worker]>;
  await thread.terminate();
  expect(await find(store, "word")).toEqual(["word"]);
  const [next] = await started;
  const ended = once(next, "exit");
  await store.close();
  await ended;
});

test("a process ends by itself after close, and also when it forgets to close", async () => {
  for (const close of ["close", "forget"]) {
    const child = runChild(["open-and-end", await tempPath(), close]);
    expect(await child.ended, child.output()).toBe(0);
    expect(child.output()).toContain("word\n");
  }
});

test.each([
  [["--input-type=module", "--expose-gc", "--max-old-space-size=300"]],
  [["--expose-gc", "--max-old-space-size=300"]],
])("it works in code that is handed to node on the command line with %j", async (options) => {
  const entry = new URL("./index.ts", import.meta.url).href;
  const code = `
    const { openSqliteStore } = await import(${JSON.stringify(entry)});
    const store = await openSqliteStore({ path: ${JSON.stringify(await tempPath())}, vector: { enabled: false }, cacheMaxEntries: 1 });
    console.log((await store.stats()).files);
    await store.close();`;
  const main = `(async () => { ${code} })();`;
  const printed = execFileSync(process.execPath, ["--conditions=@memslot/source", ...options, "-e", main]);
  expect(printed.toString()).toBe("0\n");
});

test("importing the entry loads no native library and starts no thread", async () => {
  const child = runChild(["list-loaded"]);
  expect(await child.ended, child.output()).toBe(0);
  expect(child.output()).toContain("loaded");
  expect(child.output()).not.toMatch(/better-sqlite3|sqlite-vec|vec0|\.node\b/u);
});

test("a search asks its thread once whether the index has changed, and for its words", async () => {
  const notes = Array.from({ length: 30 }, (_, n) => [`memory/${n}.md`, `The okapi number ${n} eats leaves.`]);
  const { workspaceDir: workspace, stateDir } = createWorkspace(Object.fromEntries(notes));
  const memory = await openMemory({
    config: parseConfig({ agents: { defaults: { workspace } } }, { stateDir, env: {} }),
    agentId: "main",
    plugins: [memoryCore],
    notify: () => {},
  });
  onTestFinished(() => memory.close());
  const post = vi.spyOn(Worker.prototype, "postMessage");
  async function searched(): Promise<string[]> {
    post.mockClear();
    expect(await memory.search("okapi number 7 leaves")).not.toEqual([]);
    return post.mock.calls.flatMap(([message]) => ("method" in message ? [String(message.method)] : []));
  }
  await eventually(async () => (await searched()) && memory.status().freshness?.by === "events", "all is indexed");
  for (let search = 1; search <= 10; search++) {
    const calls = await searched();
    expect(calls.filter((call) => call === "revision")).toHaveLength(1);
    expect(calls.length, calls.join(", ")).toBeLessThanOrEqual(3);
  }
});
