import { describe, expect, test } from "vitest";
import { parseConfig } from "../config/load-config.ts";
import { type RerankPlugin, defineRerankPlugin } from "../contract/plugin.ts";
import type { Reranker } from "../contract/reranker.ts";
import { discoverPlugins } from "../plugins/discover.ts";
import type { OfferedPlugin } from "../plugins/offered.ts";
import { type ChosenReranker, chooseReranker } from "./choose-reranker.ts";

const fake: Reranker = { id: "mine", model: "m", rerank: async (_, texts) => texts.map(() => 1) };

function pluginOf(open: RerankPlugin["open"], id = "mine"): RerankPlugin {
  return defineRerankPlugin({ id, open });
}

async function choose(
  provider: string,
  options: {
    plugins?: RerankPlugin[];
    offered?: OfferedPlugin[];
    reranker?: Reranker;
    content?: Record<string, unknown>;
    deadlineMs?: number;
  } = {},
): Promise<ChosenReranker> {
  const { plugins = [], offered = [], reranker, content = {}, deadlineMs = 10_000 } = options;
  const agents = { defaults: { memorySearch: { query: { rerank: { provider, model: "wanted" } } } } };
  const config = parseConfig({ ...content, agents }, { stateDir: "/nowhere", baseDir: "/", env: {} });
  const found = await discoverPlugins({ config, plugins });
  return chooseReranker({
    config,
    settings: config.agent("main").memorySearch,
    plugins: { ...found, missing: offered },
    reranker,
    deadlineMs,
  });
}

const here = [pluginOf(async () => fake)];
const offered: OfferedPlugin[] = [{ id: "rerank-far", kind: "rerank", packageName: "@memslot/rerank-far" }];

describe("the reranker of a configuration", () => {
  test.each(["none", "", " None "])('is none for "%s", whatever is there', async (provider) => {
    const { choice } = await choose(provider, { plugins: here });
    expect(choice).toMatchObject({ reranker: undefined, requested: "none", degraded: false });
  });

  test("is that of the plugin that it names, with the settings and options of that", async () => {
    let given: Parameters<RerankPlugin["open"]>[0] | undefined;
    const plugin = pluginOf(async (context) => {
      given = context;
      return fake;
    });
    const content = { plugins: { entries: { mine: { config: { format: "x" } } } } };
    const { choice } = await choose("mine", { plugins: [plugin], content });
    expect(choice).toMatchObject({ reranker: fake, requested: "mine", degraded: false });
    expect(given?.settings.query.rerank).toMatchObject({ model: "wanted", candidates: 30, timeoutMs: 1500 });
    expect(given?.options).toEqual({ format: "x" });
  });

  test("is that of the application before all others, which closes it itself", async () => {
    let closed = 0;
    const reranker = { ...fake, close: async () => void closed++ };
    const { choice, close } = await choose("mine", { plugins: here, reranker });
    expect(choice).toMatchObject({ reranker, requested: "given", degraded: false });
    await close();
    expect(closed).toBe(0);
  });

  test("is closed where a plugin has opened it", async () => {
    let closed = 0;
    const plugin = pluginOf(async () => ({ ...fake, close: async () => void closed++ }));
    await (await choose("mine", { plugins: [plugin] })).close();
    expect(closed).toBe(1);
  });

  test("that is offered and not installed makes answers degraded, and says what adds it", async () => {
    const { choice } = await choose("rerank-far", { offered });
    expect(choice).toMatchObject({ reranker: undefined, degraded: true });
    expect(choice.reason).toContain("memslot plugins add rerank-far");
  });

  test.each([
    ["throws", async () => Promise.reject(new Error("no key")), /"mine" cannot be used: no key; results keep/],
    ["does not end", async () => new Promise<never>(() => {}), /cannot be used: opening .* gave no answer within/],
  ])("whose plugin %s makes answers degraded", async (_, open, words) => {
    const { choice } = await choose("mine", { plugins: [pluginOf(open)], deadlineMs: 50 });
    expect(choice).toMatchObject({ reranker: undefined, degraded: true });
    expect(choice.reason).toMatch(words);
  });

  test.each([
    [
      "an unknown id",
      "mien",
      {},
      "CONFIG",
      /is no reranker\. Did you mean "mine"\? Known: "mine", "rerank-far", "none"/,
    ],
    ["a plugin that is denied", "mine", { plugins: { deny: ["mine"] } }, "CONFIG", /plugins\.deny lists "mine"/],
    [
      "a plugin that is switched off",
      "mine",
      { plugins: { entries: { mine: { enabled: false } } } },
      "CONFIG",
      /enabled is false; change one of the two/,
    ],
  ])("is an error for %s", async (_, provider, content, code, words) => {
    const chosen = choose(provider, { plugins: here, offered, content });
    await expect(chosen).rejects.toMatchObject({ code, message: expect.stringMatching(words) });
  });

  test.each([
    ["nothing", undefined, /"it" must be an object/],
    ["one without a model", { ...fake, model: " " }, /"model" must be a non-empty string/],
    ["one that cannot rerank", { ...fake, rerank: undefined }, /"rerank" must be a function/],
  ])("is an error for a plugin that opens %s", async (_, opened, words) => {
    const chosen = choose("mine", { plugins: [pluginOf(async () => opened as unknown as Reranker)] });
    await expect(chosen).rejects.toMatchObject({ code: "PLUGIN", message: expect.stringMatching(words) });
  });
});
