import { copyFileSync, readFileSync, renameSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { fileOf, open, openHere, tempPath } from "../test/ledgers.ts";
import { compareWithSum, lastingStamp } from "./file-sum.ts";

/** Longer than the clock of a file system may stand still. */
const tickMs = 60;

interface Sum {
  bytes: number;
  sum?: number;
  stamp?: string;
}

/** A ledger that was written, closed, and read by somebody who had to compare its bytes. */
async function lookedAt(): Promise<{ path: string; sum: () => Sum; set: (sum: Sum) => void }> {
  const path = await tempPath();
  const writing = openHere(path);
  writing.replaceFiles([fileOf("a.md", ["one", "two"])]);
  writing.close();
  await sleep(tickMs);
  openHere(path).close();
  const place = `${path}-sum`;
  return {
    path,
    sum: () => JSON.parse(readFileSync(place, "utf8")) as Sum,
    set: (sum) => writeFileSync(place, JSON.stringify(sum)),
  };
}

test("who reads an index compares its bytes once; until something happens to the file nobody does again", async () => {
  const { path, sum, set } = await lookedAt();
  expect(sum().stamp).toBe(lastingStamp(path));
  // With a checksum that fits nothing it is seen whether the bytes are read.
  set({ ...sum(), sum: 1 });
  expect(compareWithSum(path)).toBe("same");
  utimesSync(path, new Date(), new Date());
  expect(compareWithSum(path)).toBe("differs");
});

test("a byte that changes under the same size and modification time is found", async () => {
  const { path } = await lookedAt();
  const { atime, mtime } = statSync(path);
  const bytes = readFileSync(path);
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  await sleep(tickMs);
  writeFileSync(path, bytes);
  utimesSync(path, atime, mtime);
  expect(compareWithSum(path)).toBe("differs");
});

test("a damaged copy that is moved into the place of an index is found", async () => {
  const { path } = await lookedAt();
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
  const { path, sum, set } = await lookedAt();
  const bytes = readFileSync(path);
  const at = bytes.lastIndexOf("two");
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(path, bytes);
  await sleep(tickMs);
  set({ ...sum(), stamp: lastingStamp(path) ?? "" });
  const ledger = await open(path);
  expect(((await ledger.upkeep?.check()) ?? []).filter(({ ok }) => !ok)).toEqual([
    { name: "database", ok: false, message: "its bytes are not those that were written" },
  ]);
  await ledger.upkeep?.repair();
  expect(ledger.health()).toMatchObject({ remade: 1 });
  expect(await ledger.listFiles()).toEqual([]);
});

test("an index that was written a moment ago is not taken for one that nobody will touch", async () => {
  const { path, sum } = await lookedAt();
  const writing = openHere(path);
  writing.replaceFiles([fileOf("b.md", ["three"])]);
  writing.close();
  // However slow the machine is, no time goes by.
  vi.useFakeTimers({ toFake: ["Date"], now: statSync(path).ctimeMs });
  onTestFinished(() => void vi.useRealTimers());
  expect(lastingStamp(path)).toBeUndefined();
  expect(sum().stamp).toBeUndefined();
  openHere(path).close();
  expect(sum().stamp).toBeUndefined();
});

test("what happened to a file while it was open is not noted as read", async () => {
  const { path, sum, set } = await lookedAt();
  set({ ...sum(), stamp: "" });
  const reading = openHere(path);
  utimesSync(path, new Date(), new Date());
  reading.close();
  expect(sum().stamp).toBe("");
});
