import { expect, test, vi } from "vitest";
import type { LanceOptions } from "../options.ts";
import { createWithin, faultOf, remoteErrors } from "./place-errors.ts";
import { createRedact } from "./shared/storage-options.ts";
import { allTextOf, errorOf, inBucket, open, startStorage } from "../test/places.ts";

const network = /^.+: s3:\/\/notes\/team\/main at http:\/\/127\.0\.0\.1:\d+ cannot be reached; check the network/;

test("a bucket that is gone: calls fail in bounded time as UNAVAILABLE, and work again when it is back", async () => {
  const storage = await startStorage();
  const place = await open(inBucket(storage));
  const table = await place.connection.createTable("rows", [{ name: "first" }]);
  const look = async (): Promise<number> => {
    await table.checkoutLatest();
    return await table.countRows();
  };
  const count = (): Promise<number> => place.within("counting rows", 30_000, undefined, look);
  const add = (): Promise<unknown> =>
    place.within("adding a row", 30_000, undefined, () => table.add([{ name: "second" }]));

  storage.down("refuse");
  for (const call of [count, add]) {
    const error = await errorOf(call());
    expect(error.code).toBe("UNAVAILABLE");
    expect(error.message).toMatch(network);
  }
  expect(await errorOf(open(inBucket(storage)))).toMatchObject({ code: "UNAVAILABLE" });

  storage.up();
  expect(await count()).toBe(1);
  await add();
  expect(await count()).toBe(2);
  expect(await (await open(inBucket(storage))).connection.tableNames()).toEqual(["rows", "v2_leases"]);
});

test("a bucket that does not answer: the deadline ends the call, an abort ends it at once", async () => {
  const storage = await startStorage();
  const place = await open(inBucket(storage));
  const table = await place.connection.createTable("rows", [{ name: "first" }]);
  storage.down("hang");
  const error = await errorOf(place.within("counting rows", 200, undefined, () => table.checkoutLatest()));
  expect(error).toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringMatching(/^counting rows in s3:\/\/.* gave no answer within 0\.2 s; check the network/),
  });
  const controller = new AbortController();
  const call = errorOf(place.within("counting rows", 60_000, controller.signal, () => table.checkoutLatest()));
  const asked = storage.stats().requests;
  await vi.waitFor(() => expect(storage.stats().requests).toBeGreaterThanOrEqual(asked));
  controller.abort();
  expect((await call).name).toBe("AbortError");
  storage.up();
  expect(await place.within("counting rows", 30_000, undefined, () => table.countRows())).toBe(1);
});

test("keys that are refused, and a bucket that is not there, are named", async () => {
  const storage = await startStorage({ accessKeyId: "right", buckets: ["notes"] });
  const refused = await errorOf(open(inBucket(storage, { access_key_id: "wrong-key-id" })));
  expect(refused).toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringMatching(
      /refuses access with these keys.*check plugins\.entries\.memory-lancedb\.config\.storageOptions/,
    ),
  });
  const missing = await errorOf(open({ ...inBucket(storage), dbPath: "s3://other/team" }));
  expect(missing).toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringMatching(
      /the bucket of s3:\/\/other\/team\/main .*does not exist; make it, or correct .*dbPath/,
    ),
  });
});

test("no key stands in a message, a cause or a location", async () => {
  const secrets = {
    access_key_id: "AKIDEXAMPLE0123",
    secret_access_key: "wJalr/XUtn+FEMI=",
    session_token: "tok/en+123456",
  };
  const storage = await startStorage({ accessKeyId: "right" });
  const error = await errorOf(open(inBucket(storage, secrets)));
  const place = await open(inBucket(storage, { access_key_id: "right" }));
  for (const text of [allTextOf(error), place.location])
    for (const secret of Object.values(secrets)) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(encodeURIComponent(secret));
    }
});

test("errors of LanceDB are told apart", () => {
  const samples: [string, ReturnType<typeof faultOf>][] = [
    ["Generic S3 error: Server returned non-2xx status code: 403 Forbidden: <Code>AccessDenied</Code>", "keys"],
    ["Generic MicrosoftAzure error: <Code>AuthenticationFailed</Code>", "keys"],
    ["Failed to get AWS credentials: no providers in chain provided credentials", "keys"],
    ["Generic S3 error: <Code>NoSuchBucket</Code> status 404", "bucket"],
    ["Generic MicrosoftAzure error: status 404: <Code>ContainerNotFound</Code>", "bucket"],
    [
      "Generic S3 error: Received redirect without LOCATION, this normally indicates an incorrectly configured region",
      "region",
    ],
    ["Error performing GET in 3s, after 2 retries, retry_timeout: 10s - HTTP error: error sending request", "reach"],
    ["Generic S3 error: status 503: <Code>SlowDown</Code>", "reach"],
    ["Table 'rows' was not found", undefined],
    ["Table 'rows' was not found  Caused by: Http error: (request_id=1) no", undefined],
    ["Object at location a/b.lance not found: Error performing GET http://h/b in 3ms - status code: 404", undefined],
    ["Commit conflict for version 403", undefined],
    ["Too many concurrent writers at version 503", undefined],
  ];
  for (const [message, fault] of samples) expect([message, faultOf(message)]).toEqual([message, fault]);
});

test("errors that are not about the place stay what they are, without keys", async () => {
  const lance: LanceOptions = {
    dbPath: "az://c",
    storageOptions: { sas_token: "sv=1&sig=abcdef", account_name: "acct" },
  };
  const redact = createRedact(lance);
  const errors = remoteErrors({ name: "az://c", noun: "the bucket", place: "dbPath", keys: "storageOptions", redact });
  const within = createWithin(errors);
  const plain = new Error("Table 'rows' was not found");
  expect(await errorOf(within("reading", 1000, undefined, () => Promise.reject(plain)))).toBe(plain);
  const telling = new Error("no such file https://me:pw@host/c/f.lance?sv=1&sig=abcdef of acct");
  expect((await errorOf(within("reading", 1000, undefined, () => Promise.reject(telling)))).message).toBe(
    "no such file https://(set)@host/c/f.lance of (set)",
  );
});
