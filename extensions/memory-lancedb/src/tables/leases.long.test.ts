import { eventually } from "@memslot/test-tools/wait";
import { expect, test } from "vitest";
import { inBucket, startStorage } from "../../test/support/stores.ts";
import { calm, errorOf, leasesIn, open } from "../test/places.ts";

test("a bucket that does not answer: the deadline ends the call, an abort ends it at once", async () => {
  const storage = await startStorage();
  const place = await open(inBucket(storage));
  const table = await place.connection.createTable("rows", [{ name: "first" }]);
  storage.down("hang");
  const error = await errorOf(place.within("counting rows", 200, undefined, () => table.checkoutLatest()));
  expect(error.code).toBe("UNAVAILABLE");
  expect(error.message).toMatch(/^counting rows in s3:\/\/.* did not answer within 0\.2 s; check the network/);
  const controller = new AbortController();
  const asked = storage.stats().requests;
  const call = errorOf(place.within("counting rows", 60_000, controller.signal, () => table.checkoutLatest()));
  await eventually(() => storage.stats().requests > asked);
  controller.abort();
  expect((await call).name).toBe("AbortError");
  storage.up();
  expect(await place.within("counting rows", 30_000, undefined, () => table.countRows())).toBe(1);
});

test("the progress of the host that rebuilds can be read, and what it reported last is not lost", async () => {
  const storage = await startStorage();
  const mine = await leasesIn(storage, { timing: { ...calm, heartbeatMs: 50 } });
  const theirs = await leasesIn(storage);
  await mine.acquire("build", "a rebuild");
  for (let completed = 1; completed <= 20; completed++)
    await mine.report({ completed, total: 20, label: `笔记 ${completed}` });
  await eventually(async () => (await theirs.holder("build"))?.completed === 20);
  expect(await theirs.holder("build")).toMatchObject({ total: 20, label: "笔记 20" });
  await mine.release("build");
  await theirs.acquire("build", "another");
  expect((await mine.holder("build"))?.completed).toBeUndefined();
});

test("a holder that renews its lease keeps it, one that cannot loses it and knows", async () => {
  const storage = await startStorage();
  let time = 1_800_000_000_000;
  const mine = await leasesIn(storage, { now: () => time, timing: { ...calm, heartbeatMs: 20 } });
  const theirs = await leasesIn(storage, { now: () => time });
  expect(await mine.acquire("files", "mine")).toBe(true);
  // Each step is less than the expiry; together they are more.
  for (let step = 0; step < 3; step++) {
    time += 40_000;
    const writes = storage.stats().conditionalWrites;
    await eventually(() => storage.stats().conditionalWrites > writes + 1);
  }
  expect(await theirs.acquire("files", "theirs")).toBe(false);

  storage.down("refuse");
  time += 61_000;
  await eventually(async () => (await mine.holder("files").catch(() => "lost")) === "lost");
  storage.up();
  expect(await theirs.acquire("files", "theirs")).toBe(true);
  expect(await mine.acquire("files", "mine again")).toBe(false);
  await mine.close();
});

test("old versions of the table of leases are deleted", { timeout: 300_000 }, async () => {
  const storage = await startStorage();
  let time = Date.now();
  // Twenty minutes ahead: what is there is old.
  const leases = await leasesIn(storage, { now: () => time + 1_200_000 });
  for (let times = 0; times < 70; times++) {
    await leases.acquire("files", "again");
    await leases.release("files");
    time += 1000;
  }
  const versions = storage.keys("notes", "team/main/v2_leases.lance/_versions/");
  expect(versions.length).toBeGreaterThan(0);
  expect(versions.length).toBeLessThan(100);
});
