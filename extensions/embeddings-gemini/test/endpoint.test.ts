import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type EmbeddingProvider, loadConfig } from "@memslot/core";
import plugin from "@memslot/embeddings-gemini";
import { type ContextSetup, failureOf } from "@memslot/fakes/plugin-context";
import { tempFolder } from "@memslot/test-tools/files";
import { describe, expect, test, vi } from "vitest";
import { contextFor, open } from "./support/open.ts";
import data from "./data/endpoints.json" with { type: "json" };
import readme from "./data/readme.json" with { type: "json" };

test.each(data.used as [string, ContextSetup, string, string][])("%s", async (_name, setup, host, keySource) => {
  const fetch = vi.spyOn(globalThis, "fetch");
  await plugin.available?.(contextFor(setup));
  const { endpoint } = await open(setup);
  expect(endpoint).toEqual({ host, keySource, fingerprint: expect.stringMatching(/^[0-9a-f]{32}$/) });
  expect(fetch, "nothing is sent").not.toHaveBeenCalled();
  fetch.mockRestore();
});

test.each(data.refused as [string, ContextSetup, string][])("refused: %s", async (_name, setup, words) => {
  const error = await failureOf(open(setup));
  expect(error).toMatchObject({ code: "CONFIG", message: expect.stringMatching(words) });
  expect(error.message).not.toMatch(/secret|sесret/);
  expect(error.cause).toBeUndefined();
});

test("the fingerprint changes with URL, key, model and headers only", async () => {
  const printOf = async (memorySearch: object = {}, key = "key-of-env"): Promise<string | undefined> =>
    (await open({ env: { GEMINI_API_KEY: key }, memorySearch: { ...memorySearch } })).endpoint?.fingerprint;
  const usual = await printOf();
  expect(await printOf({ inputType: "CLUSTERING", outputDimensionality: 768 })).toBe(usual);
  const others = await Promise.all([
    printOf({}, "other"),
    printOf({ model: "gemini-embedding-2" }),
    printOf({ remote: { baseUrl: "https://proxy.example" } }),
    printOf({ remote: { headers: { "x-tenant": "a" } } }),
    printOf({ remote: { headers: { "x-tenant": "b" } } }),
  ]);
  expect(new Set([usual, ...others]).size).toBe(6);
});

test.each([
  ...(data.available as [string, ContextSetup, boolean, string][]).map((row) => [...row] as const),
  ["an invalid key", { env: { GEMINI_API_KEY: "a b" } }, false, "the key from GEMINI_API_KEY is not valid"] as const,
])("whether `auto` can use it: %s", async (_name, { memorySearch, ...rest }: ContextSetup, ok, reason) => {
  const found = await plugin.available?.(contextFor({ memorySearch: { ...memorySearch, provider: "auto" }, ...rest }));
  expect(found).toMatchObject({ ok, reason: expect.stringContaining(reason) });
});

describe("the README", () => {
  const page = readFileSync(join(import.meta.dirname, "../README.md"), "utf8");
  const examples = [...page.matchAll(/^```json5\n([\s\S]*?)^```$/gm)].map(([, code = ""]) => code);

  async function openExample(text = ""): Promise<EmbeddingProvider> {
    const folder = tempFolder({ "memslot.json5": text });
    const env = { HOME: folder, MEMSLOT_HOME: folder, GEMINI_API_KEY: "e", MY_GEMINI_KEY: "m", GATEWAY_KEY: "g" };
    const config = await loadConfig({ configPath: join(folder, "memslot.json5"), env, cwd: folder });
    expect(config.notices).toEqual([]);
    const environment = (name: string): string | undefined => config.environment(name);
    const settings = config.agent("main").memorySearch;
    return plugin.open({ ...contextFor({}), settings, providers: config.providers, environment });
  }

  test.each(readme.examples.map((row, index) => [index, ...row] as const))(
    "example %i opens for %s with the key of %s",
    async (index, host, keySource, model, dimensions, hasBatches) => {
      const provider = await openExample(examples[index]);
      expect(provider).toMatchObject({ model, dimensions, endpoint: { host, keySource } });
      expect(provider.batches !== undefined).toBe(hasBatches);
    },
  );

  test("has no other example, and has the prices, limits and task types of the code", async () => {
    expect(examples).toHaveLength(5);
    const [first, second, { batches }] = (await Promise.all([0, 3, 4].map((at) => openExample(examples[at])))) as [
      EmbeddingProvider,
      EmbeddingProvider,
      EmbeddingProvider,
    ];
    const month = { month: "long", year: "numeric" } as const;
    for (const words of [
      `USD ${first.price?.usdPerMillionTokens.toFixed(2)} with\n\`gemini-embedding-001\``,
      `USD ${second.price?.usdPerMillionTokens.toFixed(2)} with \`gemini-embedding-2\``,
      `up to ${first.maxBatchItems} texts and ${first.maxBatchTokens?.toLocaleString("en")} tokens`,
      `up to ${batches?.maxItems} texts and ${(batches?.maxBytes ?? 0) / 1e6} MB`,
      new Date(`${first.price?.asOf}T12:00Z`).toLocaleDateString("en", month),
    ])
      expect(page).toContain(words);
    const [, list = ""] = /^Task types are ([^]*?)\. /m.exec(page) ?? [];
    const named = [...list.matchAll(/`([A-Z_]+)`/g)].map(([, name = ""]) => name);
    const wrong = '{ agents: { defaults: { memorySearch: { provider: "gemini", inputType: "x" } } } }';
    await expect(openExample(wrong)).rejects.toThrow(`task type of Gemini: ${named.join(", ")}`);
  });
});
