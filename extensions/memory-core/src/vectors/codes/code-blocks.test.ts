import { expect, test } from "vitest";
import { openCodeBlocks } from "./code-blocks.ts";
import type { CodeTables } from "./code-tables.ts";
import { blockBytes, blockRows, checksumOf } from "./code-vector.ts";

const width = 16;
const roomFor = 3;

/** Blocks whose codes all have one value, at first the number of the block. Lists the blocks that were read. */
function opened() {
  let reads: number[] = [];
  const numbers = new Map<number, number>();
  const isBad = new Set<number>();
  const numberOf = (block: number): number => numbers.get(block) ?? block;
  const codesOf = (number: number): Buffer => Buffer.alloc(blockBytes(width), number);
  const tables = {
    codes(block: number) {
      reads.push(block);
      return codesOf(isBad.has(block) ? 99 : numberOf(block));
    },
  } as CodeTables;
  const directory = { blocks: [], tail: [], mean: undefined, bits: undefined };
  const blocks = openCodeBlocks({ width, bits: 0, withCodes: true }, roomFor * blockBytes(width));
  const none = new Int32Array(0);
  const hold = (block: number): void => {
    const slots = { block, source: "memory", version: 1, ids: none, files: none };
    const at = blocks.holdCodes({ ...slots, sum: checksumOf(new Uint8Array(codesOf(numberOf(block)))) });
    expect(blocks.kernel.bytes().subarray(at, at + blockRows * width)).toEqual(
      new Uint8Array(blockRows * width).fill(numberOf(block)),
    );
  };
  return {
    numbers,
    isBad,
    /** A search that uses these blocks. Returns those that were read for it. */
    search(...used: number[]): number[] {
      reads = [];
      blocks.begin({ directory, tables, storedBits: undefined });
      for (const block of used) hold(block);
      return reads;
    },
  };
}

test("blocks are kept up to the limit, and the one that was used longest ago gives way", () => {
  const { search } = opened();
  expect([search(1, 2, 3), search(3, 2, 1), search(1, 3)]).toEqual([[1, 2, 3], [], []]);
  expect(search(4)).toEqual([4]);
  expect([search(1, 3, 4), search(2)]).toEqual([[], [2]]);
});

test("of more blocks than there is room for, a search finds the first ones of the last search", () => {
  const { search } = opened();
  expect(search(1, 2, 3, 4, 5, 6)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(search(1, 2, 3, 4, 5, 6)).toHaveLength(4);
});

test("a block that could not be read is read again, also if it is what it was before", () => {
  const { search, numbers, isBad } = opened();
  expect(search(1, 2)).toEqual([1, 2]);
  numbers.set(2, 7);
  isBad.add(2);
  expect(() => search(1, 2)).toThrow("block 2 of the codes is not what was written");
  numbers.clear();
  isBad.clear();
  expect([search(1, 2), search(1, 2)]).toEqual([[2], []]);
});
