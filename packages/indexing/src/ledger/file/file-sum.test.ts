import { copyFileSync, readFileSync, renameSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { fileOf, open, openHere, tempPath } from "../test/ledgers.ts";
import { compareWithSum } from "./file-sum.ts";

interface Sum {
  bytes: number;
  mtime: string;
  sum?: number;
  stamp?: string;
}

/** A ledger that was written and closed. */
async function written(): Promise<{ path: string; sum: () => Sum; set: (sum: Sum) => void }> {
  const path = tempPath();
  const writing = openHere(path);
  writing.replaceFiles([fileOf("a.md", ["one", "two"])]);
  writing.close();
  const place = `${path}-sum`;
  return {
    path,
    sum: () => JSON.parse(readFileSync(place, "utf8")) as Sum,
    set: (sum) => writeFileSync(place, JSON.stringify(sum)),
  };
}

test("until something happens to an index nobody reads its bytes to compare them", async () => {
  const { path, sum, set } = await written();
  // With a checksum that fits nothing it is seen whether the bytes are read.
  set({ ...sum(), sum: 1 });
  expect(compareWithSum(path)).toBe("same");
  expect(compareWithSum(path, { anew: true })).toBe("differs");
  utimesSync(path, new Date(), new Date());
  expect(compareWithSum(path)).toBe("differs");
});

test("a byte that changes right behind a write, under the same size and modification time, is found 50 times of 50", async () => {
  const { path, set, sum } = await written();
  for (let round = 0; round < 50; round++) {
    const { atime, mtime } = statSync(path);
    const bytes = readFileSync(path);
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    const before = sum();
    writeFileSync(path, bytes);
    utimesSync(path, atime, mtime);
    expect(compareWithSum(path), `round ${round}`).toBe("differs");
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    writeFileSync(path, bytes);
    set(before);
    // Restored: the same bytes at another time, which is recorded anew.
    expect(compareWithSum(path), `round ${round}`).toBe("same");
    expect(sum().stamp).not.toBe(before.stamp);
  }
});

test("a damaged copy that is moved into the place of an index is found", async () => {
  const { path } = await written();
  const copy = `${path}.copy`;
  copyFileSync(path, copy);
  const bytes = readFileSync(copy);
  bytes[4096] = (bytes[4096] ?? 0) ^ 1;
  writeFileSync(copy, bytes);
  const { atime, mtime } = statSync(path);
  utimesSync(copy, atime, mtime);
  renameSync(copy, path);
  expect(compareWithSum(path)).toBe("differs");
});

test("a check reads the bytes even where the file system tells of no change, and a repair makes the index anew", async () => {
  const { path, sum, set } = await written();
  const before = sum();
  const bytes = readFileSync(path);
  const at = bytes.lastIndexOf("two");
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(path, bytes);
  const { size, mtimeNs, ctimeNs, ino } = statSync(path, { bigint: true });
  set({ ...before, mtime: String(mtimeNs), stamp: `${size}:${mtimeNs}:${ctimeNs}:${ino}` });
  const ledger = await open(path);
  expect(((await ledger.upkeep?.check()) ?? []).filter(({ ok }) => !ok)).toEqual([
    { name: "database", ok: false, message: "its bytes are not those that were written" },
  ]);
  await ledger.upkeep?.repair();
  expect(ledger.health()).toMatchObject({ remade: 1 });
  expect(await ledger.listFiles()).toEqual([]);
});

test("who only reads leaves the record as it is", async () => {
  const { path, sum } = await written();
  const before = sum();
  const reading = openHere(path);
  expect(reading.listFiles()).toHaveLength(1);
  reading.close();
  expect(sum()).toEqual(before);
  expect(before.stamp).toBeDefined();
});
