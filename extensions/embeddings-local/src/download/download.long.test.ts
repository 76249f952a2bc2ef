import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { deadUrl, startHub } from "@memslot/fakes/model-hub";
import { startChild } from "@memslot/test-tools/child";
import { eventually } from "@memslot/test-tools/wait";
import { beforeEach, expect, test } from "vitest";
import { type Target, failureOf, modelBytes, targetOf, urlOf } from "../test/lab.ts";
import { realDisk } from "./part-file.ts";
import cases from "../../test/data/cases.json" with { type: "json" };

/** What a hub has, and where a test downloads it to. */
let content: Buffer;
let target: Target;
beforeEach(() => {
  content = modelBytes();
  target = targetOf();
});

test.each(cases.refusedByHub as [number, string, string][])(
  "an answer of %d is an error of kind %s that says what to do",
  async (status, kind, message) => {
    const hub = await startHub(content, { status });
    const target = targetOf();
    expect(await failureOf(target.fetch(hub))).toMatchObject({ kind, message: expect.stringMatching(message) });
    expect(hub.log.length).toBe(1);
    expect(readdirSync(dirname(target.path))).toEqual([]);
  },
);

test("a wrong token is refused and stands in no message", async () => {
  const hub = await startHub(content, { token: "right" });
  const failure = await failureOf(targetOf().fetch(hub, { token: "wrong-token" }));
  expect(failure).toMatchObject({ kind: "auth" });
  expect(failure.message).not.toContain("wrong-token");
});

test("where nothing listens the error comes at once", async () => {
  const failure = await failureOf(targetOf().fetch({ url: await deadUrl() }));
  expect(failure).toMatchObject({ kind: "transient", message: expect.stringMatching(/cannot reach .*ECONNREFUSED/) });
});

test("a server that takes the request and does not answer is given up", async () => {
  const hub = await startHub(content, { isSilent: true });
  const failure = await failureOf(targetOf().fetch(hub, { limits: { connectMs: 50 } }));
  expect(failure).toMatchObject({ kind: "transient", message: expect.stringMatching(/no answer within 0\.05 s/) });
});

test.each([
  ["hang", /no byte came for 2 s|only \d+ of/],
  // Where this machine is slow, what was sent before the break is lost with the connection.
  ["break", /came to a stop \(.*UND_ERR_SOCKET|only \d+ of/],
] as const)("a download that comes to a stop (%s) ends with an error and keeps what is there", async (how, message) => {
  const hub = await startHub(content, { stopAfter: { bytes: 1_200_000, how } });
  const failure = await failureOf(target.fetch(hub, { limits: { stallMs: 2000 } }));
  expect(failure).toMatchObject({ kind: "transient", message: expect.stringMatching(message) });
  const kept = target.partSize();
  expect(kept).toBeLessThanOrEqual(1_200_000);
  expect(existsSync(target.path)).toBe(false);
  hub.behave({});
  const before = hub.fetches().length;
  await target.fetch(hub).catch(() => target.fetch(hub));
  expect(hub.fetches()[before]?.range).toBe(kept === 0 ? undefined : `bytes=${kept}-`);
  expect(readFileSync(target.path).equals(content)).toBe(true);
});

test("a download that is slow is not one that has come to a stop", async () => {
  const hub = await startHub(content, { pauseMs: 100 });
  const since = Date.now();
  await target.fetch(hub, { limits: { stallMs: 3000 } });
  expect(Date.now() - since).toBeGreaterThan(3000);
  expect(existsSync(target.path)).toBe(true);
});

test("a download that is aborted ends at once and lets the next one go on", async () => {
  const hub = await startHub(content, { pauseMs: 50 });
  const fetching = target.fetch(hub);
  await eventually(() => target.partSize() > 0);
  target.controller.abort();
  await expect(fetching).rejects.toThrow(expect.objectContaining({ name: "AbortError" }));
  expect(existsSync(`${target.path}.part.lock`)).toBe(false);
  expect(target.partSize()).toBeGreaterThan(0);
});

test("what has another checksum is deleted", async () => {
  const hub = await startHub(content, { sha256: "0".repeat(64) });
  expect(await failureOf(target.fetch(hub))).toMatchObject({
    kind: "auth",
    message: expect.stringMatching(/is not model\.gguf: its checksum .* It was deleted/),
  });
  expect(readdirSync(dirname(target.path))).toEqual([]);
});

test("a page in place of a model is not taken for one", async () => {
  const hub = await startHub(Buffer.from("<html>Please sign in</html>"), { sha256: "none" });
  expect(await failureOf(target.fetch(hub))).toMatchObject({ message: expect.stringMatching(/it is no GGUF file/) });
  expect(readdirSync(dirname(target.path))).toEqual([]);
});

test.each(["file:///etc/hosts", "javascript:alert(1)"])("a hub that leads to %s is not followed", async (location) => {
  const hub = await startHub(content, { location });
  expect(await failureOf(targetOf().fetch(hub))).toMatchObject({
    kind: "auth",
    message: expect.stringMatching(/not safe to follow/),
  });
});

test("a hub that leads in a circle is given up", async () => {
  const hub = await startHub(content, { location: "/again" });
  expect(await failureOf(targetOf().fetch(hub))).toMatchObject({ message: expect.stringMatching(/on and on/) });
  expect(hub.log.length).toBe(6);
});

test("a disk without room is told before anything is written", async () => {
  const hub = await startHub(content);
  const disk = { ...realDisk, freeBytes: async () => 1_000_000 };
  const failure = await failureOf(target.fetch(hub, { disk }));
  expect(failure).toMatchObject({ kind: "auth" });
  expect(failure.message).toContain(`the disk of ${dirname(target.path)} is full: model.gguf needs 2 MB more`);
  expect(failure.message).toContain("modelCacheDir");
  expect(target.partSize()).toBe(0);
});

test("an answer is not lost when its response is garbage-collected before the first byte is read", async () => {
  const hub = await startHub(content);
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const disk: typeof realDisk = {
    ...realDisk,
    async freeBytes(folder) {
      for (let round = 0; round < 5; round++) {
        collectGarbage();
        await sleep(10);
      }
      return await realDisk.freeBytes(folder);
    },
  };
  await target.fetch(hub, { disk });
  expect(readFileSync(target.path).equals(content)).toBe(true);
});

test("a disk that becomes full on the way is told, and what was written is gone on from later", async () => {
  const hub = await startHub(content);
  const disk: typeof realDisk = {
    ...realDisk,
    async write(file, bytes, position) {
      if (position > 500_000) throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
      await realDisk.write(file, bytes, position);
    },
  };
  const failure = await failureOf(target.fetch(hub, { disk }));
  expect(failure).toMatchObject({
    kind: "auth",
    message: expect.stringMatching(/is full: model\.gguf needs \d MB more/),
  });
  const size = target.partSize();
  expect(size).toBeGreaterThan(500_000);
  await target.fetch(hub);
  expect(hub.fetches().at(-1)?.range).toBe(`bytes=${size}-`);
  expect(readFileSync(target.path).equals(content)).toBe(true);
});

test("more than the file should have is not written, nor what never ends of one whose size is not said", async () => {
  const limits = { connectMs: 5000, stallMs: 5000, pollMs: 10 };
  const longer = targetOf();
  const hub = await startHub(content);
  // The hub says the size of the file, and another server sends it.
  const other = await startHub(Buffer.concat([content, content]), { length: false });
  hub.behave({ location: `${other.storeUrl}/content` });
  await expect(longer.fetch(hub)).rejects.toThrow(/sends more of model\.gguf than the \d+ bytes/);
  expect(longer.partSize()).toBeLessThanOrEqual(content.length);
  const endless = targetOf();
  hub.behave({ length: false, sha256: "none" });
  const stopped = endless.fetch(hub, { limits: { ...limits, unknownSizeBytes: 200_000 } });
  await expect(stopped).rejects.toThrow("sends more of model.gguf than 0 MB");
  expect(endless.partSize()).toBeLessThanOrEqual(200_000);
});

test("after a kill the next process goes on from where the first one was", async () => {
  // It cannot be done before it is killed, however slow this machine is.
  const hub = await startHub(content, { stopAfter: { bytes: 250_000, how: "hang" } });
  const first = startChild(new URL("../test/download-file.ts", import.meta.url), [urlOf(hub), target.path], {
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

test("the one that waits goes on with the part when the other one is killed", async () => {
  const hub = await startHub(content, { pauseMs: 20 });
  const other = startChild(new URL("../test/download-file.ts", import.meta.url), [urlOf(hub), target.path], {
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
  const hub = await startHub(content);
  await target.fetch(hub);
  rmSync(target.path);
  // Another process that has got the number of one that died looks like this.
  writeFileSync(`${target.path}.part.lock`, JSON.stringify({ pid: process.pid, host: hostname(), since: "" }));
  await target.fetch(hub, { limits: { connectMs: 1500, stallMs: 1500, pollMs: 10 } });
  expect(existsSync(`${target.path}.part.lock`)).toBe(false);
});

test("two that write the same part at the same time do each other no harm", async () => {
  const hub = await startHub(content, { pauseMs: 60 });
  const first = target.fetch(hub);
  await eventually(() => target.partSize() > 60_000);
  rmSync(`${target.path}.part.lock`);
  await Promise.all([first, target.fetch(hub)]);
  expect(hub.fetches().length).toBe(2);
  expect(readFileSync(target.path).equals(content)).toBe(true);
});
