import type { BigIntStats } from "node:fs";
import { describe, expect, test } from "vitest";
import { type FileState, StampTrust, isLasting, stampOf } from "./file-state.ts";

const fat = 0x4d44;
const fuse = 0x65735546;
const ext4 = 0xef53;
const second = 1_000_000_000n;

function stats(change: Partial<Record<"size" | "mtimeNs" | "ctimeNs" | "ino" | "dev", bigint>> = {}): BigIntStats {
  const usual = { size: 3n, mtimeNs: 5n * second, ctimeNs: 5n * second, ino: 7n, dev: 1n };
  return { ...usual, ...change } as unknown as BigIntStats;
}

test("a stamp is another one after a change of the content, the times or the file", () => {
  const changes = [{}, { size: 4n }, { mtimeNs: 6n * second }, { ctimeNs: 5n * second + 1n }, { ino: 8n }];
  expect(new Set(changes.map((change) => stampOf(stats(change)))).size).toBe(changes.length);
  // The number of a disk may be another one after each start of the machine.
  expect(stampOf(stats({ dev: 2n }))).toBe(stampOf(stats()));
});

describe("whether a later change shows in a stamp", () => {
  const fine = stats({ ctimeNs: 5n * second + 123_456_789n });

  test.each([
    ["not of a file that was changed in this tick of the clock", fine, 5124, false, false],
    ["of one that was changed before", fine, 5400, false, true],
    ["not of one whose whole second may go on", stats(), 6500, false, false],
    ["of one of whole seconds after two of them", stats(), 7500, false, true],
    ["not of one from the future", fine, 1000, false, false],
    ["of one from the future that was found unchanged", fine, 1000, true, true],
  ])("%s", (_, file, nowMs, isUnchanged, expected) => {
    expect(isLasting(file, nowMs, isUnchanged)).toBe(expected);
  });
});

describe("a file system", () => {
  /** Of each file, seen in this order, whether its stamp is relied on. */
  function judged(type: number | undefined, ...files: BigIntStats[]): boolean[] {
    const trust = new StampTrust(() => type);
    const states = files.map((file): FileState => {
      const state = { mtimeMs: 0, size: 3 };
      trust.see(state, file, "/x");
      return state;
    });
    trust.judge();
    return states.map(
      (state, index) => state.stamp !== undefined && state.stamp === stampOf(files[index] ?? expect.fail()),
    );
  }

  test("with change times is believed", () => {
    expect(judged(ext4, stats())).toEqual([true]);
    expect(judged(undefined, stats())).toEqual([true]);
  });

  test("that gives no number or no change time is not", () => {
    expect(judged(ext4, stats({ ino: 0n }), stats({ ctimeNs: 0n }), stats())).toEqual([false, false, true]);
  });

  test("that shows another time in place of the change time is not", () => {
    expect(judged(fat, stats(), stats({ ctimeNs: 9n * second }))).toEqual([false, false]);
  });

  test("that hands on another one is believed once it has shown a change time of its own", () => {
    expect(judged(fuse, stats(), stats({ mtimeNs: 4n * second, ctimeNs: 4n * second }))).toEqual([false, false]);
    expect(judged(fuse, stats(), stats({ mtimeNs: 4n * second }))).toEqual([true, true]);
    // Another disk that is mounted below has to show its own.
    expect(judged(fuse, stats({ dev: 2n }), stats({ mtimeNs: 4n * second }))).toEqual([false, true]);
  });
});
