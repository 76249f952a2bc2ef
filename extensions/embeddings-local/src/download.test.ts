import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type HubBehaviour, startHub } from "@memslot/fakes/model-hub";
import { startChild } from "@memslot/test-tools/child";
import { eventually } from "@memslot/test-tools/wait";
import { beforeEach, describe, expect, test } from "vitest";
import { type Target, modelBytes, targetOf, urlOf } from "./test/lab.ts";
import { defaultModel, parseModelAddress } from "./model-file.ts";
import cases from "../test/data/cases.json" with { type: "json" };

let content: Buffer;
let target: Target;
beforeEach(() => {
  content = modelBytes();
  target = targetOf();
});

const expectComplete = ({ path }: Target): void => expect(readFileSync(path).equals(content)).toBe(true);
const broken = { stopAfter: { bytes: 400_000, how: "break" } } as const;

test("a file is downloaded from the hub's store, with progress in megabytes; the token goes to the hub only", async () => {
  const hub = await startHub(content, { token: "hf_secret" });
  await target.fetch(hub, { token: "hf_secret" });
  expectComplete(target);
  expect(readdirSync(dirname(target.path))).toEqual(["model.gguf"]);
  expect(statSync(target.path).mode & 0o777).toBe(0o600);
  expect(hub.log).toMatchObject([
    { place: "hub", path: "/user/model/resolve/main/model.gguf", range: undefined, authorization: "Bearer hf_secret" },
    { place: "store", path: "/content", range: undefined, authorization: undefined },
  ]);
  expect(target.updates[0]).toEqual({ completed: 0, total: 2, label: "downloading model.gguf" });
  expect(target.updates.at(-1)).toEqual({ completed: 2, total: 2, label: "downloading model.gguf" });
});

test("a complete part is not downloaded again", async () => {
  const hub = await startHub(content, broken);
  await target.fetch(hub).catch(() => undefined);
  writeFileSync(`${target.path}.part`, content);
  hub.log.length = 0;
  await target.fetch(hub);
  expectComplete(target);
  expect(hub.log).toEqual([]);
});

test.each<[string, HubBehaviour, HubBehaviour, boolean]>([
  ["restarts if the server ignores ranges", {}, { ranges: false }, false],
  ["resumes without a checksum if the tag is the same", { sha256: "none" }, { sha256: "none" }, true],
  ["restarts if the tag differs", { sha256: "none" }, { sha256: "none", etag: '"content-2"' }, false],
])("an interrupted download %s", async (_, before, after, resumes) => {
  const hub = await startHub(content, { ...before, ...broken });
  await target.fetch(hub).catch(() => undefined);
  const kept = target.partSize();
  expect(kept).toBeGreaterThan(0);
  hub.behave(after);
  target.updates.length = 0;
  await target.fetch(hub);
  expect(hub.fetches().at(-1)).toMatchObject({
    range: `bytes=${kept}-`,
    ...(before.sha256 && { ifRange: '"content-1"' }),
  });
  if (!resumes) expect(target.updates[0]?.completed).toBe(0);
  expectComplete(target);
});

test("a part of another content is dropped", async () => {
  const old = await startHub(Buffer.concat([content, Buffer.alloc(100)]), broken);
  await target.fetch(old).catch(() => undefined);
  expect(target.partSize()).toBeGreaterThan(0);
  const hub = await startHub(content);
  // The same address with another content, as after a new release of the model.
  const notes = JSON.parse(readFileSync(`${target.path}.part.json`, "utf8")) as Record<string, unknown>;
  writeFileSync(`${target.path}.part.json`, JSON.stringify({ ...notes, url: urlOf(hub) }));
  await target.fetch(hub);
  expect(hub.fetches().map(({ range }) => range)).toEqual([expect.stringMatching(/^bytes=/), undefined]);
  expectComplete(target);
});

test("a file of unknown length is downloaded", async () => {
  const hub = await startHub(content, { sha256: "none", etag: "none", length: false });
  await target.fetch({ url: hub.storeUrl });
  expectComplete(target);
});

test("processes that need the same file download it once, and report its progress", async () => {
  const hub = await startHub(content, { pauseMs: 20 });
  const host = new URL("test/host.ts", import.meta.url);
  const other = startChild(host, ["download", urlOf(hub), target.path], { detached: true });
  await eventually(() => target.partSize() > 0);
  await target.fetch(hub);
  expect(await other.ended).toBe(0);
  expect(hub.fetches().length).toBe(1);
  expect(target.updates[0]).toMatchObject({ total: 2, label: "downloading model.gguf" });
  expectComplete(target);
  expect(existsSync(`${target.path}.part.lock`)).toBe(false);
});

describe("a model address", () => {
  const places = { cacheDir: "/cache", hubEndpoint: undefined };
  const hub = { cacheDir: "/cache", hubEndpoint: "http://127.0.0.1:8080/mirror/" };
  const gemma = "ggml-org/embeddinggemma-300M-GGUF";
  const fileName = "embeddinggemma-300M-Q8_0.gguf";

  test.each([
    [
      defaultModel,
      places,
      {
        model: `hf:${gemma}/${fileName}`,
        path: join("/cache", "hf", gemma, fileName),
        fileName,
        source: { url: `https://huggingface.co/${gemma}/resolve/main/${fileName}`, isHub: true },
      },
    ],
    [
      "hf:user/model/q8/some file.gguf#refs/pr/1",
      hub,
      {
        model: "hf:user/model/q8/some file.gguf#refs/pr/1",
        path: join("/cache", "hf", "user", "model#refs/pr/1", "q8", "some file.gguf"),
        source: { url: "http://127.0.0.1:8080/mirror/user/model/resolve/refs%2Fpr%2F1/q8/some%20file.gguf" },
      },
    ],
    ["hf:user/model/file.gguf#main", hub, { model: "hf:user/model/file.gguf" }],
    ["/some/where/model.gguf", places, { model: "model.gguf", path: "/some/where/model.gguf", source: undefined }],
    [
      "https://example.org/models/a.gguf?signature=1",
      places,
      {
        model: "https://example.org/models/a.gguf",
        path: expect.stringMatching(/^\/cache\/url\/[0-9a-f]{12}\/a\.gguf$/),
        source: { url: "https://example.org/models/a.gguf?signature=1", isHub: false },
      },
    ],
  ])("%s", (written, given, expected) => {
    expect(parseModelAddress(written, given)).toMatchObject(expected);
  });

  test("of the web has a folder of its own, whatever its signature", () => {
    const [first, same, other] = ["models/a.gguf?signature=1", "models/a.gguf?signature=2", "other/a.gguf"].map(
      (path) => parseModelAddress(`https://example.org/${path}`, places).path,
    );
    expect(first).toBe(same);
    expect(first).not.toBe(other);
  });

  test.each([
    ...cases.notAddresses.map((written) => [written, places, "local.modelPath"] as const),
    ["https://me:secret-1@example.org/a.gguf?key=secret-2", places, "contains a password"] as const,
    [defaultModel, { cacheDir: "/cache", hubEndpoint: "file:///etc" }, "HF_ENDPOINT"] as const,
  ])("%s is refused, without a secret in the message", (written, given, words) => {
    const read = (): unknown => parseModelAddress(written, given);
    expect(read).toThrow(expect.objectContaining({ code: "CONFIG", message: expect.stringContaining(words) }));
    expect(read).not.toThrow(/secret-/);
  });
});
