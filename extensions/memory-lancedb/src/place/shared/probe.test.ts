import { expect, test } from "vitest";
import { errorOf, inBucket, open, startStorage } from "../../test/places.ts";

test("a bucket that refuses to write a key twice is used, and nothing of the probe stays", async () => {
  const storage = await startStorage();
  const place = await open(inBucket(storage));
  expect(place).toMatchObject({ kind: "bucket", location: "s3://notes/team/main", tablePrefix: "" });
  const probes = storage.log.filter(({ method, path }) => method === "PUT" && path.includes("/_refs/tags/"));
  expect(probes.map(({ condition, status }) => [condition, status])).toEqual([
    ["if-none-match: *", 200],
    ["if-none-match: *", 412],
  ]);
  expect(new Set(probes.map(({ path }) => path)).size, "the same key").toBe(1);
  const keys = storage.keys("notes", "");
  expect(keys.every((key) => key.startsWith("team/main/v2_leases.lance/"))).toBe(true);
  expect(keys.filter((key) => key.includes("/_refs/"))).toEqual([]);
});

test("each process that writes probes again", async () => {
  const storage = await startStorage();
  await open(inBucket(storage));
  const before = storage.stats().refusedWrites;
  await open(inBucket(storage));
  expect(storage.stats().refusedWrites).toBe(before + 1);
});

test.each(["ignored", "unsupported"] as const)(
  "a bucket whose conditions are %s is refused for writing: why, which one, and what to do",
  async (conditionalWrites) => {
    const storage = await startStorage({ conditionalWrites });
    const error = await errorOf(open(inBucket(storage)));
    expect(error.code).toBe("UNAVAILABLE");
    expect(error.message).toMatch(/^s3:\/\/notes\/team\/main at http:\/\/127\.0\.0\.1:\d+ has no conditional writes/);
    expect(error.message).toContain("commits to the index would be lost in silence");
    expect(error.message).toContain("plugins.entries.memory-lancedb.config.dbPath");
    expect(storage.keys("notes", ""), "nothing stays in a bucket that is not used").toEqual([]);
  },
);

test("who only looks probes nothing and writes nothing, until there is a lease to take", async () => {
  const storage = await startStorage({ conditionalWrites: "ignored" });
  const place = await open(inBucket(storage), { mayCreate: false });
  expect(await place.connection.tableNames()).toEqual([]);
  expect(await place.leases?.holder("files")).toBeUndefined();
  expect(storage.stats().methods["PUT"]).toBeUndefined();
  expect(await errorOf(place.leases?.acquire("files", "compacting") ?? Promise.resolve())).toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringContaining("has no conditional writes"),
  });
});
