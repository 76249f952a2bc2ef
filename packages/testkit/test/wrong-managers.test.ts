import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { type MemoryPlugin, type MemoryPluginContext, type MemorySearchManager } from "@memslot/core";
import { createReferencePlugin, memoryConformance } from "@memslot/testkit";
import { expectFailure } from "./collect-checks.ts";
import { faulty, rowsOf } from "./faulty.ts";
import faults from "./data/wrong-managers.json" with { type: "json" };

type Spoil = (right: MemorySearchManager, context: MemoryPluginContext) => Partial<MemorySearchManager>;

const nextTurn = (): Promise<void> => new Promise((done) => setImmediate(done));

/** What these managers leave behind: ended after each test. */
const left: { processes: ChildProcess[]; descriptors: number[] } = { processes: [], descriptors: [] };
afterEach(() => {
  for (const child of left.processes.splice(0)) child.kill("SIGKILL");
  for (const descriptor of left.descriptors.splice(0)) closeSync(descriptor);
});

/** Does something before each sync. */
const beforeSync =
  (work: (context: MemoryPluginContext) => unknown): Spoil =>
  (right, context) => ({
    async sync(params) {
      await work(context);
      return await right.sync?.(params);
    },
  });

/** Changes the report of each search. */
const reporting =
  (change: (report: object, right: MemorySearchManager, query: string) => Promise<object> | object): Spoil =>
  (right) => ({
    async search(query, options) {
      let report: object = {};
      const results = await right.search(query, { ...options, onDebug: (given) => (report = given) });
      options.onDebug({ ...report, ...(await change(report, right, query)) } as never);
      return results;
    },
  });

/** How many candidates the search of the owner has. */
const ownersCandidates = reporting(async (_, right, query) => {
  const options = { maxResults: 9, maxTokens: 4000, minScore: 0, strict: false, sources: ["memory"] };
  const signal = new AbortController().signal;
  let reason = "";
  const onDebug = ({ legs }: { legs: object }): void => void (reason = JSON.stringify(legs));
  await right.search(query, { ...options, sessionKey: undefined, audience: "private", signal, onDebug });
  return { reason };
});

/** Shares one index between all places of the same name. */
function sharing(nameOf: (context: MemoryPluginContext) => string): Spoil {
  const kept = new Map<string, MemorySearchManager>();
  return (right, context) => {
    const first = kept.get(nameOf(context)) ?? right;
    kept.set(nameOf(context), first);
    // It is closed with the process.
    return { search: (query, options) => first.search(query, options), close: async () => undefined };
  };
}

const byAgent = (): Spoil => sharing(({ stateDir, agentId }) => `${stateDir} ${agentId}`);
const byFolder = (): Spoil => sharing(({ stateDir }) => stateDir);

/** Faults that are more than a wrong call. */
const others: Readonly<Record<string, Spoil>> = {
  "search.abort-during": (right) => ({
    async search(query, options) {
      const results = await right.search(query, { ...options, signal: new AbortController().signal });
      await nextTurn();
      return options.signal.aborted ? new Promise(() => undefined) : results;
    },
  }),
  "search.empty": reporting(() => ({ reason: undefined })),
  "meaning.provider-down": reporting(() => ({ state: "ok" })),
  "audience.unaffected": ownersCandidates,
  "audience.unaffected-empty": ownersCandidates,
  "read.refused": (right, { workspaceDir }) => ({
    async readFile(params) {
      const file = resolve(workspaceDir, params.relPath);
      const text = await readFile(file, "utf8").catch(() => undefined);
      return text === undefined ? await right.readFile(params) : { status: "ok", text, path: params.relPath };
    },
  }),
  "sync.abort-during": (right) => ({
    async sync(params) {
      await nextTurn();
      await nextTurn();
      if (params.signal.aborted) throw new Error("the sync broke off");
      return await right.sync?.(params);
    },
  }),
  "notes.unchanged": beforeSync(({ workspaceDir }) => writeFile(join(workspaceDir, "memory", ".indexed"), "")),
  "check.no-embedding": (right) => ({
    async check(params) {
      await right.probeEmbeddingAvailability(params.signal);
      return (await right.check?.(params)) ?? expect.fail("no check");
    },
  }),
  "status.snapshot": (right) => {
    const status = right.status();
    return { status: () => Object.assign(status, right.status()) };
  },
  "faults.no-network": (right) => ({
    async search(query, options) {
      await fetch("http://127.0.0.1:9/").catch(() => Promise.reject(new Error("the search failed")));
      return await right.search(query, options);
    },
  }),
  "close.calls": beforeSync(({ workspaceDir }) =>
    left.descriptors.push(openSync(join(workspaceDir, "MEMORY.md"), "r")),
  ),
  "places.workspaces-at-once": byAgent(),
  "places.workspaces-in-turn": byAgent(),
  "places.agents-at-once": byFolder(),
  "places.agents-in-turn": byFolder(),
  "host.prints": beforeSync(() => process.stdout.write("syncing\n")),
  "host.rejections": beforeSync(() => void Promise.reject(new Error("without a handler"))),
  "host.nothing-left": beforeSync(() =>
    left.processes.push(spawn(process.execPath, ["-e", "setTimeout(() => {}, 60000)"], { stdio: "ignore" })),
  ),
  "host.writes": beforeSync(() => writeFile(join(tmpdir(), "a-draft"), "")),
  "host.event-loop": beforeSync(() => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)),
};

/** What goes wrong before there is a manager. */
const openings: Readonly<Record<string, (right: MemoryPlugin, context: MemoryPluginContext) => Promise<unknown>>> = {
  "open.abort": (right, context) => right.open({ ...context, signal: new AbortController().signal }),
  "open.look-only": async (right, context) => {
    await mkdir(join(context.stateDir, "reference"), { recursive: true });
    return await right.open(context);
  },
};

/** Expects the check to fail for a plugin that opens so. */
async function expectCaught(id: string, open: (typeof openings)[string]): Promise<void> {
  const right = createReferencePlugin();
  const plugin = { ...right, open: (context: MemoryPluginContext) => open(right, context) } as MemoryPlugin;
  await expectFailure((runner) => memoryConformance(runner, { plugin, patienceMs: 1500 }), id);
}

describe("a manager with one fault fails the check that is meant for it", () => {
  test.each(rowsOf(faults))("%s: one that %s", async (id, _, wrong) => {
    await expectCaught(id, async (right, context) => faulty(await right.open(context), wrong));
  });

  test.each(Object.entries(others))("%s", async (id, spoil) => {
    await expectCaught(id, async (plugin, context) => {
      const right = await plugin.open(context);
      return { ...right, ...spoil(right, context) };
    });
  });

  test.each(Object.entries(openings))("%s", async (id, open) => {
    await expectCaught(id, open);
  });
});
