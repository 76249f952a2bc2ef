import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { EmbeddingProvider, SyncProgress } from "@memslot/core";
import { startHub } from "@memslot/fakes/model-hub";
import { failureOf } from "@memslot/fakes/plugin-context";
import { tempFolder } from "@memslot/test-tools/files";
import { eventually } from "@memslot/test-tools/wait";
import { embeddingConformance } from "@memslot/testkit";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import plugin from "./index.ts";
import { createLocalPlugin } from "./local-plugin.ts";
import { ModelProcess } from "./model-process.ts";
import { contextFor, modelBytes, open, openModel, tinyModel, watchChildren } from "./test/lab.ts";

// One model for all checks: loading takes a while.
let shared: EmbeddingProvider;
beforeAll(async () => {
  shared = await createLocalPlugin().open(contextFor({ modelPath: tinyModel() }));
});
afterAll(() => shared.close?.());

const stayOpen = { close: { value: async () => undefined } };
const opened = { ...plugin, open: async () => Object.create(shared, stayOpen) as EmbeddingProvider };
embeddingConformance({ describe, test }, { plugin: opened });

const fileName = "embeddinggemma-300M-Q8_0.gguf";
const address = "hf:user/model/tiny.gguf";
const auto = { provider: "auto" };

test("`auto` uses it if its model is here, and downloads none", async () => {
  const available = (modelPath?: string): unknown => plugin.available?.(contextFor({ memorySearch: auto, modelPath }));
  expect(await available()).toMatchObject({
    ok: false,
    reason: `its model ${fileName} is not on this machine (memorySearch.provider "local" fetches it, about 330 MB)`,
  });
  const path = tinyModel({}, "notes.gguf");
  expect(await available(path)).toMatchObject({ ok: true, reason: "the model notes.gguf is here" });
  rmSync(path);
  const reason = `the model file ${path} does not exist; set agents.defaults.memorySearch.local.modelPath to a GGUF file`;
  expect(await available(path)).toMatchObject({ ok: false, reason });
  expect(await available("ollama:nomic")).toMatchObject({
    ok: false,
    reason: expect.stringContaining("local.modelPath"),
  });
});

describe("opening", () => {
  test("states the facts of the default model before the download, and starts nothing; `memorySearch.model` is ignored", async () => {
    const children = watchChildren();
    for (const model of [undefined, address, "/elsewhere/other.gguf", "text-embedding-3-small"])
      expect(await plugin.open(contextFor({ memorySearch: { model } }))).toMatchObject({
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

  test("fails without the configured file", async () => {
    expect(await failureOf(openModel("/nowhere/model.gguf"))).toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringMatching(/\/nowhere\/model\.gguf does not exist; set .*modelPath/),
    });
  });

  test("the fingerprint changes if the file is replaced", async () => {
    const path = tinyModel();
    const before = await openModel(path);
    renameSync(tinyModel({ words: ["other"] }), path);
    const after = await openModel(path);
    expect(after.endpoint?.fingerprint).not.toBe(before.endpoint?.fingerprint);
    expect((await openModel(path)).endpoint).toEqual(after.endpoint);
  });

  test("finds an earlier model beside the present one by its file name", async () => {
    const earlier = tinyModel({ dimensions: 32 }, "earlier.gguf");
    const provider = await openModel(join(dirname(earlier), "present.gguf"), { model: "earlier.gguf" });
    expect([provider.model, provider.dimensions]).toEqual(["earlier.gguf", 32]);
    const gone = failureOf(openModel(tinyModel(), { model: "earlier.gguf" }));
    expect(await gone).toMatchObject({ code: "UNAVAILABLE", message: expect.stringContaining("earlier.gguf") });
  });
});

describe("the download of the model", () => {
  test("runs once for all callers, with progress, and then the model works", async () => {
    const hub = await startHub(modelBytes(), { pauseMs: 5 });
    const setup = { modelPath: address, env: { HF_ENDPOINT: hub.url, HF_TOKEN: "hf_secret" }, stateDir: tempFolder() };
    const provider = await open(setup);
    const { signal } = new AbortController();
    const aborted = failureOf(Promise.resolve(provider.prepare?.({ signal: AbortSignal.abort(), progress: () => {} })));
    expect(await aborted).toMatchObject({ name: "AbortError" });
    const updates: SyncProgress[] = [];
    const leaving = new AbortController();
    const left = failureOf(provider.embedQuery("text", { signal: leaving.signal }));
    const all = Promise.all([
      provider.embedQuery("text"),
      provider.prepare?.({ signal, progress: (update) => void updates.push(update) }),
      provider.embedBatch(["text"]),
    ]);
    leaving.abort();
    expect(await left).toMatchObject({ name: "AbortError" });
    const [vector] = await all;
    expect([vector.length, provider.dimensions, hub.fetches().length]).toEqual([64, 64, 1]);
    expect(hub.log[0]).toMatchObject({ path: "/user/model/resolve/main/tiny.gguf", authorization: "Bearer hf_secret" });
    expect(updates).toContainEqual({ completed: 2, total: 2, label: "downloading tiny.gguf" });
    expect(updates.at(-1)).toEqual({ completed: 1, total: 1, label: "loading tiny.gguf" });
    expect(await plugin.available?.(contextFor(setup))).toMatchObject({
      ok: true,
      reason: "the model tiny.gguf is here",
    });
  });

  test.each(["all callers left", "close"])("ends if %s", async (how) => {
    const hub = await startHub(modelBytes(), { stopAfter: { bytes: 100_000, how: "hang" } });
    const provider = await open({ modelPath: address, env: { HF_ENDPOINT: hub.url } });
    const controller = new AbortController();
    const call = failureOf(provider.embedQuery("text", { signal: controller.signal }));
    await eventually(() => hub.fetches().length > 0);
    if (how === "close") await provider.close?.();
    else controller.abort();
    expect(await call).toMatchObject(how === "close" ? { code: "CLOSED" } : { name: "AbortError" });
    if (how === "close") return;
    // The next caller does not join the aborted download.
    hub.behave({});
    expect((await provider.embedQuery("text")).length).toBe(64);
  });

  test("runs for the fallback, too", async () => {
    const hub = await startHub(modelBytes(), { status: 404 });
    const memorySearch = { provider: "openai", fallback: "local" };
    const provider = await open({ memorySearch, modelPath: address, env: { HF_ENDPOINT: hub.url } });
    expect(await failureOf(provider.embedQuery("text"))).toMatchObject({ kind: "auth" });
    expect(hub.log.length).toBe(1);
  });

  test.each([{ memorySearch: auto, modelPath: address }, { model: address }])("does not run for %j", async (setup) => {
    const hub = await startHub(modelBytes());
    expect(await failureOf(open({ ...setup, env: { HF_ENDPOINT: hub.url } }))).toMatchObject({ code: "UNAVAILABLE" });
    expect(hub.log).toEqual([]);
  });
});

test("the process that runs the model gets no key of its host", async () => {
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
  const request = {
    llama: pathToFileURL(module).href,
    modelPath: "none.gguf",
    contexts: 1,
    contextSize: 64,
    threads: 1,
  };
  const child = new ModelProcess(request, { loadMs: 60_000, silenceMs: 60_000 });
  onTestFinished(() => child.stop());
  await eventually(() => existsSync(seen));
  const environment = readFileSync(seen, "utf8");
  expect(environment).not.toContain("planted");
  expect(JSON.parse(environment)).toMatchObject({ PATH: process.env["PATH"], OMP_NUM_THREADS: "1" });
});

test("setup names the model file, its downloaded bytes and the missing packages, and changes nothing", async () => {
  const stateDir = tempFolder();
  const modelFile = join(stateDir, "models/hf/ggml-org/embeddinggemma-300M-GGUF", fileName);
  const setup = (): unknown => plugin.setup?.(contextFor({ stateDir }));
  expect(await setup()).toEqual({ modelFile, isModelThere: false, modelBytes: 0, missing: undefined });
  expect(readdirSync(stateDir)).toEqual([]);
  mkdirSync(dirname(modelFile), { recursive: true });
  writeFileSync(`${modelFile}.part`, Buffer.alloc(1234));
  expect(await setup()).toMatchObject({ isModelThere: false, modelBytes: 1234 });

  const path = tinyModel();
  const bare = createLocalPlugin({ beside: tempFolder() });
  expect(await bare.setup?.(contextFor({ stateDir, modelPath: path }))).toEqual({
    modelFile: path,
    isModelThere: true,
    modelBytes: statSync(path).size,
    missing: {
      reason: expect.stringContaining("node-llama-cpp is not installed; install it with: npm install --prefix"),
      npm: expect.arrayContaining(["install", stateDir, "node-llama-cpp@3.22.1", "--ignore-scripts"]),
    },
  });
  writeFileSync(path, "<html>");
  const failure = failureOf(Promise.resolve(plugin.setup?.(contextFor({ modelPath: path }))));
  expect(await failure).toMatchObject({ code: "UNAVAILABLE", message: expect.stringContaining("not a GGUF file") });
});
