import { describe, expect, test, vi } from "vitest";
import {
  type RerankChoice,
  type RerankPlugin,
  type Reranker,
  type SearchReport,
  defineRerankPlugin,
} from "@memslot/core";
import { discoverPlugins } from "@memslot/core/host";
import { type Chosen, chooseReranker } from "../src/open/choose-providers.ts";
import {
  ask,
  config,
  gate,
  guarded,
  hang,
  pass,
  rejected,
  report,
  result,
  searchOf,
  stopClock,
} from "./support/fakes.ts";
import { counted, createMemoryHome } from "./support/open.ts";
import data from "./data/rerank.json" with { type: "json" };

const reranker: Reranker = {
  id: "mine",
  model: "m",
  endpoint: { host: "rerank.example.org", keySource: "query.rerank.apiKey", fingerprint: "f" },
  rerank: async (_, texts) => texts.map(() => 1),
};

const pluginOf = (open: RerankPlugin["open"]): RerankPlugin => defineRerankPlugin({ id: "mine", open });

describe("the reranker of a configuration", () => {
  interface Options {
    plugins?: RerankPlugin[];
    given?: Reranker;
    content?: Record<string, unknown>;
  }

  async function choose(provider: string, options: Options = {}): Promise<Chosen<RerankChoice>> {
    const { plugins = [pluginOf(async () => reranker)], given, content = {} } = options;
    const agents = { defaults: { memorySearch: { query: { rerank: { provider, model: "wanted" } } } } };
    const whole = config({ ...content, agents });
    const missing = [{ id: "rerank-far", kind: "rerank", packageName: "@memslot/rerank-far" } as const];
    return chooseReranker({
      config: whole,
      settings: whole.agent("main").memorySearch,
      plugins: { ...(await discoverPlugins({ config: whole, plugins })), missing },
      reranker: given,
      deadlineMs: 10_000,
    });
  }

  test.each(["none", "", " None "])('is none for "%s", whatever is there', async (provider) => {
    const { choice } = await choose(provider);
    expect(choice).toMatchObject({ reranker: undefined, requested: "none", degraded: false });
  });

  test("is that of the plugin that it names, with its settings and options, and is closed", async () => {
    const close = vi.fn<() => Promise<undefined>>(async () => undefined);
    const open = vi.fn<RerankPlugin["open"]>(async () => ({ ...reranker, close }));
    const content = { plugins: { entries: { mine: { config: { format: "x" } } } } };
    const chosen = await choose("mine", { plugins: [pluginOf(open)], content });
    expect(chosen.choice).toMatchObject({ reranker: { id: "mine" }, requested: "mine", degraded: false });
    const rerank = { model: "wanted", candidates: 30, timeoutMs: 1500 };
    expect(open.mock.calls).toMatchObject([[{ settings: { query: { rerank } }, options: { format: "x" } }]]);
    await chosen.close();
    expect(close).toHaveBeenCalledTimes(1);
  });

  test("that is not installed or cannot be opened makes answers degraded", async () => {
    const { choice } = await choose("rerank-far");
    expect(choice).toMatchObject({ reranker: undefined, degraded: true });
    expect(choice.reason).toContain("memslot plugins add rerank-far");
    const failing = await choose("mine", { plugins: [pluginOf(async () => Promise.reject(new Error("no key")))] });
    expect(failing.choice).toMatchObject({ reranker: undefined, degraded: true });
    expect(failing.choice.reason).toMatch(/"mine" cannot be used: no key; results keep/);
  });

  test("that does not open in time makes answers degraded", async () => {
    stopClock();
    const reached = gate();
    const open = (): Promise<never> => {
      reached.open();
      return hang();
    };
    const choosing = choose("mine", { plugins: [pluginOf(open)] });
    await reached.opened;
    await pass(10_000);
    const { choice } = await choosing;
    expect(choice).toMatchObject({ reranker: undefined, degraded: true });
    expect(choice.reason).toMatch(/cannot be used: opening .* did not answer within 10 s/);
  });

  const unknown = 'is not a reranker. Did you mean "mine"? Known: "mine", "rerank-far", "none"';
  test.each<[string, string, Record<string, unknown>, string]>([
    ["an unknown id", "mien", {}, unknown],
    ["a plugin that is denied", "mine", { plugins: { deny: ["mine"] } }, 'plugins.deny lists "mine"'],
    [
      "a plugin that is switched off",
      "mine",
      { plugins: { entries: { mine: { enabled: false } } } },
      "enabled is false; change one of the two",
    ],
  ])("is an error for %s", async (_, provider, content, words) => {
    const error = await rejected(choose(provider, { content }));
    expect(error).toMatchObject({ code: "CONFIG", message: expect.stringContaining(words) });
  });

  test.each([
    ["nothing", undefined, '"it" must be an object'],
    ["one without a model", { ...reranker, model: " " }, '"model" must be a non-empty string'],
    ["one that cannot rerank", { ...reranker, rerank: undefined }, '"rerank" must be a function'],
  ])("is an error for a plugin that opens %s", async (_, opened, words) => {
    const error = await rejected(choose("mine", { plugins: [pluginOf(async () => opened as Reranker)] }));
    expect(error).toMatchObject({ code: "PLUGIN", message: expect.stringContaining(words) });
  });
});

const chosen: RerankChoice = { reranker, requested: "mine", reason: "asked for", degraded: false };
const none = { reranker: undefined, requested: "mine", reason: "no key", degraded: true };

describe("the report of a search", () => {
  const done = { state: "done", id: "mine", candidates: 2, cached: false, ms: 1 } as const;
  const reason = '"fake" ranks by itself and uses no reranker';
  const unused = { state: "unused", id: "mine", model: "m", candidates: 0, reason };
  const two = [result(), result({ path: "memory/b.md" })];
  test.each<[string, RerankChoice | undefined, Partial<SearchReport>, typeof two, object]>([
    ["that a backend which ranks by itself has not used it", chosen, {}, two, { rerank: unused, state: "ok" }],
    ["what the backend has reported of it", chosen, { rerank: done }, two, { rerank: done }],
    ["nothing where there is none", undefined, {}, two, { rerank: undefined }],
    ["nothing where there is nothing to order", chosen, {}, [result()], { rerank: undefined }],
    ["that the configured one could not be opened", none, {}, two, { state: "degraded", reason: "no key" }],
  ])("says %s", async (_name, rerank, given, found, wanted) => {
    const { report: told } = await ask(guarded(searchOf(found, report(given)), { rerank }));
    expect({ rerank: undefined, ...told }).toMatchObject(wanted);
  });
});

test("the status names the reranker, its host and where its key is from, or why there is none", () => {
  const statusOf = (rerank: RerankChoice): unknown => guarded({}, { rerank }).status().rerank;
  expect(statusOf(chosen)).toEqual(data.status);
  expect(statusOf(none)).toEqual({ requested: "mine", reason: "no key" });
  expect(statusOf({ ...none, requested: "none" })).toBeUndefined();
});

describe("a rerank plugin", () => {
  test("is given to the memory plugin, and closed behind it", async () => {
    const ends: string[] = [];
    const home = createMemoryHome();
    const { plugin, contexts } = counted("memory-core", { close: async () => void ends.push("manager") });
    const mine = pluginOf(async () => ({ ...reranker, close: async () => void ends.push("reranker") }));
    const whole = home.config({}, { provider: "none", query: { rerank: { provider: "mine" } } });
    const memory = await home.open({ config: whole, plugins: [plugin, mine] });
    expect(contexts).toMatchObject([{ rerank: { reranker: { id: "mine" } } }]);
    await memory.close();
    expect(ends).toEqual(["manager", "reranker"]);
  });
});
