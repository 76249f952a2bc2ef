import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { startHub } from "@memslot/fakes/model-hub";
import { startChild } from "@memslot/test-tools/child";
import { eventually } from "@memslot/test-tools/wait";
import { beforeEach, expect, test } from "vitest";
import { type Target, modelBytes, targetOf, tempFolder, urlOf } from "../test/lab.ts";
import { takeLock } from "./download-lock.ts";
import { defaultModel, parseModelAddress } from "./model-address.ts";
import cases from "../../test/data/cases.json" with { type: "json" };

/** What a hub has, and where a test downloads it to. */
let content: Buffer;
let target: Target;
beforeEach(() => {
  content = modelBytes();
  target = targetOf();
});

test("a file is fetched over the hub and its store, with progress in megabytes, and nothing else is left", async () => {
  const hub = await startHub(content);
  await target.fetch(hub);
  expect(readFileSync(target.path).equals(content)).toBe(true);
  expect(readdirSync(dirname(target.path))).toEqual(["model.gguf"]);
  expect(statSync(target.path).mode & 0o777).toBe(0o600);
  expect(hub.log.map(({ place, path, range }) => [place, path, range])).toEqual([
    ["hub", "/user/model/resolve/main/model.gguf", undefined],
    ["store", "/content", undefined],
  ]);
  expect(target.updates[0]).toEqual({ completed: 0, total: 2, label: "downloading model.gguf" });
  expect(target.updates.at(-1)).toEqual({ completed: 2, total: 2, label: "downloading model.gguf" });
});

test("the token goes to the hub and not to where it leads", async () => {
  const hub = await startHub(content, { token: "hf_secret" });
  await targetOf().fetch(hub, { token: "hf_secret" });
  expect(hub.log.map(({ place, authorization }) => [place, authorization])).toEqual([
    ["hub", "Bearer hf_secret"],
    ["store", undefined],
  ]);
});

test("what was whole before the kill is not fetched again", async () => {
  const hub = await startHub(content, { stopAfter: { bytes: 400_000, how: "break" } });
  await target.fetch(hub).catch(() => undefined);
  writeFileSync(`${target.path}.part`, content);
  hub.log.length = 0;
  await target.fetch(hub);
  expect(readFileSync(target.path).equals(content)).toBe(true);
  expect(hub.log).toEqual([]);
});

test("where the server begins at the first byte all the same, so does the file", async () => {
  const hub = await startHub(content, { stopAfter: { bytes: 400_000, how: "break" } });
  await target.fetch(hub).catch(() => undefined);
  expect(target.partSize()).toBeGreaterThan(0);
  hub.behave({ ranges: false });
  await target.fetch(hub);
  expect(hub.fetches().at(-1)?.range).toMatch(/^bytes=/);
  expect(readFileSync(target.path).equals(content)).toBe(true);
});

test("a part of another content is dropped", async () => {
  const old = await startHub(Buffer.concat([content, Buffer.alloc(100)]), {
    stopAfter: { bytes: 400_000, how: "break" },
  });
  await target.fetch(old).catch(() => undefined);
  expect(target.partSize()).toBeGreaterThan(0);
  const hub = await startHub(content);
  // The same address with another content, as after a new release of the model.
  const notes = JSON.parse(readFileSync(`${target.path}.part.json`, "utf8")) as Record<string, unknown>;
  writeFileSync(`${target.path}.part.json`, JSON.stringify({ ...notes, url: urlOf(hub) }));
  await target.fetch(hub);
  expect(hub.fetches().map(({ range }) => range)).toEqual([expect.stringMatching(/^bytes=/), undefined]);
  expect(readFileSync(target.path).equals(content)).toBe(true);
});

test("without a checksum the part goes on only while the tag of the content is the same", async () => {
  const plain = { sha256: "none", stopAfter: { bytes: 400_000, how: "break" } } as const;
  const hub = await startHub(content, plain);
  const same = targetOf();
  await same.fetch(hub).catch(() => undefined);
  const kept = same.partSize();
  hub.behave({ sha256: "none" });
  await same.fetch(hub);
  expect(hub.fetches().at(-1)).toMatchObject({ range: `bytes=${kept}-`, ifRange: '"content-1"' });
  hub.behave(plain);
  const other = targetOf();
  await other.fetch(hub).catch(() => undefined);
  hub.behave({ sha256: "none", etag: '"content-2"' });
  other.updates.length = 0;
  await other.fetch(hub);
  expect(other.updates[0]?.completed).toBe(0);
  for (const { path } of [same, other]) expect(readFileSync(path).equals(content)).toBe(true);
});

test("a file whose length is not said is fetched too", async () => {
  const hub = await startHub(content, { sha256: "none", etag: "none", length: false });
  await target.fetch({ url: hub.storeUrl });
  expect(readFileSync(target.path).equals(content)).toBe(true);
});

test("processes that want the same file fetch it once, and those that wait are told how far it is", async () => {
  const hub = await startHub(content, { pauseMs: 20 });
  const other = startChild(new URL("../test/download-file.ts", import.meta.url), [urlOf(hub), target.path], {
    detached: true,
  });
  await eventually(() => target.partSize() > 0);
  await target.fetch(hub);
  expect(await other.ended).toBe(0);
  expect(hub.fetches().length).toBe(1);
  expect(target.updates[0]).toMatchObject({ total: 2, label: "downloading model.gguf" });
  expect(readFileSync(target.path).equals(content)).toBe(true);
});

test("work that another one has ended just before the lock was free is not done again", async () => {
  const path = join(tempFolder(), "model.lock");
  const looks: boolean[] = [];
  const lock = await takeLock({
    path,
    look: async () => 0,
    onWait: async () => undefined,
    // Not there at the first look, and there at the next.
    isDone: async () => looks.push(true) > 1,
    pollMs: 5,
    takeOverMs: 60_000,
    signal: AbortSignal.timeout(30_000),
  });
  expect(lock).toBe("done");
  expect(existsSync(path)).toBe(false);
});

const places = { cacheDir: "/cache", hubEndpoint: undefined };

test("the default model", () => {
  expect(parseModelAddress(defaultModel, places)).toEqual({
    model: "hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf",
    path: join("/cache", "hf", "ggml-org", "embeddinggemma-300M-GGUF", "embeddinggemma-300M-Q8_0.gguf"),
    fileName: "embeddinggemma-300M-Q8_0.gguf",
    source: {
      url: "https://huggingface.co/ggml-org/embeddinggemma-300M-GGUF/resolve/main/embeddinggemma-300M-Q8_0.gguf",
      isHub: true,
    },
  });
});

test("a file of a folder of another branch, from another hub", () => {
  const hub = { cacheDir: "/cache", hubEndpoint: "http://127.0.0.1:8080/mirror/" };
  expect(parseModelAddress("hf:user/model/q8/some file.gguf#refs/pr/1", hub)).toMatchObject({
    model: "hf:user/model/q8/some file.gguf#refs/pr/1",
    path: join("/cache", "hf", "user", "model#refs/pr/1", "q8", "some file.gguf"),
    source: { url: "http://127.0.0.1:8080/mirror/user/model/resolve/refs%2Fpr%2F1/q8/some%20file.gguf" },
  });
  expect(parseModelAddress("hf:user/model/file.gguf#main", hub).model).toBe("hf:user/model/file.gguf");
});

test("a web address, whose signature is neither part of the name nor of the place", () => {
  const first = parseModelAddress("https://example.org/models/a.gguf?signature=1", places);
  const second = parseModelAddress("https://example.org/models/a.gguf?signature=2", places);
  expect(first.model).toBe("https://example.org/models/a.gguf");
  expect(first.path).toBe(second.path);
  expect(first.path).toMatch(/^\/cache\/url\/[0-9a-f]{12}\/a\.gguf$/);
  expect(first.source).toEqual({ url: "https://example.org/models/a.gguf?signature=1", isHub: false });
  expect(parseModelAddress("https://example.org/other/a.gguf", places).path).not.toBe(first.path);
});

test("a path is known by the name of its file", () => {
  const path = "/some/where/model.gguf";
  expect(parseModelAddress(path, places)).toEqual({
    model: "model.gguf",
    path,
    fileName: "model.gguf",
    source: undefined,
  });
});

test.each(cases.notAddresses)('"%s" is no address of a model', (written) => {
  expect(() => parseModelAddress(written, places)).toThrow(
    expect.objectContaining({ code: "CONFIG", message: expect.stringContaining("local.modelPath") }),
  );
});

test("a password in an address is refused and stands in no message", () => {
  const read = (): unknown => parseModelAddress("https://me:secret-1@example.org/a.gguf?key=secret-2", places);
  expect(read).toThrow(/holds a password/);
  expect(read).not.toThrow(/secret/);
});

test("an HF_ENDPOINT that is no address is an error of the configuration", () => {
  expect(() => parseModelAddress(defaultModel, { cacheDir: "/cache", hubEndpoint: "file:///etc" })).toThrow(
    expect.objectContaining({ code: "CONFIG", message: expect.stringContaining("HF_ENDPOINT") }),
  );
});
