import { existsSync, statSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { tempFolder } from "@memslot/test-tools/files";
import { describe, expect, onTestFinished, test } from "vitest";
import { inBucket, startStorage } from "../../test/support/stores.ts";
import { allTextOf, errorOf, open } from "../test/places.ts";
import { type Address, addressOf, agentFolder, type LanceOptions, storageOptionsOf } from "./address.ts";
import { closeNative } from "./close-native.ts";
import { createWithin, faultOf, remoteErrors } from "./failures.ts";
import { libraryMessage } from "./open-connection.ts";
import cases from "../../test/data/cases.json" with { type: "json" };

const key = "plugins.entries.memory-lancedb.config";

describe("an address", () => {
  const read = (dbPath: string | undefined, agentId = "main"): Address =>
    addressOf({ lance: { dbPath }, agentId, stateDir: join("/state") });
  const usual = { kind: "folder", folder: join("/state", "memory", "lancedb", "main") };

  test.each<[string | undefined, string, object]>([
    [undefined, "main", usual],
    ["  ", "main", usual],
    ["/data/index", "main", { kind: "folder", folder: join("/data/index", "main") }],
    ["~/index", "work", { kind: "folder", folder: join(homedir(), "index", "work") }],
    ["~", "main", { kind: "folder", folder: join(homedir(), "main") }],
    ["s3://notes", "main", { kind: "bucket", root: "s3://notes", name: "main" }],
    ["S3://notes/a//b/", "work", { root: "s3://notes/a/b", name: "work" }],
    ["gs://notes/a", "main", { root: "gs://notes/a", name: "main" }],
    ["az://container/a", "main", { root: "az://container/a", name: "main" }],
    ["db://team", "main", { kind: "cloud", uri: "db://team", name: "main" }],
  ])("%s of the agent %s is the agent's own place", (dbPath, agentId, expected) => {
    expect(read(dbPath, agentId)).toMatchObject(expected);
  });

  test("of a shared place has the name that machines share, and a folder that of this machine", () => {
    const given = { agentId: "main", name: "main-1", sharedName: "main-2", stateDir: join("/state") };
    const read = (dbPath: string): Address => addressOf({ lance: { dbPath }, ...given });
    expect(read("s3://notes")).toMatchObject({ name: "main-2.lance" });
    expect(read("db://team")).toMatchObject({ name: "main-2" });
    expect(read("/data")).toEqual({ kind: "folder", folder: join("/data", "main-1") });
  });

  test("is the folder that the host gives where the options name none", () => {
    const folder = join("/state", "memory", "memory-lancedb", "main-1");
    const given = { agentId: "main-1", folder, stateDir: join("/state") };
    expect(addressOf({ lance: {}, ...given })).toEqual({ kind: "folder", folder });
    const other = join("/data", "main-1");
    expect(addressOf({ lance: { dbPath: "/data" }, ...given })).toEqual({ kind: "folder", folder: other });
  });

  test.each(cases.refusedPaths as [string, string][])(
    "%s is refused, with the key and what to write",
    async (dbPath, message) => {
      const error = await errorOf((async () => read(dbPath))());
      expect(error).toMatchObject({ code: "CONFIG", message: expect.stringMatching(message) });
      expect(error.message).toContain(`${key}.dbPath`);
      expect(error.message).not.toContain("secret");
    },
  );

  test("has a safe name of its own for each agent", () => {
    for (const id of ["main", "work-2", "a.b_c", "x".repeat(64)]) expect(agentFolder(id)).toBe(id);
    const long = "x".repeat(200);
    const ids = ["..", ".", "a/b", "a\\b", "a b", "a:b", "-a", "", "笔记", "筆記", long, `${long}y`];
    const names = ids.map(agentFolder);
    for (const name of names) expect(name).toMatch(/^\w[\w.-]{0,95}$/);
    expect(new Set(names).size).toBe(ids.length);
  });
});

test("settings of a bucket are strings in any spelling, and override defaults that limit how long LanceDB waits", () => {
  const settingsOf = (storageOptions: object): object =>
    storageOptionsOf({ storageOptions: storageOptions as NonNullable<LanceOptions["storageOptions"]> });
  expect(settingsOf({})).toEqual(cases.waits);
  expect(
    settingsOf({ accessKeyId: "a", AWS_REGION: "b", client_max_retries: "9", connectTimeout: "1s" }),
  ).toMatchObject({ access_key_id: "a", aws_region: "b", client_max_retries: "9", connect_timeout: "1s" });
  const message = `${key}.storageOptions.secret_access_key must be a text; put quotation marks around it`;
  expect(() => settingsOf({ secret_access_key: 4711 })).toThrow(message);
});

describe("a folder", () => {
  test("is created for its owner alone, and keeps what is written", async () => {
    const stateDir = tempFolder();
    const place = await open({}, { stateDir });
    const folder = join(stateDir, "memory", "lancedb", "main");
    expect(place).toMatchObject({ kind: "folder", folder, location: folder, tablePrefix: "" });
    expect(place.leases).toBeUndefined();
    if (process.platform !== "win32") expect(statSync(folder).mode & 0o777).toBe(0o700);
    await place.connection.createTable("t", [{ x: 1 }]);
    const again = await open({}, { stateDir });
    expect(await again.connection.tableNames()).toEqual(["t"]);
  });

  test("is not created where nothing may be created", async () => {
    const stateDir = tempFolder();
    const place = await open({}, { stateDir, mayCreate: false });
    expect(await place.connection.tableNames()).toEqual([]);
    expect(existsSync(join(stateDir, "memory"))).toBe(false);
    expect(place.location).toBe(join(stateDir, "memory", "lancedb", "main"));
  });

  test("that cannot be created is UNAVAILABLE with its name and the next step", async () => {
    const taken = join(tempFolder({ taken: "" }), "taken");
    const error = await errorOf(open({ dbPath: taken }));
    expect(error).toMatchObject({ code: "UNAVAILABLE" });
    expect(error.message).toContain(join(taken, "main"));
    expect(error.message).toContain(`set ${key}.dbPath to another one`);
  });

  test("is closed after the calls that are under way", async () => {
    const stateDir = tempFolder();
    const place = await open({}, { stateDir });
    const table = await place.connection.createTable("t", [{ x: 1 }]);
    for (let round = 0; round < 20; round++) {
      const other = await open({}, { stateDir });
      const calls = Array.from({ length: 20 }, () => other.connection.openTable("t"));
      const names = other.connection.tableNames();
      await other.close();
      await Promise.allSettled([...calls, names]);
    }
    const counts = Array.from({ length: 50 }, () => table.countRows());
    await closeNative(table);
    await Promise.allSettled(counts);
    expect(table.isOpen()).toBe(false);
  });

  test("on a machine without a binary of LanceDB is an error that says what to do", () => {
    expect(libraryMessage(new Error("Cannot find module"), "darwin", "x64")).toBe(
      'LanceDB has no binary for darwin-x64; set plugins.slots.memory to "memory-core", or use another machine',
    );
    expect(libraryMessage(new Error("Cannot find module"), "linux", "x64")).toContain("install @lancedb/lancedb again");
  });
});

describe("a bucket", () => {
  test("that refuses to write a key twice is used, each agent below its own prefix, and nothing of the probe stays", async () => {
    const storage = await startStorage();
    const place = await open(inBucket(storage));
    expect(place).toMatchObject({ kind: "bucket", location: "s3://notes/team/main", tablePrefix: "" });
    const probes = storage.log.filter(({ method, path }) => method === "PUT" && path.includes("/_refs/tags/"));
    expect(probes.map(({ condition, status }) => [condition, status])).toEqual(cases.probes);
    expect(new Set(probes.map(({ path }) => path)).size, "the same key").toBe(1);
    const keys = storage.keys("notes", "");
    expect(keys.every((name) => name.startsWith("team/main/v2_leases.lance/"))).toBe(true);
    expect(keys.filter((name) => name.includes("/_refs/"))).toEqual([]);
    await place.connection.createTable("rows", [{ name: "of main" }]);
    const work = await open(inBucket(storage), { agentId: "work" });
    await open(inBucket(storage), { agentId: "work" });
    expect(storage.stats().refusedWrites, "each place is probed when it is made").toBe(2);
    expect(await work.connection.tableNames()).toEqual(["v2_leases"]);
    expect(work.location).toBe("s3://notes/team/work");
  });

  test.each(["ignored", "unsupported"] as const)(
    "whose conditional writes are %s is refused for writing: why, which one, and what to do",
    async (conditionalWrites) => {
      const storage = await startStorage({ conditionalWrites });
      const error = await errorOf(open(inBucket(storage)));
      expect(error.code).toBe("UNAVAILABLE");
      expect(error.message).toMatch(/^s3:\/\/notes\/team\/main at http:\/\/127\.0\.0\.1:\d+ has no conditional writes/);
      expect(error.message).toContain("commits to the index would be lost in silence");
      expect(error.message).toContain(`${key}.dbPath`);
      expect(storage.keys("notes", ""), "nothing stays in a bucket that is not used").toEqual([]);
    },
  );

  test("that is only read is neither probed nor written to, until a lease is taken", async () => {
    const storage = await startStorage({ conditionalWrites: "ignored" });
    const place = await open(inBucket(storage), { mayCreate: false });
    expect(await place.connection.tableNames()).toEqual([]);
    expect(await place.leases?.holder("files")).toBeUndefined();
    expect(storage.log.filter(({ method }) => method === "PUT")).toEqual([]);
    expect(await errorOf(place.leases?.acquire("files", "compacting") ?? Promise.resolve())).toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("has no conditional writes"),
    });
  });

  test("that refuses the keys, or does not exist, is named, and no key is in a message, a cause or a location", async () => {
    const secrets = cases.keys;
    const storage = await startStorage({ accessKeyId: "right", buckets: ["notes"] });
    const refused = await errorOf(open(inBucket(storage, { ...secrets, client_retry_timeout: "0" })));
    expect(refused.code).toBe("UNAVAILABLE");
    expect(refused.message).toMatch(/refuses access with these keys.*check plugins\.entries\.memory-lancedb\.config/);
    const { access_key_id: _wrong, ...more } = secrets;
    const place = await open(inBucket(storage, more));
    for (const text of [allTextOf(refused), place.location])
      for (const secret of Object.values(secrets))
        for (const written of [secret, encodeURIComponent(secret)]) expect(text).not.toContain(written);
    const missing = await errorOf(open({ ...inBucket(storage), dbPath: "s3://other/team" }));
    expect(missing.code).toBe("UNAVAILABLE");
    expect(missing.message).toMatch(
      /the bucket of s3:\/\/other\/team\/main .*does not exist; create it, or correct .*dbPath/,
    );
  });
});

describe("an error of LanceDB", () => {
  test.each(cases.errors as [string, string | null][])("%s is one of the kind %s", (message, fault) => {
    expect(faultOf(message)).toBe(fault ?? undefined);
  });

  test("that is not about the place stays as it is, without keys", async () => {
    const storageOptions = { sas_token: "sv=1&sig=abcdef", account_name: "acct" };
    const lance = { dbPath: "az://c", storageOptions };
    const errors = remoteErrors({
      name: "az://c",
      noun: "the bucket",
      place: "dbPath",
      keys: "storageOptions",
      lance,
    });
    const within = createWithin(errors);
    const plain = new Error("Table 'rows' was not found");
    expect(await errorOf(within("reading", 10_000, undefined, () => Promise.reject(plain)))).toBe(plain);
    const telling = new Error("no such file https://me:pw@host/c/f.lance?sv=1&sig=abcdef of acct");
    expect((await errorOf(within("reading", 10_000, undefined, () => Promise.reject(telling)))).message).toBe(
      "no such file https://(set)@host/c/f.lance of (set)",
    );
  });
});

describe("LanceDB Cloud", () => {
  const apiKey = "sk_cloud_0123456789";

  /** Answers as a host of LanceDB Cloud that knows no table: enough to see what it is asked, and with which key. */
  async function startCloud(status: number): Promise<{ url: string; requests: IncomingMessage[] }> {
    const requests: IncomingMessage[] = [];
    const server = createServer((request, response) => {
      requests.push(request);
      response.writeHead(status, { "content-type": "application/json" });
      response.end(status === 200 ? '{"tables":[]}' : '{"error":{"code":4,"detail":"no"}}');
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
  }

  test("gets the key in the header, and nowhere else", async () => {
    const cloud = await startCloud(404);
    const place = await open({ dbPath: "db://team", apiKey, hostOverride: cloud.url }, { mayCreate: false });
    expect(place).toMatchObject({ kind: "cloud", location: "db://team", tablePrefix: "main." });
    expect(await place.leases?.holder("files")).toBeUndefined();
    expect(cloud.requests.map(({ headers }) => headers["x-api-key"])).toContain(apiKey);
    expect(cloud.requests.every(({ url }) => !url?.includes(apiKey))).toBe(true);
    expect(cloud.requests.some(({ url }) => url?.includes("main.v2_leases"))).toBe(true);
  });

  test("that refuses the key, cannot be reached or lacks a setting is an error that names the setting", async () => {
    const { url } = await startCloud(401);
    const dbPath = "db://team";
    const refusal =
      /db:\/\/team at http:\/\/127.*refuses access.*check plugins\.entries\.memory-lancedb\.config\.apiKey/;
    for (const [lance, code, message] of [
      [{ dbPath, apiKey, hostOverride: url }, "UNAVAILABLE", refusal],
      [{ dbPath, apiKey, hostOverride: "http://127.0.0.1:1" }, "UNAVAILABLE", /cannot be reached/],
      [{ dbPath }, "CONFIG", /plugins\.entries\.memory-lancedb\.config\.apiKey is missing/],
      [{ dbPath, apiKey, hostOverride: "cloud" }, "CONFIG", /config\.hostOverride is not an address/],
    ] as const) {
      const error = await errorOf(open(lance));
      expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
      expect(allTextOf(error)).not.toContain(apiKey);
    }
  });
});
