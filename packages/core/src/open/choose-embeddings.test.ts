import { describe, expect, test } from "vitest";
import {
  type EmbeddingChoice,
  type EmbeddingPlugin,
  type EmbeddingPluginContext,
  type EmbeddingProvider,
  MemoryError,
  defineEmbeddingPlugin,
  defineMemoryPlugin,
  discoverPlugins,
  isAbort,
} from "../index.ts";
import { type ChooseEmbeddingsOptions, chooseEmbeddings } from "./choose-embeddings.ts";
import { config as configOf, fakeManager, fakeProvider, hang, settle } from "../../test/support/fakes.ts";

function vectors(id: string, open: EmbeddingPlugin["open"] = async () => fakeProvider({ id })): EmbeddingPlugin {
  return defineEmbeddingPlugin({ id, open });
}

interface Given extends Partial<Pick<ChooseEmbeddingsOptions, "embeddings" | "signal" | "deadlineMs">> {
  installed?: EmbeddingPlugin[];
  plugins?: Record<string, unknown>;
}

/** Chooses for `agents.defaults.memorySearch.provider`. */
async function choose(
  provider: string | undefined,
  { installed = [], plugins = {}, ...rest }: Given = {},
): Promise<EmbeddingChoice> {
  const config = configOf({
    agents: { defaults: { memorySearch: provider === undefined ? {} : { provider } } },
    plugins,
  });
  const memory = defineMemoryPlugin({ id: "memory-core", open: async () => fakeManager() });
  const found = await discoverPlugins({ config, plugins: [memory, ...installed] });
  const missing = ["openai", "gemini", "local", "far"].map(
    (id) => ({ id, kind: "embedding", packageName: `@memslot/embeddings-${id}` }) as const,
  );
  const { choice } = await chooseEmbeddings({
    config,
    settings: config.agent("main").memorySearch,
    plugins: { ...found, missing },
    deadlineMs: 1000,
    ...rest,
  });
  return choice;
}

describe("a provider that was handed in", () => {
  const mine = fakeProvider({ id: "mine" });

  test.each(["none", "auto", "openai", "nobody-knows", "vectors"])("wins over provider %s", async (provider) => {
    const choice = await choose(provider, { embeddings: mine, installed: [vectors("vectors")] });
    expect(choice).toMatchObject({ provider: mine, requested: provider, degraded: false });
  });

  test.each(["id", "model", "embedQuery", "embedBatch"])("is refused without %s, by name", async (field) => {
    const broken = { ...mine, [field]: undefined } as unknown as EmbeddingProvider;
    await expect(choose("none", { embeddings: broken })).rejects.toMatchObject({
      code: "PLUGIN",
      message: expect.stringContaining(`"${field}"`),
    });
  });
});

describe("provider none", () => {
  test.each(["none", "NONE"])("as %s is keyword search by choice, not degraded", async (provider) => {
    const choice = await choose(provider, {
      installed: [vectors("vectors")],
      plugins: { entries: { vectors: { enabled: true } } },
    });
    expect(choice).toMatchObject({ provider: undefined, requested: provider, degraded: false });
    expect(choice.reason).toContain('provider is "none"');
  });
});

describe("provider auto", () => {
  test("is keyword search when no plugin was switched on, and says how to add one and what is there", async () => {
    let opened = 0;
    const open = async (): Promise<EmbeddingProvider> => {
      opened += 1;
      return fakeProvider();
    };
    const choice = await choose(undefined, { installed: [vectors("vectors", open)] });
    expect(choice).toMatchObject({ provider: undefined, requested: "auto", degraded: false });
    expect(choice.reason).toContain("agents.defaults.memorySearch.provider");
    expect(choice.reason).toContain('found: "vectors"');
    expect(opened).toBe(0);
  });

  test("opens a plugin that plugins.entries switches on", async () => {
    const choice = await choose("auto", {
      installed: [vectors("other"), vectors("vectors")],
      plugins: { entries: { vectors: { enabled: true } } },
    });
    expect(choice).toMatchObject({ provider: { id: "vectors" }, requested: "auto", degraded: false });
  });

  test("does not take a memory plugin that is switched on, nor one that is denied or not there", async () => {
    const entries = { "memory-core": { enabled: true }, vectors: { enabled: true }, absent: { enabled: true } };
    const choice = await choose("auto", { installed: [vectors("vectors")], plugins: { entries, deny: ["vectors"] } });
    expect(choice).toMatchObject({ provider: undefined, degraded: false });
  });

  test("tries the next plugin when one cannot be used, and is degraded when none can", async () => {
    const broken = vectors("broken", async () => Promise.reject(new Error("no key")));
    const entries = { broken: { enabled: true }, vectors: { enabled: true } };
    await expect(
      choose("auto", { installed: [broken, vectors("vectors")], plugins: { entries } }),
    ).resolves.toMatchObject({ provider: { id: "vectors" } });
    const choice = await choose("auto", { installed: [broken], plugins: { entries } });
    expect(choice).toMatchObject({ provider: undefined, degraded: true });
    expect(choice.reason).toContain("no key");
  });
});

describe("a provider by id", () => {
  test("is opened with the settings, the state folder and its options", async () => {
    const contexts: EmbeddingPluginContext[] = [];
    const open = async (context: EmbeddingPluginContext): Promise<EmbeddingProvider> => {
      contexts.push(context);
      return fakeProvider({ id: "vectors" });
    };
    const choice = await choose("vectors", {
      installed: [vectors("vectors", open)],
      plugins: { entries: { vectors: { config: { size: 3 } } } },
    });
    expect(choice).toMatchObject({ provider: { id: "vectors" }, requested: "vectors", degraded: false });
    expect(contexts[0]).toMatchObject({
      settings: { provider: "vectors" },
      stateDir: "/nowhere/state",
      options: { size: 3 },
    });
  });

  test.each(["openai", "gemini", "local", "far"])(
    "that is %s and not installed is keyword search, degraded, with what to do",
    async (provider) => {
      const choice = await choose(provider);
      expect(choice).toMatchObject({ provider: undefined, requested: provider, degraded: true });
      expect(choice.reason).toContain(`"${provider}" is not installed`);
      expect(choice.reason).toContain(`\`memslot plugins add ${provider}\``);
      expect(choice.reason).toContain(`npm install @memslot/embeddings-${provider}`);
    },
  );

  test("that nobody knows is a CONFIG error with the known ids and the nearest", async () => {
    const error = await choose("vektors", { installed: [vectors("vectors")] }).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "CONFIG" });
    expect(String(error)).toContain('agents.defaults.memorySearch.provider is "vektors"');
    expect(String(error)).toContain('Did you mean "vectors"?');
    for (const id of ["vectors", "openai", "gemini", "local", "auto", "none"])
      expect(String(error)).toContain(`"${id}"`);
  });

  test("that is a memory plugin is a CONFIG error", async () => {
    await expect(choose("memory-core")).rejects.toMatchObject({ code: "CONFIG" });
  });

  test.each([
    ["plugins.deny", { deny: ["vectors"] }],
    ["plugins.entries.vectors.enabled", { entries: { vectors: { enabled: false } } }],
  ])("that %s forbids is a CONFIG error that names both keys", async (key, plugins) => {
    const error = await choose("vectors", { installed: [vectors("vectors")], plugins }).catch((caught: unknown) =>
      String(caught),
    );
    expect(error).toContain(key);
    expect(error).toContain("agents.defaults.memorySearch.provider");
  });

  test.each([
    ["an error", async () => Promise.reject(new Error("401 wrong key"))],
    ["a MemoryError", async () => Promise.reject(new MemoryError("UNAVAILABLE", "401 wrong key"))],
    [
      "an error at once",
      () => {
        throw new Error("401 wrong key");
      },
    ],
  ])("whose open fails with %s is keyword search, degraded, in the provider's words", async (_name, open) => {
    const choice = await choose("vectors", { installed: [vectors("vectors", open)] });
    expect(choice).toMatchObject({ provider: undefined, requested: "vectors", degraded: true });
    expect(choice.reason).toContain("401 wrong key");
  });

  test("whose open hangs is keyword search, degraded, after the deadline", async () => {
    const choice = await choose("vectors", { installed: [vectors("vectors", hang)], deadlineMs: 20 });
    expect(choice).toMatchObject({ provider: undefined, degraded: true });
    expect(choice.reason).toContain('opening embedding plugin "vectors" gave no answer within 0.02 s');
  });

  test("that opens after the deadline is closed again", async () => {
    let closed = 0;
    const { promise, resolve } = Promise.withResolvers<EmbeddingProvider>();
    await choose("vectors", { installed: [vectors("vectors", () => promise)], deadlineMs: 20 });
    resolve(
      fakeProvider({
        close: async () => {
          closed += 1;
        },
      }),
    );
    await settle();
    expect(closed).toBe(1);
  });

  test("stops at an abort with an AbortError", async () => {
    const controller = new AbortController();
    const choosing = choose("vectors", { installed: [vectors("vectors", hang)], signal: controller.signal }).catch(
      (error: unknown) => error,
    );
    await settle();
    controller.abort();
    expect(isAbort(await choosing)).toBe(true);
  });

  test("that opens something that is no provider is a PLUGIN error that names the field", async () => {
    const open = async (): Promise<EmbeddingProvider> => ({ ...fakeProvider(), embedBatch: undefined as never });
    await expect(choose("vectors", { installed: [vectors("vectors", open)] })).rejects.toMatchObject({
      code: "PLUGIN",
      message: expect.stringContaining('"embedBatch"'),
    });
  });

  test("that is broken is refused by its own reason", async () => {
    const broken = { ...vectors("vectors"), contract: 9 };
    await expect(choose("vectors", { installed: [broken] })).rejects.toMatchObject({
      code: "PLUGIN",
      message: expect.stringContaining('"contract"'),
    });
  });

  test("with wrong options is a CONFIG error", async () => {
    const plugin: EmbeddingPlugin = {
      ...vectors("vectors"),
      configSchema: { type: "object", additionalProperties: false },
    };
    await expect(
      choose("vectors", { installed: [plugin], plugins: { entries: { vectors: { config: { x: 1 } } } } }),
    ).rejects.toMatchObject({ code: "CONFIG" });
  });
});
