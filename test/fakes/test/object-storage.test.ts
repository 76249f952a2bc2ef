import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type ObjectStorage, type ObjectStorageOptions, startObjectStorage } from "@memslot/fakes/object-storage";
import { describe, expect, onTestFinished, test, vi } from "vitest";

async function start(options: ObjectStorageOptions = {}): Promise<ObjectStorage> {
  const storage = await startObjectStorage(options);
  onTestFinished(() => storage.stop());
  return storage;
}

/** `path` begins with the bucket. */
function send(
  { url }: ObjectStorage,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: string,
): Promise<Response> {
  return fetch(`${url}/${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
}

const put = (storage: ObjectStorage, path: string, body: string, headers = {}): Promise<Response> =>
  send(storage, "PUT", path, headers, body);

const textOf = async (storage: ObjectStorage, path: string, headers = {}): Promise<string> =>
  (await send(storage, "GET", path, headers)).text();

describe("objects", () => {
  test("are kept, read, listed in stats and deleted", async () => {
    const storage = await start();
    expect((await put(storage, "b/a/笔记 1.md", "text")).status).toBe(200);
    expect(await textOf(storage, "b/a/笔记 1.md")).toBe("text");
    const head = await send(storage, "HEAD", "b/a/笔记 1.md");
    expect([head.status, head.headers.get("content-length"), head.headers.get("etag")]).toEqual([
      200,
      "4",
      '"1cb251ec0d568de6a929b520c4aed8d1"',
    ]);
    expect(storage.keys("b", "a/")).toEqual(["a/笔记 1.md"]);
    expect(storage.stats()).toMatchObject({ objects: 1, bytes: 4 });
    expect((await send(storage, "DELETE", "b/a/笔记 1.md")).status).toBe(204);
    expect((await send(storage, "GET", "b/a/笔记 1.md")).status).toBe(404);
    expect(storage.stats()).toMatchObject({ objects: 0, bytes: 0 });
  });

  test("are read in ranges", async () => {
    const storage = await start();
    await put(storage, "b/k", "0123456789");
    const part = await send(storage, "GET", "b/k", { range: "bytes=2-4" });
    expect([part.status, part.headers.get("content-range"), await part.text()]).toEqual([206, "bytes 2-4/10", "234"]);
    expect(await textOf(storage, "b/k", { range: "bytes=7-" })).toBe("789");
    expect(await textOf(storage, "b/k", { range: "bytes=-3" })).toBe("789");
    expect(await textOf(storage, "b/k", { range: "bytes=8-99" })).toBe("89");
    expect((await send(storage, "GET", "b/k", { range: "bytes=10-12" })).status).toBe(416);
  });

  test("are listed in pages, with what stands before a delimiter put together", async () => {
    const storage = await start();
    for (const key of ["x/1", "x/2", "x/a/1", "x/a/2", "x/b&c/1", "y"]) await put(storage, `b/${key}`, "");
    const keysIn = (xml: string): string[] =>
      [...xml.matchAll(/<(?:Key|CommonPrefixes><Prefix)>([^<]*)</g)].map(([, key = ""]) => key);
    const whole = await textOf(storage, "b?list-type=2&prefix=x/&delimiter=/");
    expect(keysIn(whole)).toEqual(["x/1", "x/2", "x/a/", "x/b&amp;c/"]);
    const found: string[] = [];
    let token = "";
    do {
      const page = await textOf(storage, `b?list-type=2&prefix=x/&delimiter=/&max-keys=1&continuation-token=${token}`);
      found.push(...keysIn(page));
      token = encodeURIComponent(/<NextContinuationToken>([^<]*)</.exec(page)?.[1]?.replaceAll("&amp;", "&") ?? "");
    } while (token !== "");
    expect(found).toEqual(["x/1", "x/2", "x/a/", "x/b&amp;c/"]);
    expect(keysIn(await textOf(storage, "b?list-type=2&start-after=x/b"))).toEqual(["x/b&amp;c/1", "y"]);
  });

  test("are put together from parts, copied, and deleted by the list", async () => {
    const storage = await start();
    const begun = await (await send(storage, "POST", "b/big?uploads")).text();
    const id = /<UploadId>([^<]*)</.exec(begun)?.[1];
    await put(storage, `b/big?uploadId=${id}&partNumber=2`, "world");
    await put(storage, `b/big?uploadId=${id}&partNumber=1`, "hello ");
    expect(storage.keys("b", "")).toEqual([]);
    expect((await send(storage, "POST", `b/big?uploadId=${id}`)).status).toBe(200);
    expect((await put(storage, "b/copy", "", { "x-amz-copy-source": "/b/big" })).status).toBe(200);
    expect(await textOf(storage, "b/copy")).toBe("hello world");
    await put(storage, "b/a&b", "");
    const list = "<Delete><Object><Key>big</Key></Object><Object><Key>a&amp;b</Key></Object></Delete>";
    expect((await send(storage, "POST", "b?delete", {}, list)).status).toBe(200);
    expect(storage.keys("b", "")).toEqual(["copy"]);
  });

  test("that are sent in signed pieces are kept without the signatures", async () => {
    const storage = await start();
    const body = "5;chunk-signature=abc\r\nhello\r\n6;chunk-signature=def\r\n world\r\n0;chunk-signature=0\r\n\r\n";
    await put(storage, "b/k", body, { "x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" });
    expect(await textOf(storage, "b/k")).toBe("hello world");
  });

  test("may not be more in all than was said", async () => {
    const storage = await start({ maxBytes: 10 });
    expect((await put(storage, "b/a", "12345678")).status).toBe(200);
    expect((await put(storage, "b/b", "123")).status).toBe(400);
    expect((await put(storage, "b/a", "1234567890")).status).toBe(200);
    expect(storage.stats()).toMatchObject({ objects: 1, bytes: 10 });
  });
});

describe("conditional writes", () => {
  const onlyNew = { "if-none-match": "*" };

  test("a key that is there is not written again, whoever asks at once", async () => {
    const storage = await start();
    const writers = Array.from({ length: 8 }, (_, index) => put(storage, "b/k", `${index}`, onlyNew));
    const statuses = (await Promise.all(writers)).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([200, ...Array.from({ length: 7 }, () => 412)]);
    expect(storage.stats()).toMatchObject({ conditionalWrites: 8, refusedWrites: 7 });
    expect((await put(storage, "b/k", "plain")).status).toBe(200);
    expect((await put(storage, "b/c", "", { ...onlyNew, "x-amz-copy-source": "b/k" })).status).toBe(200);
    expect((await put(storage, "b/c", "", { ...onlyNew, "x-amz-copy-source": "b/k" })).status).toBe(412);
  });

  test("a key that has changed is not written", async () => {
    const storage = await start();
    const etag = (await put(storage, "b/k", "1")).headers.get("etag") ?? "";
    expect((await put(storage, "b/k", "2", { "if-match": etag })).status).toBe(200);
    expect((await put(storage, "b/k", "3", { "if-match": etag })).status).toBe(412);
    expect((await put(storage, "b/none", "3", { "if-match": etag })).status).toBe(404);
    expect(await textOf(storage, "b/k")).toBe("2");
  });

  test("are ignored, or answered as unknown, where that was asked for", async () => {
    const ignoring = await start({ conditionalWrites: "ignored" });
    for (const body of ["1", "2"]) expect((await put(ignoring, "b/k", body, onlyNew)).status).toBe(200);
    expect(await textOf(ignoring, "b/k")).toBe("2");
    const refusing = await start({ conditionalWrites: "unsupported" });
    expect((await put(refusing, "b/k", "1", onlyNew)).status).toBe(501);
    expect((await put(refusing, "b/k", "1")).status).toBe(200);
  });
});

describe("faults", () => {
  test("another key is refused, and a bucket that is not there is missing", async () => {
    const storage = await start({ accessKeyId: "right", buckets: ["b"] });
    const signed = (key: string): Record<string, string> => ({
      authorization: `AWS4-HMAC-SHA256 Credential=${key}/20260101/us-east-1/s3/aws4_request, Signature=0`,
    });
    expect((await put(storage, "b/k", "", signed("wrong"))).status).toBe(403);
    expect((await put(storage, "b/k", "")).status).toBe(403);
    expect((await put(storage, "b/k", "", signed("right"))).status).toBe(200);
    const missing = await put(storage, "c/k", "", signed("right"));
    expect([missing.status, await missing.text()]).toEqual([404, expect.stringContaining("NoSuchBucket")]);
    expect(storage.storageOptions()).toMatchObject({ endpoint: storage.url, access_key_id: "right" });
  });

  test("it is gone for a while, and back with what it held", async () => {
    const storage = await start();
    await put(storage, "b/k", "1");
    storage.down("refuse");
    await expect(textOf(storage, "b/k")).rejects.toThrow("fetch failed");
    storage.up();
    expect(await textOf(storage, "b/k")).toBe("1");
    storage.down("hang");
    const asked = storage.stats().requests;
    const hanging = textOf(storage, "b/k");
    await vi.waitFor(() => expect(storage.stats().requests).toBe(asked + 1));
    expect(storage.log.at(-1)?.status).toBeUndefined();
    storage.up();
    await expect(hanging).rejects.toThrow("fetch failed");
    expect(await textOf(storage, "b/k")).toBe("1");
  });
});

test("the log tells what was asked and how it was answered", async () => {
  const storage = await start();
  await put(storage, "b/k", "1", { "if-none-match": "*" });
  await put(storage, "b/k", "1", { "if-none-match": "*" });
  await send(storage, "GET", "b/none");
  expect(storage.log).toMatchObject([
    { method: "PUT", path: "/b/k", condition: "if-none-match: *", status: 200 },
    { method: "PUT", path: "/b/k", condition: "if-none-match: *", status: 412 },
    { method: "GET", path: "/b/none", condition: undefined, status: 404 },
  ]);
  expect(storage.stats()).toMatchObject({ requests: 3, methods: { PUT: 2, GET: 1 } });
});

test("it runs as a process of its own, which ends with its input", async () => {
  const file = fileURLToPath(new URL("support/object-storage.ts", import.meta.url));
  const child = spawn(process.execPath, ["--conditions=@memslot/source", file, '{"latencyMs":1}'], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(child, "close");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const nextLine = async (): Promise<Record<string, unknown>> =>
    JSON.parse(String((await lines.next()).value)) as Record<string, unknown>;
  const { url } = await nextLine();
  expect((await fetch(`${url}/b/k`, { method: "PUT", body: "1" })).status).toBe(200);
  child.stdin.write("down refuse\n");
  expect(await nextLine()).toMatchObject({ objects: 1 });
  await expect(fetch(`${url}/b/k`)).rejects.toThrow("fetch failed");
  child.stdin.write("up\n");
  await nextLine();
  expect(await (await fetch(`${url}/b/k`)).text()).toBe("1");
  child.stdin.end();
  expect(await ended).toEqual([0, null]);
});
