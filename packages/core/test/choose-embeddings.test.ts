import { describe, expect, test } from "vitest";
import {
  type EmbeddingPlugin,
  type EmbeddingPluginContext,
  type EmbeddingProvider,
  MemoryError,
  defineEmbeddingPlugin,
  defineMemoryPlugin,
} from "@memslot/core";
import { discoverPlugins } from "@memslot/core/host";
import { chooseEmbeddings } from "../src/open/choose-providers.ts";
import {
  config as configOf,
  fakeManager,
  fakeProvider,
  gate,
  hang,
  pass,
  rejected,
  stopClock,
} from "./support/fakes.ts";
import data from "./data/refused.json" with { type: "json" };

interface Made {
  plugin: EmbeddingPlugin;
  contexts: EmbeddingPluginContext[];
  closed: string[];
}

/** A plugin whose provider is named after it; `reason`: why `auto` may not take it, `fails`: why it cannot be opened. */
function made(
  id: string,
  { reason, fails, ...own }: Partial<EmbeddingPlugin> & { reason?: string; fails?: string } = {},
): Made {
  const contexts: EmbeddingPluginContext[] = [];
  const closed: string[] = [];
  const plugin = defineEmbeddingPlugin({
    id,
    available: async () => (reason === undefined ? { ok: true, reason: `${id} is here` } : { ok: false, reason }),
    async open(context) {
      contexts.push(context);
      if (fails !== undefined) throw new MemoryError("UNAVAILABLE", fails);
      const model = context.model ?? "standard";
      return fakeProvider({ id, model, close: async () => void closed.push(`${id} ${model}`) });
    },
    ...own,
  });
  return { plugin, contexts, closed };
}

/** One that `auto` does not know: it is taken where `plugins.entries` switches it on. */
function vectors(open: EmbeddingPlugin["open"] = async () => fakeProvider({ id: "vectors" }), id = "vectors"): Made {
  return { plugin: defineEmbeddingPlugin({ id, open }), contexts: [], closed: [] };
}

type Choosing = ReturnType<typeof chooseEmbeddings>;

interface More extends Pick<Parameters<typeof chooseEmbeddings>[0], "embeddings" | "signal"> {
  plugins?: Record<string, unknown>;
  models?: Record<string, unknown>;
  env?: Record<string, string>;
}

async function chosen(memorySearch: object, plugins: readonly Made[], more: More = {}): Choosing {
  const { models, env, plugins: about = {}, ...rest } = more;
  const config = configOf({ agents: { defaults: { memorySearch } }, plugins: about, ...(models && { models }) });
  const memory = defineMemoryPlugin({ id: "memory-core", open: async () => fakeManager() });
  const found = await discoverPlugins({ config, plugins: [memory, ...plugins.map(({ plugin }) => plugin)] });
  const known = new Set(plugins.map(({ plugin }) => plugin.id));
  const missing = ["openai", "gemini", "local", "far"]
    .filter((id) => !known.has(id))
    .map((id) => ({ id, kind: "embedding", packageName: `@memslot/embeddings-${id}` }) as const);
  return chooseEmbeddings({
    config: { ...config, environment: (name) => env?.[name] },
    settings: config.agent("main").memorySearch,
    plugins: { ...found, missing },
    deadlineMs: 1_000,
    ...rest,
  });
}

const choose = async (...args: Parameters<typeof chosen>) => (await chosen(...args)).choice;

const words = { provider: undefined, degraded: false };
const degraded = { provider: undefined, degraded: true };

describe("a provider that was handed in", () => {
  const mine = fakeProvider({ id: "mine" });

  test.each(["none", "openai", "nobody-knows"])("wins over provider %s", async (provider) => {
    const choice = await choose({ provider }, [vectors()], { embeddings: mine });
    expect(choice).toMatchObject({ provider: mine, requested: provider, degraded: false });
  });

  test.each(["id", "model", "embedQuery", "embedBatch"])("is refused without %s, by name", async (field) => {
    const broken = { ...mine, [field]: undefined } as unknown as EmbeddingProvider;
    const error = await rejected(choose({ provider: "none" }, [], { embeddings: broken }));
    expect(error).toMatchObject({ code: "PLUGIN", message: expect.stringContaining(`"${field}"`) });
  });
});

test.each(["none", "NONE"])("provider %s is keyword search by choice, not degraded", async (provider) => {
  const choice = await choose({ provider }, [vectors()], { plugins: { entries: { vectors: { enabled: true } } } });
  expect(choice).toMatchObject({ ...words, requested: provider });
  expect(choice.reason).toContain('provider is "none"');
});

describe("provider auto", () => {
  const here = (provider: string): object => ({ provider: { id: provider }, requested: "auto", degraded: false });
  const denied = expect.stringContaining("plugins.deny");
  const entries = { broken: { enabled: true }, vectors: { enabled: true } };
  const noKey = vectors(async () => Promise.reject(new Error("no key")), "broken");

  test.each<[string, Made[], More, object]>([
    ["local first", [made("gemini"), made("openai"), made("local")], {}, { ...here("local"), passedOver: [] }],
    [
      "the next one, with the reasons for which each before was passed over",
      [made("local", { reason: "no model" }), made("openai", { reason: "no key" }), made("gemini")],
      {},
      {
        ...here("gemini"),
        passedOver: [
          { id: "local", reason: "no model" },
          { id: "openai", reason: "no key" },
        ],
      },
    ],
    [
      "none that plugins.deny or enabled: false forbids",
      [made("local"), made("openai"), made("gemini")],
      { plugins: { deny: ["local"], entries: { openai: { enabled: false } } } },
      { ...here("gemini"), passedOver: [{ reason: denied }, { reason: expect.stringContaining("openai.enabled") }] },
    ],
    [
      "one that plugins.entries switches on",
      [vectors(undefined, "other"), vectors()],
      { plugins: { entries } },
      here("vectors"),
    ],
    ["the next one when one cannot be opened", [noKey, vectors()], { plugins: { entries } }, here("vectors")],
    [
      "none when none can be opened",
      [noKey],
      { plugins: { entries } },
      { ...degraded, reason: expect.stringContaining("no key") },
    ],
    [
      "no memory plugin that is switched on, nor one that is denied or not there",
      [vectors()],
      { plugins: { entries: { ...entries, "memory-core": { enabled: true } }, deny: ["vectors"] } },
      words,
    ],
  ])("takes %s", async (_name, plugins, more, wanted) => {
    expect(await choose({}, plugins, more)).toMatchObject(wanted);
  });

  test("is keyword search, not degraded, when none can be used, and names what would help", async () => {
    const choice = await choose({}, [made("local", { reason: "no model" }), vectors(hang)]);
    expect(choice).toMatchObject(words);
    expect(choice.passedOver).toHaveLength(3);
    for (const word of ["memslot embeddings on", "OPENAI_API_KEY", "GEMINI_API_KEY", '"local"', 'found: "vectors"'])
      expect(choice.reason).toContain(word);
  });

  const openaiKey = { models: { providers: { openai: { apiKey: "sk-x" } } } };
  test.each<[object, More, string, string]>([
    [{}, { env: { OPENAI_API_KEY: "sk-x" } }, "OPENAI_API_KEY is set", "openai"],
    [{}, { env: { GEMINI_API_KEY: "sk-x" } }, "GEMINI_API_KEY is set", "gemini"],
    [{}, openaiKey, "models.providers.openai.apiKey is set", "openai"],
    [{ remote: { apiKey: "sk-x" } }, {}, "memorySearch.remote.apiKey is set", "openai"],
    [{ local: { modelPath: "/m.gguf" } }, {}, "memorySearch.local.modelPath is set", "local"],
  ])("names the command that adds the plugin for %j %j, which nothing uses: %s", async (search, more, key, id) => {
    const choice = await choose(search, [], more);
    expect(choice).toMatchObject(words);
    expect(choice.reason).toContain(`${key}, but the embedding plugin "${id}" is not installed: keyword search only`);
    expect(choice.reason).toContain(`run \`memslot plugins add ${id}\``);
    expect(choice.reason).not.toContain("sk-x");
    expect((await choose(search, [], { ...more, plugins: { deny: [id] } })).reason).not.toContain(
      "memslot plugins add",
    );
  });

  test("opens nothing that is not available, and goes on past one that fails to open or to answer", async () => {
    stopClock();
    const local = made("local", { reason: "no model" });
    const reached = gate();
    const available = (): Promise<never> => {
      reached.open();
      return hang();
    };
    const hanging = made("openai", { available });
    const choosing = choose({}, [local, hanging, made("gemini", { fails: "the key has a blank in it" })]);
    await reached.opened;
    await pass(1_000);
    const choice = await choosing;
    expect([local.contexts, hanging.contexts]).toEqual([[], []]);
    expect(choice).toMatchObject(degraded);
    expect(choice.reason).toContain("the key has a blank in it");
    expect(choice.passedOver?.[1]?.reason).toContain("did not answer within 1 s");
  });

  test("leaves the model, and address, key and headers of `remote`, to openai", async () => {
    const remote = { baseUrl: "https://proxy.test/v1", apiKey: "key-of-the-proxy", headers: { "x-team": "a" } };
    const [openai, gemini] = [made("openai", { reason: "no" }), made("gemini")];
    await choose({ remote, model: "text-embedding-3-large" }, [openai, gemini]);
    const none = { baseUrl: undefined, apiKey: undefined, headers: {} };
    expect(gemini.contexts[0]?.settings).toMatchObject({ model: undefined, remote: none });
    const taken = made("openai");
    await choose({ remote }, [taken]);
    expect(taken.contexts[0]?.settings.remote).toMatchObject(remote);
  });
});

describe("a provider by id", () => {
  const provider = "vectors";

  test("is opened with the settings, the state folder, its options, the environment and models.providers", async () => {
    const own = made("vectors");
    const more = { plugins: { entries: { vectors: { config: { size: 3 } } } }, env: { OPENAI_API_KEY: "from-env" } };
    const choice = await choose({ provider }, [own], { ...more, models: { providers: { openai: { apiKey: "k" } } } });
    expect(choice).toMatchObject({ provider: { id: "vectors" }, requested: "vectors", degraded: false });
    expect(own.contexts).toMatchObject([
      {
        settings: { provider },
        stateDir: "/nowhere/state",
        options: { size: 3 },
        providers: { openai: { apiKey: "k" } },
      },
    ]);
    const environment = own.contexts[0]?.environment;
    expect([environment?.("OPENAI_API_KEY"), environment?.("OTHER")]).toEqual(["from-env", undefined]);
  });

  test.each(["openai", "far"])("that is %s and not installed is keyword search, degraded", async (id) => {
    const choice = await choose({ provider: id }, []);
    expect(choice).toMatchObject({ ...degraded, requested: id });
    for (const part of ["is not installed", `memslot plugins add ${id}`, `npm install @memslot/embeddings-${id}`])
      expect(choice.reason).toContain(part);
  });

  const fail = (): never => {
    throw new Error("401 wrong key");
  };
  test("whose open fails is keyword search, degraded, in the provider's words", async () => {
    const choice = await choose({ provider }, [vectors(fail)]);
    expect(choice).toMatchObject({ ...degraded, requested: "vectors" });
    expect(choice.reason).toContain("401 wrong key");
  });

  const configSchema = { type: "object", additionalProperties: false };
  const wrong = { ...vectors(), plugin: { ...vectors().plugin, contract: 9 } };
  const half = async (): Promise<EmbeddingProvider> => ({ ...fakeProvider(), embedBatch: undefined as never });
  test.each<[string, object, Made[], More, string, string[]]>([
    ...(data.providers as [string, object, More, string[]][]).map(
      ([name, search, more, parts]): [string, object, Made[], More, string, string[]] => [
        name,
        search,
        [vectors()],
        more,
        "CONFIG",
        parts,
      ],
    ),
    [
      "has wrong options",
      { provider },
      [{ ...vectors(), plugin: { ...vectors().plugin, configSchema } }],
      { plugins: { entries: { vectors: { config: { x: 1 } } } } },
      "CONFIG",
      ["config.x"],
    ],
    ["opens half a provider", { provider }, [vectors(half)], {}, "PLUGIN", ['"embedBatch"']],
    ["is broken", { provider }, [wrong as unknown as Made], {}, "PLUGIN", ['"contract"']],
  ])("that %s is an error that says so", async (_name, search, plugins, more, code, parts) => {
    const error = await rejected(choose(search, plugins, more));
    expect(error).toMatchObject({ code });
    for (const part of parts) expect(String(error)).toContain(part);
  });
});

describe("fallback", () => {
  test("is not opened while the provider can be used, and is there when it is needed", async () => {
    const standby = made("gemini");
    const choice = await choose({ provider: "openai", fallback: "gemini" }, [made("openai"), standby]);
    expect(choice).toMatchObject({ provider: { id: "openai" }, spare: { id: "gemini" } });
    expect(choice.fallback).toBeUndefined();
    expect(standby.contexts).toEqual([]);
    expect((await choice.spare?.open(new AbortController().signal))?.id).toBe("gemini");
  });

  test("answers at once where the provider cannot be opened, with nothing that was written for that", async () => {
    const standby = made("gemini");
    const memorySearch = data.openaiSearch;
    const choice = await choose(memorySearch, [made("openai", { fails: "down" }), standby]);
    const fallback = { from: "openai", to: "gemini", reason: expect.stringContaining("down") };
    expect(choice).toMatchObject({ provider: { id: "gemini" }, requested: "openai", degraded: true, fallback });
    expect(choice.fallback?.reason).not.toContain("keyword search only");
    expect(standby.contexts[0]?.settings).toMatchObject({
      model: undefined,
      outputDimensionality: undefined,
      queryInputType: undefined,
      remote: { apiKey: undefined, headers: {} },
    });
  });

  test.each(["none", "NONE", "openai", " "])(
    "%j is none: a word for none, or the provider itself",
    async (fallback) => {
      expect((await choose({ provider: "openai", fallback }, [made("openai")])).spare).toBeUndefined();
    },
  );

  test("that is unknown is a CONFIG error, whose list has no auto", async () => {
    const error = await rejected(choose({ provider: "openai", fallback: "gemni" }, [made("openai"), made("gemini")]));
    expect(error).toMatchObject({ code: "CONFIG", message: expect.stringContaining('Did you mean "gemini"?') });
    expect(String(error)).not.toContain('"auto"');
  });

  test("that cannot be opened either leaves keywords, with both reasons", async () => {
    const plugins = [made("openai", { fails: "no OpenAI key" }), made("gemini", { fails: "no Gemini key" })];
    const choice = await choose({ provider: "openai", fallback: "gemini" }, plugins);
    expect(choice).toMatchObject(degraded);
    expect(choice.reason).toMatch(/no OpenAI key.*no Gemini key/s);
  });
});

test("another model of the same provider is opened with the same settings and closed with the rest, or UNAVAILABLE", async () => {
  const openai = made("openai");
  const { choice, close } = await chosen({ provider: "openai", remote: { apiKey: "k" } }, [openai]);
  const { signal } = new AbortController();
  const model = "text-embedding-ada-002";
  expect((await choice.openModel?.(model, signal))?.model).toBe(model);
  expect(openai.contexts[1]).toMatchObject({ model, settings: { remote: { apiKey: "k" } } });
  openai.plugin.open = async () => Promise.reject(new Error("its file is gone"));
  const message = expect.stringContaining("its file is gone");
  await expect(choice.openModel?.("old.gguf", signal)).rejects.toMatchObject({ code: "UNAVAILABLE", message });
  await close();
  expect(openai.closed).toEqual(["openai standard", "openai text-embedding-ada-002"]);
});
