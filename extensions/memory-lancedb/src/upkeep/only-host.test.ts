import type { ObjectStorage } from "@memslot/fakes/object-storage";
import { expect, test } from "vitest";
import { openIn, startStorage } from "../../test/support/buckets.ts";
import { fileOf, find } from "../../test/support/stores.ts";
import type { PlaceLeases } from "../place/place.ts";
import { onlyHost } from "./only-host.ts";
import { inBucket, open } from "../test/places.ts";

/** Parts that the table of files is kept in. */
async function partsOf(storage: ObjectStorage): Promise<number> {
  const { connection } = await open(inBucket(storage), { mayCreate: false });
  return (await (await connection.openTable("v2_files_1")).stats()).fragmentStats.numFragments;
}

test("of two hosts that have something to put together one does it, and what is left is done with the next write", async () => {
  const storage = await startStorage();
  const { leases } = await open(inBucket(storage));
  const host = await openIn(storage);
  expect(await leases?.acquire("compact", "another host")).toBe(true);
  for (let file = 0; file < 9; file++) await host.replaceFiles([fileOf(`${file}.md`, [`word ${file}`])]);
  await host.close();
  expect(await partsOf(storage), "nobody else has touched it").toBeGreaterThanOrEqual(9);

  await leases?.release("compact");
  const next = await openIn(storage);
  await next.replaceFiles([fileOf("last.md", ["word last"])]);
  await next.close();
  expect(await partsOf(storage)).toBe(1);
  expect(await leases?.holder("compact"), "it was given back").toBeUndefined();
  expect(await find(await openIn(storage), "word")).toHaveLength(10);
});

test("whoever asks for it waits for another host, and is told who that is where that takes too long", async () => {
  const storage = await startStorage();
  const { leases } = await open(inBucket(storage));
  const host = await openIn(storage, { tidying: { othersMs: 0 } });
  await host.replaceFiles([fileOf("a.md", ["word a"])]);
  await leases?.acquire("compact", "another host");
  await expect(host.compact()).rejects.toMatchObject({
    code: "BUSY",
    message: expect.stringMatching(
      new RegExp(`^process ${process.pid} on .+ is compacting the index s3://.+; try again`),
    ),
  });
  expect(await find(host, "word")).toEqual(["word a"]);
  await leases?.release("compact");
  await host.compact();
  expect(await leases?.holder("compact")).toBeUndefined();
});

test("it is asked for until it is free, and given back where the work fails", async () => {
  const calls: string[] = [];
  const refusals = [false, false, true, true];
  const leases: Partial<PlaceLeases> = {
    acquire: async () => {
      calls.push("acquire");
      return refusals.shift() ?? false;
    },
    release: async () => void calls.push("release"),
  };
  const asOnlyHost = onlyHost({ leases: leases as PlaceLeases, location: "here" });
  expect(await asOnlyHost(async () => void calls.push("work"))).toBe(false);
  expect(await asOnlyHost(async () => void calls.push("work"), 60_000)).toBe(true);
  const failing = asOnlyHost(async () => {
    throw new Error("no space left");
  });
  await expect(failing).rejects.toThrow("no space left");
  expect(calls).toEqual(["acquire", "acquire", "acquire", "work", "release", "acquire", "release"]);
});
