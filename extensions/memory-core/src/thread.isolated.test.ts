import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { MessagePort, type Worker } from "node:worker_threads";
import { MemoryError, openMemory, parseConfig } from "@memslot/core";
import { createWorkspace } from "@memslot/test-tools/files";
import { eventually } from "@memslot/test-tools/wait";
import { expect, onTestFinished, test, vi } from "vitest";
import memoryCore from "./index.ts";
import { fileOf, find, open, tempPath, runChild } from "./test/stores.ts";

async function failureOf(work: Promise<unknown>): Promise<MemoryError> {
  const error = await work.catch((reason: unknown) => reason);
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
  const writing = store.replaceFiles(many).then(
    () => undefined,
    (error: unknown) => error,
  );
  await thread.terminate();
  // A call that had not begun is made in another thread.
  const failure = await writing;
  if (failure !== undefined) {
    expect(failure).toMatchObject({ code: "UNAVAILABLE" });
    const later = await failureOf(store.listFiles());
    expect([later.code, later.message]).toEqual(["UNAVAILABLE", expect.stringContaining(path)]);
  }
  expect(store.health().location).toBe(path);
  await store.close();
  const again = await open(path);
  expect(await find(again, "word")).toEqual(["word"]);
  expect(failure === undefined ? [3001] : [1, 3001]).toContain((await again.listFiles()).length);
  await again.replaceFiles([fileOf("b.md", ["second"])]);
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

test("a search asks its thread once whether the index has changed, and for its words", async () => {
  const { workspaceDir: workspace, stateDir } = createWorkspace({ "memory/a.md": "The okapi eats leaves." });
  const config = parseConfig({ agents: { defaults: { workspace } } }, { stateDir, env: {} });
  const memory = await openMemory({ config, agentId: "main", plugins: [memoryCore], notify: () => {} });
  onTestFinished(() => memory.close());
  const post = vi.spyOn(MessagePort.prototype, "postMessage");
  // Until all is indexed and watched, other calls come between.
  async function isAskedOnce(): Promise<boolean> {
    post.mockClear();
    expect(await memory.search("okapi leaves")).toHaveLength(1);
    const calls = post.mock.calls.flatMap(([message]) => ("method" in message ? [String(message.method)] : []));
    return memory.status().freshness?.by === "events" && calls.join() === "revision,searchKeyword";
  }
  await eventually(isAskedOnce, "one question for the revision and one for the words");
});
