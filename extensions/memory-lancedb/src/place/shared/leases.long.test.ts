import { hostname } from "node:os";
import type { ObjectStorage } from "@memslot/fakes/object-storage";
import type { IndexLeases } from "@memslot/indexing";
import { expect, test, vi } from "vitest";
import { type LeaseTiming, ExpiringLeases } from "./leases.ts";
import { createLeaseRows, createLeaseTable } from "./lease-table.ts";
import { startChild } from "@memslot/test-tools/child";
import { inBucket, open, startStorage } from "../../test/places.ts";

/** Long enough that nothing happens by itself. */
const calm: LeaseTiming = { expiryMs: 60_000, heartbeatMs: 60_000, reportMs: 60_000 };

async function leasesIn(storage: ObjectStorage, timing = calm): Promise<IndexLeases> {
  const { leases } = await open(inBucket(storage), { timing });
  return leases ?? expect.fail("a bucket has leases");
}

/** Leases with a clock of their own. */
async function leasesAt(storage: ObjectStorage, now: () => number, timing = calm): Promise<ExpiringLeases> {
  const { connection, within } = await open(inBucket(storage));
  const table = createLeaseTable({ connection, tableName: "v2_leases", placeName: "here", probes: false, within });
  return new ExpiringLeases(createLeaseRows(table, within, now), timing, now);
}

test("one holds it, and the others can read who that is", async () => {
  const storage = await startStorage();
  const [mine, theirs] = [await leasesIn(storage), await leasesIn(storage)];
  expect(await mine.acquire("files", 'it\'s a "sync" \\ 同步')).toBe(true);
  expect(await mine.acquire("files", "again")).toBe(true);
  expect(await theirs.acquire("files", "theirs")).toBe(false);
  expect(await theirs.holder("files")).toMatchObject({
    pid: process.pid,
    host: hostname(),
    reason: 'it\'s a "sync" \\ 同步',
  });
  expect(await theirs.acquire("build", "a rebuild"), "each is given by itself").toBe(true);
  await theirs.release("files");
  expect(await theirs.acquire("files", "theirs"), "nobody releases what he does not hold").toBe(false);
  await mine.release("files");
  expect(await theirs.holder("files")).toBeUndefined();
  expect(await theirs.acquire("files", "theirs")).toBe(true);
});

test("of many that ask at once one gets it, time after time", async () => {
  const storage = await startStorage();
  const all = await Promise.all(Array.from({ length: 4 }, () => leasesIn(storage)));
  for (let round = 0; round < 4; round++) {
    const given = await Promise.all(all.map((each) => each.acquire("build", `round ${round}`)));
    expect(given.filter(Boolean), given.join()).toHaveLength(1);
    await all[given.indexOf(true)]?.release("build");
  }
});

test("what a place holds ends when it is closed", async () => {
  const storage = await startStorage();
  const place = await open(inBucket(storage));
  expect(await place.leases?.acquire("files", "before")).toBe(true);
  expect(await place.leases?.acquire("build", "before")).toBe(true);
  await place.close();
  const theirs = await leasesIn(storage);
  expect(await theirs.acquire("files", "after")).toBe(true);
  expect(await theirs.acquire("build", "after")).toBe(true);
});

test("how far the holder of the build is can be read, and what was told last is not lost", async () => {
  const storage = await startStorage();
  const mine = await leasesIn(storage, { ...calm, reportMs: 50 });
  const theirs = await leasesIn(storage);
  await mine.acquire("build", "a rebuild");
  for (let completed = 1; completed <= 20; completed++)
    await mine.report({ completed, total: 20, label: `笔记 ${completed}` });
  await vi.waitFor(
    async () => expect(await theirs.holder("build")).toMatchObject({ completed: 20, total: 20, label: "笔记 20" }),
    { timeout: 20_000 },
  );
  await mine.release("build");
  await theirs.acquire("build", "another");
  expect((await mine.holder("build"))?.completed).toBeUndefined();
});

test("a lease of a process that was killed is free when its time is over", async () => {
  const storage = await startStorage();
  const timing = { expiryMs: 3_000, heartbeatMs: 500, reportMs: 500 };
  const child = startChild(new URL("../../test/hold-lease.ts", import.meta.url), [
    JSON.stringify(inBucket(storage)),
    JSON.stringify(timing),
  ]);
  expect(await child.line("held")).toBe("held true");
  const mine = await leasesIn(storage, timing);
  expect(await mine.acquire("files", "mine")).toBe(false);
  expect((await mine.holder("files"))?.pid).toBe(child.process.pid);
  child.process.kill("SIGKILL");
  await child.ended;
  await vi.waitFor(async () => expect(await mine.acquire("files", "mine")).toBe(true), {
    timeout: 30_000,
    interval: 100,
  });
  expect(await mine.holder("files")).toMatchObject({ pid: process.pid, reason: "mine" });
});

test("a holder that says that it is alive keeps its lease, one that does not loses it and knows", async () => {
  const storage = await startStorage();
  let time = 1_800_000_000_000;
  const beating = { ...calm, heartbeatMs: 20 };
  const mine = await leasesAt(storage, () => time, beating);
  const theirs = await leasesAt(storage, () => time);
  expect(await mine.acquire("files", "mine")).toBe(true);
  // Each step is less than the expiry; together they are more.
  for (let step = 0; step < 3; step++) {
    time += 40_000;
    const writes = storage.stats().conditionalWrites;
    await vi.waitFor(() => expect(storage.stats().conditionalWrites).toBeGreaterThan(writes + 1), { timeout: 20_000 });
  }
  expect(await theirs.acquire("files", "theirs")).toBe(false);

  storage.down("refuse");
  time += 61_000;
  await vi.waitFor(async () => expect(await mine.holder("files").catch(() => "lost")).toBe("lost"), {
    timeout: 50_000,
  });
  storage.up();
  expect(await theirs.acquire("files", "theirs")).toBe(true);
  expect(await mine.acquire("files", "mine again")).toBe(false);
  await mine.close();
});

test("who asks again and again does not ask the bucket each time", async () => {
  const storage = await startStorage();
  const [mine, theirs] = [await leasesIn(storage), await leasesIn(storage)];
  await mine.acquire("files", "mine");
  for (let times = 0; times < 10; times++) await theirs.acquire("files", "theirs");
  const before = storage.stats().requests;
  for (let times = 0; times < 200; times++) expect(await theirs.acquire("files", "theirs")).toBe(false);
  expect(storage.stats().requests - before).toBeLessThan(100);
  await mine.release("files");
  await vi.waitFor(async () => expect(await theirs.acquire("files", "theirs")).toBe(true), { timeout: 10_000 });
});

test("old versions of the table do not pile up", async () => {
  const storage = await startStorage();
  let time = Date.now();
  // Twenty minutes ahead: what is there is old.
  const leases = await leasesAt(storage, () => time + 1_200_000);
  for (let times = 0; times < 70; times++) {
    await leases.acquire("files", "again");
    await leases.release("files");
    time += 1000;
  }
  const versions = storage.keys("notes", "team/main/leases.lance/_versions/");
  expect(versions.length).toBeLessThan(80);
});

test("leases go on when somebody has deleted the index", async () => {
  const storage = await startStorage();
  const mine = await leasesIn(storage);
  expect(await mine.acquire("files", "before")).toBe(true);
  await mine.release("files");
  const { connection } = await open(inBucket(storage));
  await connection.dropTable("leases");
  expect(await mine.holder("files")).toBeUndefined();
  expect(await mine.acquire("files", "after")).toBe(true);
});
