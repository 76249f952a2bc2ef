import { type ObjectStorage, startObjectStorage } from "@memslot/fakes/object-storage";
import { leasesConformance } from "@memslot/testkit";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { fileOf, find, inBucket, openIn, sha256, startStorage } from "../../test/support/stores.ts";
import { calm, leasesIn, open } from "../test/places.ts";
import { onlyHost } from "../upkeep/compaction.ts";

describe("in a bucket", () => {
  let storage: ObjectStorage;
  beforeAll(async () => void (storage = await startObjectStorage()));
  afterAll(() => storage.stop());
  const at = (folder: string) => ({ ...inBucket(storage), dbPath: `s3://notes/${sha256(folder)}` });
  leasesConformance({ describe, test }, { open: async (folder) => (await open(at(folder))).leases ?? expect.fail() });
});

test("a lease that its holder has not renewed in time is free, and one that is just within it is not", async () => {
  const storage = await startStorage();
  let time = 1_800_000_000_000;
  const [mine, theirs] = [await leasesIn(storage, { now: () => time }), await leasesIn(storage, { now: () => time })];
  expect(await mine.acquire("files", "mine")).toBe(true);
  time += calm.expiryMs;
  expect(await theirs.acquire("files", "theirs")).toBe(false);
  expect([mine.slept("files"), mine.slept("build")]).toEqual([undefined, undefined]);
  time += 1000;
  expect(await theirs.acquire("files", "theirs")).toBe(true);
  expect(mine.slept("files"), "so it was asleep").toBe(calm.expiryMs + 1000);
  await mine.release("files");
  expect(mine.slept("files")).toBeUndefined();
});

test("hosts that create the table of leases at the same moment all use it", async () => {
  const storage = await startStorage();
  const hosts = await Promise.all(Array.from({ length: 3 }, () => open(inBucket(storage), { mayCreate: false })));
  const { connection } = hosts[0] ?? expect.fail();
  const make = connection.createEmptyTable.bind(connection);
  let refused = 0;
  vi.spyOn(connection, "createEmptyTable").mockImplementation(async (...given: Parameters<typeof make>) => {
    const table = await make(...given);
    // The error of LanceDB for the later one of two hosts that create a table.
    if (refused++ < 2)
      throw new Error("lance error: Retryable commit conflict for version 2: preempted. Please retry.");
    return table;
  });
  await Promise.all(hosts.map(({ leases }) => leases?.prepare()));
  const given = await Promise.all(hosts.map(({ leases }) => leases?.acquire("compact", "compacting")));
  expect(given.filter(Boolean)).toHaveLength(1);
});

test("leases continue when the index was deleted", async () => {
  const storage = await startStorage();
  const mine = await leasesIn(storage);
  expect(await mine.acquire("files", "before")).toBe(true);
  await mine.release("files");
  await (await open(inBucket(storage))).connection.dropTable("v2_leases");
  expect(await mine.holder("files")).toBeUndefined();
  expect(await mine.acquire("files", "after")).toBe(true);
});

/** Parts that the table of files is kept in. */
async function partsOf(storage: ObjectStorage): Promise<number> {
  const { connection } = await open(inBucket(storage), { mayCreate: false });
  return (await (await connection.openTable("v2_files_1")).stats()).fragmentStats.numFragments;
}

test("only one of several hosts compacts, and what is left is done with the next write", async () => {
  const storage = await startStorage();
  const { leases } = await open(inBucket(storage));
  const host = await openIn(storage, { tidying: { othersMs: 0 } });
  expect(await leases?.acquire("compact", "another host")).toBe(true);
  for (let file = 0; file < 9; file++) await host.replaceFiles([fileOf(`${file}.md`, [`word ${file}`])]);
  const message = new RegExp(`^process ${process.pid} on .+ is compacting the index s3://.+; try again`);
  await expect(host.compact()).rejects.toMatchObject({ code: "BUSY", message: expect.stringMatching(message) });
  await host.close();
  expect(await partsOf(storage), "no other host has compacted it").toBeGreaterThanOrEqual(9);

  await leases?.release("compact");
  const next = await openIn(storage);
  await next.replaceFiles([fileOf("last.md", ["word last"])]);
  await next.close();
  expect(await partsOf(storage)).toBe(1);
  expect(await leases?.holder("compact"), "it was released").toBeUndefined();
  expect(await find(await openIn(storage), "word")).toHaveLength(10);
});

test("the lease for compacting is asked for until it is free, and released where the work fails", async () => {
  const calls: string[] = [];
  const refusals = [false, false, true, true];
  const leases = {
    acquire: async () => calls.push("acquire") > 0 && (refusals.shift() ?? false),
    release: async () => void calls.push("release"),
    holder: async () => undefined,
  };
  const asOnlyHost = onlyHost(leases, "here");
  expect(await asOnlyHost(async () => void calls.push("work"))).toBe(false);
  expect(await asOnlyHost(async () => void calls.push("work"), 60_000)).toBe(true);
  const failing = asOnlyHost(() => Promise.reject(new Error("no space left")));
  await expect(failing).rejects.toThrow("no space left");
  expect(calls).toEqual(["acquire", "acquire", "acquire", "work", "release", "acquire", "release"]);
});
