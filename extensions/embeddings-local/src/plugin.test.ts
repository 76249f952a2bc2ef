import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { EmbeddingProvider, SyncProgress } from "@memslot/core";
import { startHub } from "@memslot/fakes/model-hub";
import { eventually } from "@memslot/test-tools/wait";
import { embeddingConformance } from "@memslot/testkit";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import plugin from "./index.ts";
import { createLocalPlugin } from "./local-plugin.ts";
import { ModelProcess } from "./model-process.ts";
import {
  closedAfterwards,
  contextOf,
  failureOf,
  modelBytes,
  openModel,
  tempFolder,
  tinyModel,
  watchChildren,
} from "./test/lab.ts";

// One model for all checks: each would have to load it anew.
let provider: EmbeddingProvider;
beforeAll(async () => {
  const local = { modelPath: tinyModel() };
  provider = await createLocalPlugin().open(contextOf({ memorySearch: { local } }));
});
afterAll(() => provider.close?.());

const stayOpen = { close: { value: async () => undefined } };
const opened = { ...plugin, open: async () => Object.create(provider, stayOpen) as EmbeddingProvider };
embeddingConformance({ describe, test }, { plugin: opened });

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

  test("happens for the spare too", async () => {
    const hub = await startHub(modelBytes(), { status: 404 });
    const memorySearch = { provider: "openai", fallback: "local", local: { modelPath: address } };
    const provider = await plugin.open(contextOf({ memorySearch, environment: { HF_ENDPOINT: hub.url } }));
    expect(await failureOf(provider.embedQuery("text"))).toMatchObject({ kind: "auth" });
    expect(hub.log.length).toBe(1);
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
});

test("the process that runs the model sees no key of its host", async () => {
  const folder = tempFolder();
  const [module, seen] = [join(folder, "llama.mjs"), join(folder, "seen")];
  writeFileSync(
    module,
    `import { renameSync, writeFileSync } from "node:fs";
     export const LlamaLogLevel = {};
     export async function getLlama() {
       writeFileSync(${JSON.stringify(`${seen}.tmp`)}, JSON.stringify(process.env));
       renameSync(${JSON.stringify(`${seen}.tmp`)}, ${JSON.stringify(seen)});
       await new Promise(() => {});
     }`,
  );
  for (const name of ["OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "FOO_SECRET"])
    vi.stubEnv(name, `planted ${name}`);
  vi.stubEnv("OMP_NUM_THREADS", "1");
  onTestFinished(() => void vi.unstubAllEnvs());
  const child = new ModelProcess(
    { llama: pathToFileURL(module).href, modelPath: "none.gguf", contexts: 1, contextSize: 64, threads: 1 },
    { loadMs: 60_000, silenceMs: 60_000 },
  );
  onTestFinished(() => child.stop());
  await eventually(() => existsSync(seen));
  const environment = readFileSync(seen, "utf8");
  expect(environment).not.toContain("planted");
  expect(JSON.parse(environment)).toMatchObject({ PATH: process.env["PATH"], OMP_NUM_THREADS: "1" });
});

test("setup names the model's file, what has come of it, and what is to be installed; it changes nothing", async () => {
  const stateDir = tempFolder();
  const context = contextOf({ stateDir });
  const modelFile = join(stateDir, "models/hf/ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf");
  expect(await plugin.setup?.(context)).toEqual({ modelFile, isModelThere: false, modelBytes: 0, missing: undefined });
  expect(readdirSync(stateDir)).toEqual([]);
  mkdirSync(dirname(modelFile), { recursive: true });
  writeFileSync(`${modelFile}.part`, Buffer.alloc(1234));
  expect(await plugin.setup?.(context)).toMatchObject({ isModelThere: false, modelBytes: 1234 });

  const path = tinyModel();
  const bare = createLocalPlugin({ beside: tempFolder() });
  expect(await bare.setup?.(contextOf({ stateDir, memorySearch: { local: { modelPath: path } } }))).toEqual({
    modelFile: path,
    isModelThere: true,
    modelBytes: statSync(path).size,
    missing: {
      reason: expect.stringContaining("node-llama-cpp is not installed; install it with: npm install --prefix"),
      npm: expect.arrayContaining(["install", stateDir, "node-llama-cpp@3.22.1", "--ignore-scripts"]),
    },
  });
});

test("setup fails for a file that is there and is no model", async () => {
  const path = join(tempFolder(), "page.gguf");
  writeFileSync(path, "<html>");
  const asked = Promise.resolve(plugin.setup?.(contextOf({ memorySearch: { local: { modelPath: path } } })));
  expect(await failureOf(asked)).toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringContaining("no GGUF file"),
  });
});
