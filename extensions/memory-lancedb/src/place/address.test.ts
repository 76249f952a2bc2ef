import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { LanceOptions } from "../options.ts";
import { type Address, addressOf, agentFolder } from "./address.ts";
import { storageOptionsOf } from "./shared/storage-options.ts";

function read(dbPath: string | undefined, agentId = "main"): Address {
  return addressOf({ lance: { dbPath }, agentId, stateDir: join("/state") });
}

describe("an address", () => {
  test("is a folder below the state folder where nothing is said", () => {
    const folder = join("/state", "memory", "lancedb", "main");
    expect(read(undefined)).toEqual({ kind: "folder", folder });
    expect(read("  ")).toEqual({ kind: "folder", folder });
  });

  test("is the folder that the host has for it where nothing is said, and only there", () => {
    const folder = join("/state", "memory", "memory-lancedb", "main-1");
    const given = { agentId: "main-1", folder, stateDir: join("/state") };
    expect(addressOf({ lance: {}, ...given })).toEqual({ kind: "folder", folder });
    const other = join("/data", "main-1");
    expect(addressOf({ lance: { dbPath: "/data" }, ...given })).toEqual({ kind: "folder", folder: other });
  });

  test("is a folder of this machine, each agent in one of its own", () => {
    expect(read("/data/index")).toEqual({ kind: "folder", folder: join("/data/index", "main") });
    expect(read("~/index", "work")).toEqual({ kind: "folder", folder: join(homedir(), "index", "work") });
    expect(read("~")).toEqual({ kind: "folder", folder: join(homedir(), "main") });
  });

  test("is a bucket, each agent below a prefix of its own", () => {
    expect(read("s3://notes")).toMatchObject({ kind: "bucket", scheme: "s3", bucket: "notes", uri: "s3://notes/main" });
    expect(read("S3://notes/a//b/", "work")).toMatchObject({ uri: "s3://notes/a/b/work" });
    expect(read("gs://notes/a")).toMatchObject({ scheme: "gs", uri: "gs://notes/a/main" });
    expect(read("az://container/a")).toMatchObject({ scheme: "az", uri: "az://container/a/main" });
  });

  test("is a project of LanceDB Cloud, each agent with a beginning of its own for its tables", () => {
    expect(read("db://team")).toEqual({ kind: "cloud", uri: "db://team", prefix: "main." });
  });

  test.each([
    ["notes/index", /is a relative path; write an absolute one/],
    ["s3://", /names no bucket; write s3:\/\/bucket/],
    ["s3:///prefix", /names no bucket/],
    ["s3+ddb://notes/a?ddbTableName=t", /must end before/],
    ["s3+ddb://notes/a", /must not begin with s3\+ddb:\/\/.*write s3:\/\/ in its place/],
    ["ftp://host/a", /begins with ftp:\/\/.*s3:\/\/, gs:\/\/, az:\/\/ or db:\/\//],
    ["s3://key:secret@notes/a", /must hold no name and no password/],
    ["s3://notes/a?region=x", /must end before/],
    ["s3://notes/../other", /must have no "\." and no "\.\."/],
    ["db://", /names no LanceDB Cloud project/],
    ["db://team/main", /must have nothing after the name of the project/],
  ])("%s is refused, with the key and what to write", (dbPath, message) => {
    let thrown: unknown;
    try {
      read(dbPath);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ code: "CONFIG", message: expect.stringMatching(message) });
    expect(String(thrown)).toContain("plugins.entries.memory-lancedb.config.dbPath");
    expect(String(thrown)).not.toContain("secret");
  });
});

describe("the name of an agent as a part of a path", () => {
  test("is the id where that is plain", () => {
    for (const id of ["main", "work-2", "a.b_c", "x".repeat(64)]) expect(agentFolder(id)).toBe(id);
  });

  test("is safe and still one for each agent where it is not", () => {
    const ids = [
      "..",
      ".",
      "a/b",
      "a\\b",
      "a b",
      "a:b",
      "-a",
      "",
      "笔记",
      "筆記",
      "x".repeat(200),
      `${"x".repeat(200)}y`,
    ];
    const names = ids.map(agentFolder);
    for (const name of names) expect(name).toMatch(/^\w[\w.-]{0,95}$/);
    expect(new Set(names).size).toBe(ids.length);
  });
});

describe("settings of a bucket", () => {
  const settingsOf = (storageOptions: LanceOptions["storageOptions"]): Record<string, string> =>
    storageOptionsOf({ storageOptions });

  test("take any spelling of a name, and go before ours", () => {
    const settings = settingsOf({ accessKeyId: "a", AWS_REGION: "b", client_max_retries: "9", connectTimeout: "1s" });
    expect(settings).toMatchObject({
      access_key_id: "a",
      aws_region: "b",
      client_max_retries: "9",
      connect_timeout: "1s",
    });
  });

  test("bound how long LanceDB waits, and leave out its throttle, which is slow for long after an outage", () => {
    expect(settingsOf({})).toEqual({
      connect_timeout: "3s",
      timeout: "15s",
      client_max_retries: "3",
      client_retry_timeout: "5",
      lance_aimd_max_retries: "0",
    });
  });

  test("must be texts", () => {
    const wrong = { secret_access_key: 4711 } as unknown as LanceOptions["storageOptions"];
    expect(() => settingsOf(wrong)).toThrow(
      "plugins.entries.memory-lancedb.config.storageOptions.secret_access_key must be a text; put quotation marks around it",
    );
  });
});
