import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { MessagePort, type Worker } from "node:worker_threads";
import { openMemory, parseConfig } from "@memslot/core";
import { createWorkspace } from "@memslot/test-tools/files";
import { eventually } from "@memslot/test-tools/wait";
import { expect, onTestFinished, test, vi } from "vitest";
import memoryCore from "./index.ts";
import { open, tempPath, runChild } from "./test/stores.ts";

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

test("a thread ends with its last store", async () => {
  const started = once(process, "worker") as Promise<[Worker]>;
  const store = await open(await tempPath());
  const [thread] = await started;
  const ended = once(thread, "exit");
  await store.close();
  expect(await ended).toHaveLength(1);
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
