import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { startChild } from "@memslot/test-tools/child";
import { modelBytes, targetOf, urlOf } from "./test/downloads.ts";
import { startHub } from "@memslot/fakes/model-hub";
import { eventually } from "@memslot/test-tools/wait";

test("a file is fetched over the hub and its store, with progress in megabytes, and nothing else is left", async () => {
  const content = modelBytes();
  const hub = await startHub(content);
  const target = targetOf();
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
  const hub = await startHub(modelBytes(), { token: "hf_secret" });
  await targetOf().fetch(hub, { token: "hf_secret" });
  expect(hub.log.map(({ place, authorization }) => [place, authorization])).toEqual([
    ["hub", "Bearer hf_secret"],
    ["store", undefined],
  ]);
});

test("after a kill the next process goes on from where the first one was", async () => {
  const content = modelBytes();
  // It cannot be done before it is killed, however slow this machine is.
  const hub = await startHub(content, { stopAfter: { bytes: 250_000, how: "hang" } });
  const target = targetOf();
  const first = startChild(new URL("./test/download-file.ts", import.meta.url), [urlOf(hub), target.path], {
    detached: true,
  });
  await eventually(() => target.partSize() > 200_000);
  first.process.kill("SIGKILL");
  await first.ended;
  const size = target.partSize();
  hub.behave({});
  await target.fetch(hub);
  expect(hub.fetches().at(-1)?.range).toBe(`bytes=${size}-`);
  expect(readFileSync(target.path).equals(content)).toBe(true);
  expect(readdirSync(dirname(target.path))).toEqual(["model.gguf"]);
});

test("what was whole before the kill is not fetched again", async () => {
  const content = modelBytes();
  const hub = await startHub(content, { stopAfter: { bytes: 400_000, how: "break" } });
  const target = targetOf();
  await target.fetch(hub).catch(() => undefined);
  writeFileSync(`${target.path}.part`, content);
  hub.log.length = 0;
  await target.fetch(hub);
  expect(readFileSync(target.path).equals(content)).toBe(true);
  expect(hub.log).toEqual([]);
});

test("where the server begins at the first byte all the same, so does the file", async () => {
  const content = modelBytes();
  const hub = await startHub(content, { stopAfter: { bytes: 400_000, how: "break" } });
  const target = targetOf();
  await target.fetch(hub).catch(() => undefined);
  expect(target.partSize()).toBeGreaterThan(0);
  hub.behave({ ranges: false });
  await target.fetch(hub);
  expect(hub.fetches().at(-1)?.range).toMatch(/^bytes=/);
  expect(readFileSync(target.path).equals(content)).toBe(true);
});

test("a part of another content is dropped", async () => {
  const old = await startHub(Buffer.concat([modelBytes(), Buffer.alloc(100)]), {
    stopAfter: { bytes: 400_000, how: "break" },
  });
  const target = targetOf();
  await target.fetch(old).catch(() => undefined);
  expect(target.partSize()).toBeGreaterThan(0);
  const content = modelBytes();
  const hub = await startHub(content);
  // The same address with another content, as after a new release of the model.
  const notes = JSON.parse(readFileSync(`${target.path}.part.json`, "utf8")) as Record<string, unknown>;
  writeFileSync(`${target.path}.part.json`, JSON.stringify({ ...notes, url: urlOf(hub) }));
  await target.fetch(hub);
  expect(hub.fetches().map(({ range }) => range)).toEqual([expect.stringMatching(/^bytes=/), undefined]);
  expect(readFileSync(target.path).equals(content)).toBe(true);
});

test("without a checksum the part goes on only while the tag of the content is the same", async () => {
  const content = modelBytes();
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
  const content = modelBytes();
  const hub = await startHub(content, { sha256: "none", etag: "none", length: false });
  const target = targetOf();
  await target.fetch({ url: hub.storeUrl });
  expect(readFileSync(target.path).equals(content)).toBe(true);
});

test("processes that want the same file fetch it once, and those that wait are told how far it is", async () => {
  const content = modelBytes();
  const hub = await startHub(content, { pauseMs: 20 });
  const target = targetOf();
  const other = startChild(new URL("./test/download-file.ts", import.meta.url), [urlOf(hub), target.path], {
    detached: true,
  });
  await eventually(() => target.partSize() > 0);
  await target.fetch(hub);
  expect(await other.ended).toBe(0);
  expect(hub.fetches().length).toBe(1);
  expect(target.updates[0]).toMatchObject({ total: 2, label: "downloading model.gguf" });
  expect(readFileSync(target.path).equals(content)).toBe(true);
});

test("the one that waits goes on with the part when the other one is killed", async () => {
  const content = modelBytes();
  const hub = await startHub(content, { pauseMs: 20 });
  const target = targetOf();
  const other = startChild(new URL("./test/download-file.ts", import.meta.url), [urlOf(hub), target.path], {
    detached: true,
  });
  await eventually(() => target.partSize() > 100_000);
  const waiting = target.fetch(hub, { limits: { connectMs: 60_000, stallMs: 60_000, pollMs: 10 } });
  await eventually(() => target.updates.length > 1);
  hub.behave({});
  other.process.kill("SIGKILL");
  await waiting;
  expect(hub.fetches()[1]?.range).toMatch(/^bytes=\d{6}/);
  expect(readFileSync(target.path).equals(content)).toBe(true);
});

test("a lock of a process that lives and does not get on is taken over", async () => {
  const hub = await startHub(modelBytes());
  const target = targetOf();
  await target.fetch(hub);
  rmSync(target.path);
  // Another process that has got the number of one that died looks like this.
  writeFileSync(`${target.path}.part.lock`, JSON.stringify({ pid: process.pid, host: hostname(), since: "" }));
  await target.fetch(hub, { limits: { connectMs: 1500, stallMs: 1500, pollMs: 10 } });
  expect(existsSync(`${target.path}.part.lock`)).toBe(false);
});

test("two that write the same part at the same time do each other no harm", async () => {
  const content = modelBytes();
  const hub = await startHub(content, { pauseMs: 60 });
  const target = targetOf();
  const first = target.fetch(hub);
  await eventually(() => target.partSize() > 60_000);
  rmSync(`${target.path}.part.lock`);
  await Promise.all([first, target.fetch(hub)]);
  expect(hub.fetches().length).toBe(2);
  expect(readFileSync(target.path).equals(content)).toBe(true);
});
