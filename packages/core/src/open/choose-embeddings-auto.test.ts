import { describe, expect, test } from "vitest";
import {
  type EmbeddingPlugin,
  type EmbeddingPluginContext,
  MemoryError,
  defineEmbeddingPlugin,
  discoverPlugins,
} from "../index.ts";
import { type ChosenEmbeddings, chooseEmbeddings } from "./choose-embeddings.ts";
import { config as configOf, fakeProvider, hang } from "../../test/support/fakes.ts";

interface Made {
  plugin: EmbeddingPlugin;
  contexts: EmbeddingPluginContext[];
  closed: string[];
}

/** A plugin whose provider is named after it; `reason` undefined: `auto` may take it. */
function made(
  id: string,
  own: { reason?: string; fails?: string; available?: EmbeddingPlugin["available"] } = {},
): Made {
  const contexts: EmbeddingPluginContext[] = [];
  const closed: string[] = [];
  const plugin = defineEmbeddingPlugin({
    id,
    available:
      own.available ??
      (async () =>
        own.reason === undefined ? { ok: true, reason: `${id} is here` } : { ok: false, reason: own.reason }),
    async open(context) {
      contexts.push(context);
      if (own.fails !== undefined) throw new MemoryError("UNAVAILABLE", own.fails);
      const model = context.model ?? "standard";
      return fakeProvider({ id, model, close: async () => void closed.push(`${id} ${model}`) });
    },
  });
  return { plugin, contexts, closed };
}

async function choose(
  memorySearch: Record<string, unknown>,
  plugins: readonly Made[],
  more: { plugins?: Record<string, unknown>; models?: Record<string, unknown>; env?: Record<string, string> } = {},
): Promise<ChosenEmbeddings> {
  const config = configOf({
    agents: { defaults: { memorySearch } },
    plugins: more.plugins ?? {},
    ...(more.models === undefined ? {} : { models: more.models }),
  });
  const found = await discoverPlugins({ config, plugins: plugins.map(({ plugin }) => plugin) });
  return chooseEmbeddings({
    config: { ...config, environment: (name) => more.env?.[name] },
    settings: config.agent("main").memorySearch,
    plugins: found,
    deadlineMs: 200,
  });
}

describe("provider auto", () => {
  test("takes local before openai before gemini, whatever the order they were found in", async () => {
    const all = [made("gemini"), made("openai"), made("local")];
    expect((await choose({}, all)).choice).toMatchObject({
      provider: { id: "local" },
      requested: "auto",
      reason: expect.stringContaining("local is here"),
      passedOver: [],
      degraded: false,
    });
    expect((await choose({}, all.slice(0, 2))).choice).toMatchObject({
      provider: { id: "openai" },
      passedOver: [{ id: "local", reason: "not installed" }],
    });
  });

  test("says why each one before was passed over", async () => {
    const { choice } = await choose({}, [
      made("local", { reason: "its model is not on this machine" }),
      made("openai", { reason: "no key" }),
      made("gemini"),
    ]);
    expect(choice).toMatchObject({
      provider: { id: "gemini" },
      passedOver: [
        { id: "local", reason: "its model is not on this machine" },
        { id: "openai", reason: "no key" },
      ],
    });
  });

  test("is keyword search, not degraded, when none can be used, and names the keys that would help", async () => {
    const { choice } = await choose({}, [made("local", { reason: "no model" }), made("openai", { reason: "no key" })]);
    expect(choice).toMatchObject({ provider: undefined, degraded: false });
    expect(choice.passedOver).toHaveLength(3);
    for (const word of ["memslot embeddings on", "OPENAI_API_KEY", "GEMINI_API_KEY", '"local"'])
      expect(choice.reason).toContain(word);
  });

  test.each<[string, Record<string, unknown>, Parameters<typeof choose>[2], string, string]>([
    ["a key in the environment", {}, { env: { OPENAI_API_KEY: "sk-x" } }, "OPENAI_API_KEY is set", "openai"],
    ["the other key", {}, { env: { GEMINI_API_KEY: "sk-x" } }, "GEMINI_API_KEY is set", "gemini"],
    [
      "a key in the configuration",
      {},
      { models: { providers: { openai: { apiKey: "sk-x" } } } },
      "models.providers.openai.apiKey is set",
      "openai",
    ],
    ["a remote key", { remote: { apiKey: "sk-x" } }, {}, "memorySearch.remote.apiKey is set", "openai"],
    ["a model file", { local: { modelPath: "/m.gguf" } }, {}, "memorySearch.local.modelPath is set", "local"],
  ])("says which command adds the plugin for %s that nothing uses", async (_name, memorySearch, more, words, id) => {
    const { choice } = await choose(memorySearch, [], more);
    expect(choice).toMatchObject({ provider: undefined, degraded: false });
    expect(choice.reason).toContain(`${words}, but the embedding plugin "${id}" is not installed: keyword search only`);
    expect(choice.reason).toContain(`run \`memslot plugins add ${id}\``);
    expect(choice.reason).not.toContain("sk-x");
    const denied = await choose(memorySearch, [], { ...more, plugins: { deny: [id] } });
    expect(denied.choice.reason).not.toContain("memslot plugins add");
  });

  test("opens nothing that is not available, and goes on past one that fails to open or to answer", async () => {
    const local = made("local", { reason: "no model" });
    const hanging = made("openai", { available: hang });
    const { choice } = await choose({}, [local, hanging, made("gemini", { fails: "the key has a blank in it" })]);
    expect(local.contexts).toEqual([]);
    expect(hanging.contexts).toEqual([]);
    expect(choice).toMatchObject({ provider: undefined, degraded: true });
    expect(choice.reason).toContain("the key has a blank in it");
    expect(choice.passedOver?.[1]?.reason).toContain("gave no answer within 0.2 s");
  });

  test("passes over what plugins.deny or enabled: false forbids", async () => {
    const { choice } = await choose({}, [made("local"), made("openai"), made("gemini")], {
      plugins: { deny: ["local"], entries: { openai: { enabled: false } } },
    });
    expect(choice).toMatchObject({ provider: { id: "gemini" } });
    expect(choice.passedOver?.map(({ reason }) => reason)).toEqual([
      expect.stringContaining("plugins.deny"),
      expect.stringContaining("plugins.entries.openai.enabled"),
    ]);
  });

  test("leaves the model, and address, key and headers of `remote`, to openai", async () => {
    const remote = { baseUrl: "https://proxy.test/v1", apiKey: "key-of-the-proxy", headers: { "x-team": "a" } };
    const [openai, gemini] = [made("openai", { reason: "no" }), made("gemini")];
    await choose({ remote, model: "text-embedding-3-large" }, [openai, gemini]);
    expect(gemini.contexts[0]?.settings.model).toBeUndefined();
    expect(gemini.contexts[0]?.settings.remote).toMatchObject({ baseUrl: undefined, apiKey: undefined, headers: {} });
    const taken = made("openai");
    await choose({ remote }, [taken]);
    expect(taken.contexts[0]?.settings.remote).toMatchObject(remote);
  });

  test("gives the plugin the environment and models.providers", async () => {
    const openai = made("openai");
    await choose({}, [openai], {
      env: { OPENAI_API_KEY: "from-env" },
      models: { providers: { openai: { apiKey: "k" } } },
    });
    expect(openai.contexts[0]?.environment("OPENAI_API_KEY")).toBe("from-env");
    expect(openai.contexts[0]?.environment("OTHER")).toBeUndefined();
    expect(openai.contexts[0]?.providers["openai"]?.apiKey).toBe("k");
  });
});

describe("fallback", () => {
  test("is not opened while the provider can be used, and is there when it is needed", async () => {
    const spare = made("gemini");
    const { choice } = await choose({ provider: "openai", fallback: "gemini" }, [made("openai"), spare]);
    expect(choice).toMatchObject({ provider: { id: "openai" }, spare: { id: "gemini" } });
    expect(choice.fallback).toBeUndefined();
    expect(spare.contexts).toEqual([]);
    const opened = await choice.spare?.open(new AbortController().signal);
    expect(opened?.id).toBe("gemini");
  });

  test("answers at once where the provider cannot be opened, and the choice says so", async () => {
    const { choice } = await choose({ provider: "openai", fallback: "local" }, [
      made("openai", { fails: "no key" }),
      made("local"),
    ]);
    expect(choice).toMatchObject({
      provider: { id: "local" },
      requested: "openai",
      degraded: true,
      fallback: { from: "openai", to: "local", reason: expect.stringContaining("no key") },
    });
    expect(choice.fallback?.reason).not.toContain("keyword search only");
  });

  test("gets nothing that was written for the first provider", async () => {
    const spare = made("gemini");
    const memorySearch = {
      provider: "openai",
      fallback: "gemini",
      model: "text-embedding-3-large",
      outputDimensionality: 512,
      queryInputType: "query",
      remote: { apiKey: "key-of-openai", headers: { "x-team": "a" } },
    };
    await choose(memorySearch, [made("openai", { fails: "down" }), spare]);
    expect(spare.contexts[0]?.settings).toMatchObject({
      model: undefined,
      outputDimensionality: undefined,
      queryInputType: undefined,
      remote: { apiKey: undefined, headers: {} },
    });
  });

  test("none, the provider itself, or a blank is no spare", async () => {
    for (const fallback of ["none", "NONE", "openai", " "]) {
      const { choice } = await choose({ provider: "openai", fallback }, [made("openai")]);
      expect(choice.spare).toBeUndefined();
    }
  });

  test("that cannot be opened either leaves keywords, with both reasons", async () => {
    const { choice } = await choose({ provider: "openai", fallback: "gemini" }, [
      made("openai", { fails: "no OpenAI key" }),
      made("gemini", { fails: "no Gemini key" }),
    ]);
    expect(choice).toMatchObject({ provider: undefined, degraded: true });
    expect(choice.reason).toMatch(/no OpenAI key.*no Gemini key/s);
  });

  test("that nobody knows is a CONFIG error that lists the known ids without auto", async () => {
    const error = await choose({ provider: "openai", fallback: "gemni" }, [made("openai"), made("gemini")]).catch(
      String,
    );
    expect(error).toContain('agents.defaults.memorySearch.fallback is "gemni"');
    expect(error).toContain('Did you mean "gemini"?');
    expect(error).not.toContain('"auto"');
  });
});

describe("another model of the same provider", () => {
  test("is opened with the settings of the first, and closed with the rest", async () => {
    const openai = made("openai");
    const { choice, close } = await choose({ provider: "openai", remote: { apiKey: "k" } }, [openai]);
    const earlier = await choice.openModel?.("text-embedding-ada-002", new AbortController().signal);
    expect(earlier?.model).toBe("text-embedding-ada-002");
    expect(openai.contexts[1]).toMatchObject({
      model: "text-embedding-ada-002",
      settings: { remote: { apiKey: "k" } },
    });
    await close();
    expect(openai.closed).toEqual(["openai standard", "openai text-embedding-ada-002"]);
  });

  test("that is not at hand is an UNAVAILABLE error", async () => {
    const local = made("local");
    const { choice } = await choose({ provider: "local" }, [local]);
    local.plugin.open = async () => Promise.reject(new Error("its file is gone"));
    await expect(choice.openModel?.("old.gguf", new AbortController().signal)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("its file is gone"),
    });
  });
});
