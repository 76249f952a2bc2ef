import { existsSync, readFileSync, readdirSync, rmSync, symlinkSync, mkdirSync } from "node:fs";
import fs from "node:fs/promises";
import { dirname } from "node:path";
import { syncBuiltinESMExports } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type HubBehaviour, startHub } from "@memslot/fakes/model-hub";
import { failureOf } from "@memslot/fakes/plugin-context";
import { startChild } from "@memslot/test-tools/child";
import { eventually } from "@memslot/test-tools/wait";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { type Target, modelBytes, targetOf, urlOf } from "./test/lab.ts";
import cases from "../test/data/cases.json" with { type: "json" };

const host = new URL("test/host.ts", import.meta.url);

let content: Buffer;
let target: Target;
beforeEach(() => {
  content = modelBytes();
  target = targetOf();
});

const expectComplete = ({ path }: Target): void => expect(readFileSync(path).equals(content)).toBe(true);

// embeddings-faults.test.ts of apps/memslot has: another checksum, a page, a full disk, no network.

test.each<[name: string, behaviour: HubBehaviour, kind: string, message: RegExp]>([
  ...(cases.refusedByHub as [number, string, string][]).map(
    ([status, kind, message]) =>
      [`answers ${status}`, { status }, kind, new RegExp(message)] as const satisfies unknown[],
  ),
  ["does not answer", { isSilent: true }, "transient", /did not answer within 0\.5 s/],
  ["redirects to a file", { location: "file:///etc/hosts" }, "auth", /not safe/],
  ["redirects to a script", { location: "javascript:alert(1)" }, "auth", /not safe/],
  ["redirects in a circle", { location: "/again" }, "auth", /too often/],
  ["refuses the token", { token: "right" }, "auth", /HF_TOKEN/],
])("a hub that %s is reported, and no file is left", async (_, behaviour, kind, message) => {
  const hub = await startHub(content, behaviour);
  const limits = { connectMs: behaviour.isSilent ? 500 : 5000, stallMs: 5000, pollMs: 10 };
  const failure = await failureOf(target.fetch(hub, { token: "wrong-token", limits }));
  expect(failure).toMatchObject({ kind, message: expect.stringMatching(message) });
  expect(failure.message).not.toContain("wrong-token");
  expect(hub.log.length).toBeLessThan(7);
  expect(readdirSync(dirname(target.path))).toEqual([]);
});

test.each([
  ["hang", /no byte came for 2 s|only \d+ of/],
  // On a slow machine the bytes before the break are lost with the connection.
  ["break", /stopped \(.*UND_ERR_SOCKET|only \d+ of/],
] as const)("a download that stops (%s) ends with an error, keeps its bytes and is resumed", async (how, message) => {
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
  expectComplete(target);
});

test("a slow download has no time limit as long as bytes arrive", async () => {
  const hub = await startHub(content, { pauseMs: 100 });
  const since = Date.now();
  await target.fetch(hub, { limits: { stallMs: 3000 } });
  expect(Date.now() - since).toBeGreaterThan(3000);
});

test("an aborted download ends at once, and the next one can resume it", async () => {
  const hub = await startHub(content, { pauseMs: 50 });
  const fetching = target.fetch(hub);
  await eventually(() => target.partSize() > 0);
  target.controller.abort();
  await expect(fetching).rejects.toThrow(expect.objectContaining({ name: "AbortError" }));
  expect(existsSync(`${target.path}.part.lock`)).toBe(false);
  expect(target.partSize()).toBeGreaterThan(0);
});

test("an answer is not lost if its response is garbage-collected before the first byte is read", async () => {
  const hub = await startHub(content);
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const { statfs } = fs;
  vi.spyOn(fs, "statfs").mockImplementation((async (folder: string) => {
    for (let round = 0; round < 5; round++) {
      collectGarbage();
      await sleep(10);
    }
    return await statfs(folder);
  }) as typeof statfs);
  syncBuiltinESMExports();
  onTestFinished(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });
  await target.fetch(hub);
  expectComplete(target);
});

test("a disk that becomes full is reported, and the download can be repeated", async () => {
  const hub = await startHub(content);
  mkdirSync(dirname(target.path));
  symlinkSync("/dev/full", `${target.path}.part`);
  const failure = await failureOf(target.fetch(hub));
  expect(failure).toMatchObject({ kind: "auth", message: expect.stringMatching(/full: model\.gguf needs \d MB more/) });
  rmSync(`${target.path}.part`);
  await target.fetch(hub);
  expectComplete(target);
});

test("more bytes than the stated size, or than the limit of an unknown size, are not written", async () => {
  const hub = await startHub(content);
  // The hub states the size of the file, and another server sends it.
  const other = await startHub(Buffer.concat([content, content]), { length: false });
  hub.behave({ location: `${other.storeUrl}/content` });
  await expect(target.fetch(hub)).rejects.toThrow(/sends more of model\.gguf than its \d+ bytes/);
  expect(target.partSize()).toBeLessThanOrEqual(content.length);
  const endless = targetOf();
  hub.behave({ length: false, sha256: "none" });
  const stopped = endless.fetch(hub, { limits: { unknownSizeBytes: 200_000 } });
  await expect(stopped).rejects.toThrow("sends more of model.gguf than 0 MB");
  expect(endless.partSize()).toBeLessThanOrEqual(200_000);
});

test("after kill -9 the next process resumes the download", async () => {
  const hub = await startHub(content, { stopAfter: { bytes: 250_000, how: "hang" } });
  const first = startChild(host, ["download", urlOf(hub), target.path], { detached: true });
  await eventually(() => target.partSize() > 200_000);
  first.process.kill("SIGKILL");
  await first.ended;
  const size = target.partSize();
  hub.behave({});
  await target.fetch(hub);
  expect(hub.fetches().at(-1)?.range).toBe(`bytes=${size}-`);
  expectComplete(target);
});

test("a waiting process resumes the download of a killed one", async () => {
  const hub = await startHub(content, { pauseMs: 20 });
  const other = startChild(host, ["download", urlOf(hub), target.path], { detached: true });
  await eventually(() => target.partSize() > 100_000);
  const waiting = target.fetch(hub, { limits: { connectMs: 60_000, stallMs: 60_000, pollMs: 10 } });
  await eventually(() => target.updates.length > 1);
  hub.behave({});
  other.process.kill("SIGKILL");
  await waiting;
  expect(hub.fetches()[1]?.range).toMatch(/^bytes=\d{6}/);
  expectComplete(target);
});

test("a suspended process is not waited for", async () => {
  const hub = await startHub(content, { stopAfter: { bytes: 250_000, how: "hang" } });
  const other = startChild(host, ["download", urlOf(hub), target.path], { detached: true });
  await eventually(() => target.partSize() > 200_000);
  other.process.kill("SIGSTOP");
  hub.behave({});
  await target.fetch(hub, { limits: { connectMs: 1500, stallMs: 1500, pollMs: 10 } });
  expectComplete(target);
});

test("two processes that write the same part at once do no harm", async () => {
  const hub = await startHub(content, { pauseMs: 60 });
  const first = target.fetch(hub);
  await eventually(() => target.partSize() > 60_000);
  rmSync(`${target.path}.part.lock`);
  await Promise.all([first, target.fetch(hub)]);
  expect(hub.fetches().length).toBe(2);
  expectComplete(target);
});
