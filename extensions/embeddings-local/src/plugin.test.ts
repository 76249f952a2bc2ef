import { renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { SyncProgress } from "@memslot/core";
import { describe, expect, test } from "vitest";
import plugin from "./index.ts";
import { createLocalPlugin } from "./local-plugin.ts";
import { watchChildren } from "./test/children.ts";
import { modelBytes } from "./download/test/downloads.ts";
import { startHub } from "@memslot/fakes/model-hub";
import { eventually } from "@memslot/test-tools/wait";
import { closedAfterwards, contextOf, cosine, failureOf, openModel, tempFolder, tinyModel } from "./test/lab.ts";

const fileName = "embeddinggemma-300M-Q8_0.gguf";
const address = "hf:user/model/tiny.gguf";

describe("whether `auto` may use it", () => {
  const auto = { provider: "auto" };

  test("not while its model would have to be fetched", async () => {
    expect(await plugin.available?.(contextOf({ memorySearch: auto }))).toEqual({
      ok: false,
      reason: `its model ${fileName} is not on this machine (memorySearch.provider "local" fetches it, about 330 MB)`,
    });
  });

  test("when the model is here", async () => {
    const path = tinyModel({}, "notes.gguf");
    const context = contextOf({ memorySearch: { ...auto, local: { modelPath: path } } });
    expect(await plugin.available?.(context)).toEqual({ ok: true, reason: "the model notes.gguf is here" });
    rmSync(path);
    expect(await plugin.available?.(context)).toEqual({
      ok: false,
      reason: `the model file ${path} does not exist; set agents.defaults.memorySearch.local.modelPath to a GGUF file`,
    });
  });

  test("not with an address that is none", async () => {
    const context = contextOf({ memorySearch: { ...auto, local: { modelPath: "ollama:nomic" } } });
    expect(await plugin.available?.(context)).toEqual({
      ok: false,
      reason: expect.stringContaining("local.modelPath"),
    });
  });
});

describe("opening", () => {
  test("says what is known of the default model before it is here, and starts nothing", async () => {
    const children = watchChildren();
    const provider = await plugin.open(contextOf());
    expect(provider).toMatchObject({
      id: "local",
      model: `hf:ggml-org/embeddinggemma-300M-GGUF/${fileName}`,
      dimensions: 768,
      maxInputTokens: 2048,
      maxBatchItems: 32,
      cacheKey: "embeddinggemma",
      isLocal: true,
      endpoint: { host: "this machine", fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/) },
    });
    expect(children).toEqual([]);
  });

  test("fails without the file that is configured", async () => {
    expect(await failureOf(openModel("/nowhere/model.gguf"))).toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringMatching(/\/nowhere\/model\.gguf does not exist; set .*modelPath/),
    });
  });

  test("a file is named by local.modelPath alone, which nobody's folder may set: `model` decides nothing", async () => {
    for (const model of [address, "/elsewhere/other.gguf", "text-embedding-3-small"])
      expect((await plugin.open(contextOf({ memorySearch: { model } }))).model).toMatch(/embeddinggemma/);
  });

  test("the prefixes follow from the name of the file or from the name in it", async () => {
    const byFile = await openModel(tinyModel({}, "multilingual-e5-small.gguf"));
    const byName = await openModel(tinyModel({ name: "Nomic Embed Text v1.5" }));
    const plain = await openModel(tinyModel());
    expect([byFile.cacheKey, byName.cacheKey, plain.cacheKey]).toEqual(["e5", "nomic", undefined]);
    const [document = []] = await byFile.embedBatch(["text"]);
    const [same = []] = await plain.embedBatch(["passage: text"]);
    expect(cosine(document, same)).toBeGreaterThan(0.999);
    const query = await byFile.embedQuery("text");
    expect(cosine(query, await plain.embedQuery("query: text"))).toBeGreaterThan(0.999);
  });

  test("the name for failures changes when the file is replaced", async () => {
    const path = tinyModel();
    const before = await openModel(path);
    renameSync(tinyModel({ words: ["other"] }), path);
    const after = await openModel(path);
    expect(after.endpoint?.fingerprint).not.toBe(before.endpoint?.fingerprint);
    expect((await openModel(path)).endpoint).toEqual(after.endpoint);
  });
});

describe("fetching the model", () => {
  test("happens once for all who want it, with progress, and then the model works", async () => {
    const hub = await startHub(modelBytes(), { pauseMs: 5 });
    const environment = { HF_ENDPOINT: hub.url, HF_TOKEN: "hf_secret" };
    const context = contextOf({ memorySearch: { local: { modelPath: address } }, environment });
    const provider = closedAfterwards(await plugin.open(context));
    const { signal } = new AbortController();
    const updates: SyncProgress[] = [];
    const [vector] = await Promise.all([
      provider.embedQuery("text"),
      provider.prepare?.({ signal, progress: (update) => void updates.push(update) }),
      provider.embedBatch(["text"]),
    ]);
    expect(vector?.length).toBe(64);
    expect(provider.dimensions).toBe(64);
    expect(hub.fetches().length).toBe(1);
    expect(hub.log[0]).toMatchObject({ path: "/user/model/resolve/main/tiny.gguf", authorization: "Bearer hf_secret" });
    expect(updates).toContainEqual({ completed: 2, total: 2, label: "downloading tiny.gguf" });
    expect(updates.at(-1)).toEqual({ completed: 1, total: 1, label: "loading tiny.gguf" });
    expect(await plugin.available?.(context)).toEqual({ ok: true, reason: "the model tiny.gguf is here" });
  });

  test("goes to the folder that is set, without the token for an address that is not the hub's", async () => {
    const hub = await startHub(modelBytes());
    const folder = tempFolder();
    const environment = { HF_TOKEN: "hf_secret" };
    const local = { modelPath: `${hub.url}/tiny.gguf`, modelCacheDir: folder };
    const provider = closedAfterwards(await plugin.open(contextOf({ memorySearch: { local }, environment })));
    expect((await provider.embedQuery("text")).length).toBe(64);
    expect(hub.log[0]?.authorization).toBeUndefined();
    const again = closedAfterwards(await plugin.open(contextOf({ memorySearch: { local } })));
    expect(again.dimensions).toBe(64);
  });

  test("happens for the spare too", async () => {
    const hub = await startHub(modelBytes(), { status: 404 });
    const memorySearch = { provider: "openai", fallback: "local", local: { modelPath: address } };
    const provider = await plugin.open(contextOf({ memorySearch, environment: { HF_ENDPOINT: hub.url } }));
    expect(await failureOf(provider.embedQuery("text"))).toMatchObject({ kind: "auth" });
    expect(hub.log.length).toBe(1);
  });

  test("that has failed can be tried again", async () => {
    const hub = await startHub(modelBytes(), { status: 503 });
    const memorySearch = { local: { modelPath: address } };
    const provider = closedAfterwards(
      await plugin.open(contextOf({ memorySearch, environment: { HF_ENDPOINT: hub.url } })),
    );
    expect(await failureOf(provider.embedQuery("text"))).toMatchObject({ kind: "transient" });
    hub.behave({});
    expect((await provider.embedQuery("text")).length).toBe(64);
  });

  test("ends with close", async () => {
    const hub = await startHub(modelBytes(), { stopAfter: { bytes: 100_000, how: "hang" } });
    const memorySearch = { local: { modelPath: address } };
    const provider = await plugin.open(contextOf({ memorySearch, environment: { HF_ENDPOINT: hub.url } }));
    const call = failureOf(provider.embedQuery("text"));
    await eventually(() => hub.fetches().length > 0);
    await provider.close?.();
    expect(await call).toMatchObject({ code: "CLOSED" });
  });

  test.each([
    ["`auto`", { memorySearch: { provider: "auto" } }],
    ["an earlier model", { model: address }],
  ])("is not done for %s", async (_, input) => {
    const hub = await startHub(modelBytes());
    const context = contextOf({ ...input, environment: { HF_ENDPOINT: hub.url } });
    expect(await failureOf(plugin.open(context))).toMatchObject({ code: "UNAVAILABLE" });
    expect(hub.log).toEqual([]);
  });
});

describe("an earlier model", () => {
  test("is found beside the present one by the name of its file", async () => {
    const earlier = tinyModel({ dimensions: 32 }, "earlier.gguf");
    const provider = await openModel(join(dirname(earlier), "present.gguf"), { model: "earlier.gguf" });
    expect([provider.model, provider.dimensions]).toEqual(["earlier.gguf", 32]);
    const gone = failureOf(openModel(tinyModel(), { model: "earlier.gguf" }));
    expect(await gone).toMatchObject({ code: "UNAVAILABLE", message: expect.stringContaining("earlier.gguf") });
  });

  test("is opened in place of the configured one", async () => {
    const hub = await startHub(modelBytes());
    const stateDir = tempFolder();
    const environment = { HF_ENDPOINT: hub.url };
    const memorySearch = { local: { modelPath: address } };
    const before = closedAfterwards(await plugin.open(contextOf({ stateDir, memorySearch, environment })));
    const vector = await before.embedQuery("text");
    const context = contextOf({ stateDir, model: address, environment });
    const provider = closedAfterwards(await createLocalPlugin().open(context));
    expect(provider.model).toBe(address);
    expect(await provider.embedQuery("text")).toEqual(vector);
  });
});
