import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { startHub } from "@memslot/fakes/model-hub";
import { failureOf } from "@memslot/fakes/plugin-context";
import { tempFolder } from "@memslot/test-tools/files";
import { type Child, isRunning, startChild } from "@memslot/test-tools/child";
import { eventually } from "@memslot/test-tools/wait";
import { describe, expect, test } from "vitest";
import { cosine, killInBatch, modelBytes, open, openModel, tinyModel, watchChildren } from "./test/lab.ts";

const address = "hf:user/model/tiny.gguf";
const hostFile = new URL("./test/host.ts", import.meta.url);

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

test("a model is downloaded to the configured folder, without the token from a URL, and a failure can be repeated", async () => {
  const hub = await startHub(modelBytes(), { status: 503 });
  const memorySearch = { local: { modelCacheDir: tempFolder() } };
  const setup = { memorySearch, modelPath: `${hub.url}/tiny.gguf`, env: { HF_TOKEN: "hf_secret" } };
  const provider = await open(setup);
  expect(await failureOf(provider.embedQuery("text"))).toMatchObject({ kind: "transient" });
  hub.behave({});
  expect((await provider.embedQuery("text")).length).toBe(64);
  expect(hub.log[0]?.authorization).toBeUndefined();
  expect((await open(setup)).dimensions).toBe(64);
});

test("an earlier model is opened in place of the configured one", async () => {
  const hub = await startHub(modelBytes());
  const setup = { stateDir: tempFolder(), env: { HF_ENDPOINT: hub.url } };
  const vector = await (await open({ ...setup, modelPath: address })).embedQuery("text");
  const provider = await open({ ...setup, model: address });
  expect(provider.model).toBe(address);
  expect(await provider.embedQuery("text")).toEqual(vector);
});

test("node-llama-cpp works from the state folder, and a release that is too old is reported", async () => {
  const entry = createRequire(import.meta.url).resolve("node-llama-cpp");
  const stateDir = tempFolder();
  mkdirSync(join(stateDir, "node_modules"));
  symlinkSync(join(dirname(entry), ".."), join(stateDir, "node_modules", "node-llama-cpp"));
  const setup = { modelPath: tinyModel(), overrides: { beside: tempFolder() } };
  expect((await (await open({ ...setup, stateDir })).embedQuery("text")).length).toBe(64);
  const old = tempFolder({
    "node_modules/node-llama-cpp/package.json": { name: "node-llama-cpp", type: "module", main: "dist/index.js" },
    "node_modules/node-llama-cpp/dist/index.js": "export const LlamaModel = 1;",
    "node_modules/node-llama-cpp/llama/localBuilds/x": "",
  });
  expect(await failureOf((await open({ ...setup, stateDir: old })).embedQuery("text"))).toMatchObject({
    kind: "auth",
    message: expect.stringMatching(/node-llama-cpp .* is too old/),
  });
});

const texts = Array.from({ length: 24 }, (_, index) => `note number ${index} with some words`);

test("when the process is killed in the middle of a batch, the batch is done again by a new one", async () => {
  const children = killInBatch(1);
  const provider = await openModel(tinyModel());
  const vectors = await provider.embedBatch(texts);
  expect(children.length).toBe(2);
  const again = await provider.embedBatch(texts);
  expect(vectors).toEqual(again);
  expect(children.length).toBe(2);
});

test(
  "when it is killed twice in a row the call fails as transient, the host lives, and the next call works",
  { timeout: 180_000 },
  async () => {
    const children = killInBatch(2);
    const provider = await openModel(tinyModel());
    expect(await failureOf(provider.embedBatch(texts))).toMatchObject({
      kind: "transient",
      message: expect.stringMatching(/ended with SIGKILL/),
    });
    expect(children.length).toBe(2);
    expect((await provider.embedBatch(texts)).length).toBe(texts.length);
    expect(children.length).toBe(3);
  },
);

test("a model on which llama.cpp aborts its process is refused after two tries, with the end of the process", async () => {
  const children = watchChildren();
  const path = tinyModel({ omit: ["bert.feed_forward_length"] });
  const provider = await openModel(path);
  const failure = await failureOf(provider.embedBatch(["text"]));
  expect(failure).toMatchObject({ kind: "auth" });
  expect(failure.message).toContain(
    `the model file ${path} cannot be used: the process that loads it ended with SIGABRT`,
  );
  expect(failure.message).toContain("is it a complete GGUF of an embedding model?");
  // Its last words.
  expect(failure.message).toContain("GGML_ASSERT");
  expect(children.length).toBe(2);
});

test("a model that llama.cpp refuses by itself is not tried twice", async () => {
  const children = watchChildren();
  const provider = await openModel(tinyModel({ omit: ["tokenizer.ggml.tokens"] }));
  expect(await failureOf(provider.embedBatch(["text"]))).toMatchObject({
    kind: "auth",
    message: expect.stringMatching(/cannot be used: /),
  });
  expect(children.length).toBe(1);
});

test("a process without work is ended after its time, and the next call starts another one", async () => {
  const children = watchChildren();
  const provider = await openModel(tinyModel(), { overrides: { times: { idleMs: 50 } } });
  const before = await provider.embedQuery("text");
  const [first] = children;
  await eventually(() => first?.signalCode !== null);
  expect(await provider.embedQuery("text")).toEqual(before);
  expect(children.length).toBe(2);
});

test("the limits of a downloaded model stay known after its process has ended", async () => {
  const children = watchChildren();
  const hub = await startHub(modelBytes());
  const setup = { modelPath: address, env: { HF_ENDPOINT: hub.url }, overrides: { times: { idleMs: 50 } } };
  const provider = await open(setup);
  await provider.embedQuery("text");
  await eventually(() => children[0]?.signalCode !== null);
  expect([provider.dimensions, provider.maxInputTokens]).toEqual([64, expect.any(Number)]);
});

test("a process that does not answer is ended, and its call is done by another one", async () => {
  const children = watchChildren();
  const provider = await openModel(tinyModel(), { overrides: { times: { silenceMs: 2000 } } });
  await provider.embedQuery("text");
  children[0]?.kill("SIGSTOP");
  expect((await provider.embedQuery("text")).length).toBe(64);
  expect(children.length).toBe(2);
  await eventually(() => children[0]?.signalCode === "SIGKILL");
});

test("close ends a process that listens to nothing, and what comes later is refused", async () => {
  const children = watchChildren();
  const provider = await openModel(tinyModel());
  await provider.embedQuery("text");
  children[0]?.kill("SIGSTOP");
  await provider.close?.();
  expect(children[0]?.signalCode).toBe("SIGKILL");
  expect(await failureOf(provider.embedQuery("text"))).toMatchObject({ code: "CLOSED" });
});

test("close while the model is being loaded leaves no process behind", async () => {
  const children = watchChildren();
  const provider = await openModel(tinyModel());
  const call = failureOf(provider.embedQuery("text"));
  await eventually(() => children.length === 1);
  await provider.close?.();
  expect(await call).toMatchObject({ code: "CLOSED" });
  expect(children.map(({ signalCode }) => signalCode)).toEqual(["SIGTERM"]);
});

test.each(["leave", "close"])("a host that ends without other work (%s) ends by itself", async (how) => {
  const host = startChild(hostFile, [how, tinyModel()], { detached: true });
  const pid = Number(await host.rest("model process "));
  expect(await host.ended).toBe(0);
  await eventually(() => !isRunning(pid));
});

/** Kills a host, once its model process is where it should be, and waits until that process has ended too. */
async function expectEndsWith(host: Child, isReady = () => true): Promise<void> {
  const pid = Number(await host.rest("model process "));
  await eventually(isReady);
  host.process.kill("SIGKILL");
  await host.ended;
  await eventually(() => !isRunning(pid));
}

describe("kill -9 of the host ends the process that runs its model", () => {
  test.each(["stay", "busy"])("when the model is loaded (%s)", async (what) => {
    const host = startChild(hostFile, [what, tinyModel({ layers: 6, dimensions: 128 })], { detached: true });
    await expectEndsWith(host);
  });

  test.each([
    ["while the model is being loaded", "await new Promise(() => {});"],
    ["when native code does not come back", "for (;;);"],
  ])("%s", async (_name, body) => {
    const folder = tempFolder();
    const [module, begun] = [join(folder, "llama.mjs"), join(folder, "begun")];
    const llama = `import { writeFileSync } from "node:fs";
      export const LlamaLogLevel = {};
      export async function getLlama() { writeFileSync(${JSON.stringify(begun)}, ""); ${body} }`;
    writeFileSync(module, llama);
    const host = startChild(hostFile, ["load", pathToFileURL(module).href], {
      detached: true,
    });
    await expectEndsWith(host, () => existsSync(begun));
  });
});

/** A model that takes some hundredths of a second for a text of full length. */
const slow = { layers: 4, dimensions: 128 };
const longText = "some words that fill the context ".repeat(60);

test("a text that is too long has the vector of its beginning", async () => {
  const provider = await openModel(tinyModel());
  const text = `${"cat ".repeat(2000)}${"dog ".repeat(2000)}`;
  const [vector = [], cats = [], dogs = []] = await provider.embedBatch([text, "cat ".repeat(200), "dog ".repeat(200)]);
  expect(cosine(vector, cats)).toBeGreaterThan(0.99);
  expect(cosine(vector, dogs)).toBeLessThan(0.9);
});

test("a text that fits has the vector of the whole of it, also beyond what llama.cpp takes at one time by itself", async () => {
  const provider = await openModel(tinyModel({ contextLength: 1024 }));
  // Some 600 and 100 pieces; the default batch of llama.cpp has 512.
  const text = `${"cat ".repeat(300)}${"dog ".repeat(50)}`;
  const [vector = [], cats = [], dogs = []] = await provider.embedBatch([text, "cat ".repeat(200), "dog ".repeat(200)]);
  expect(cosine(vector, cats)).toBeGreaterThan(cosine(vector, dogs));
});

test("texts without a word have a vector too", async () => {
  const provider = await openModel(tinyModel());
  for (const vector of await provider.embedBatch(["", "   ", "\n\t", "\u0000", "\ud800", "🙂"])) {
    expect(vector.length).toBe(64);
    expect(Array.from(vector).every(Number.isFinite)).toBe(true);
    expect(Array.from(vector).some((value) => value !== 0)).toBe(true);
  }
});

test("a text of some megabytes without a space is embedded", async () => {
  const provider = await openModel(tinyModel());
  expect((await provider.embedQuery("x".repeat(4_000_000))).length).toBe(64);
});

test("two contexts work at the same time: a short text does not wait for a long one", async () => {
  const provider = await openModel(tinyModel({ ...slow, contextLength: 2048 }), { options: { contexts: 2 } });
  expect(provider.maxConcurrency).toBe(2);
  await provider.embedQuery("load");
  const order: string[] = [];
  await Promise.all([
    provider.embedBatch([longText.repeat(4)]).then(() => order.push("long")),
    provider.embedBatch(["short"]).then(() => order.push("short")),
  ]);
  expect(order).toEqual(["short", "long"]);
});

test("a query goes before the notes that wait", async () => {
  const provider = await openModel(tinyModel(slow), { options: { contexts: 1 } });
  await provider.embedQuery("load");
  let isOver = false;
  const batch = provider.embedBatch(Array.from({ length: 8 }, () => longText)).then(() => (isOver = true));
  await provider.embedQuery("query");
  expect(isOver).toBe(false);
  await batch;
});

test("a call that is aborted ends at once, and what is left of it is not worked on", async () => {
  const controllers = [new AbortController(), new AbortController()];
  let answers = 0;
  const children = watchChildren((_, message) => {
    if (message.type !== "vector") return;
    answers += 1;
    // The first one is that of the query.
    if (answers === 2) controllers[1]?.abort();
  });
  const provider = await openModel(tinyModel(slow), { options: { contexts: 1 } });
  await provider.embedQuery("load");
  const texts = Array.from({ length: 32 }, () => longText);
  const aborted = expect.objectContaining({ name: "AbortError" });
  const first = provider.embedBatch(texts, { signal: controllers[0]?.signal });
  controllers[0]?.abort();
  await expect(first).rejects.toThrow(aborted);
  await expect(provider.embedBatch(texts, { signal: controllers[1]?.signal })).rejects.toThrow(aborted);
  await provider.embedBatch(["next"]);
  expect(answers).toBeLessThan(texts.length);
  expect(children.length).toBe(1);
});

test("the tokens of a call are reported, with those of the prefix", async () => {
  const provider = await openModel(tinyModel({ words: ["cat", "dog"] }));
  const tokens: number[] = [];
  const onUsage = (usage: { tokens: number }): void => void tokens.push(usage.tokens);
  await provider.embedBatch(["cat dog", "cat"], { onUsage });
  // Each text has a token at its beginning and one at its end.
  expect(tokens).toEqual([4 + 3]);
  const withPrefix = await openModel(tinyModel({ words: ["search", "query", "cat"], name: "nomic-embed-text-v1.5" }));
  tokens.length = 0;
  await withPrefix.embedQuery("cat", { onUsage });
  // search _ query : cat
  expect(tokens).toEqual([5 + 2]);
});

test("limits are known from the head of the file before anything is loaded, and from the model after", async () => {
  const children = watchChildren();
  const provider = await openModel(tinyModel({ dimensions: 32, contextLength: 300 }), { options: { contexts: 1 } });
  expect([provider.dimensions, provider.maxInputTokens, provider.maxConcurrency]).toEqual([32, 300, 1]);
  expect(children.length).toBe(0);
  await provider.embedQuery("load");
  expect([provider.dimensions, provider.maxInputTokens]).toEqual([32, 299]);
  const cut = await openModel(tinyModel({ contextLength: 512 }), { options: { contextSize: 128 } });
  expect(cut.maxInputTokens).toBe(128);
  expect((await cut.embedQuery("word ".repeat(400))).length).toBe(64);
});
