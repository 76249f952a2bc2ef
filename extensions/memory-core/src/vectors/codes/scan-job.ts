import type { Kernel } from "../kernel/kernel.ts";
import type { BlockMemory } from "../memory/block-memory.ts";
import type { OpenBlockMemory } from "../memory/open-block-memory.ts";
import type { BestSlots } from "./best-slots.ts";
import { questionCodes, writeSigns } from "./bit-thresholds.ts";
import type { CodeDirectory, SlotFilter } from "./code-directory.ts";
import type { BlockSlots, CodeTables } from "./code-tables.ts";
import { blockBytes, blockRows, checksumOf, differenceOf } from "./code-vector.ts";

/** Longer vectors do not fit into what a thread has of its own. */
export const longestWidth = 16_384;
/** What of a thread's own bytes is for what: the question, its bits, thresholds, and what comes out. */
const own = { question: 0, bits: 32_768, thresholds: 36_864, out: 53_248 } as const;

/** A block is not what was written. */
class DamagedCodes extends Error {}

/** A view of one space's blocks. */
export interface OpenScan {
  width: number;
  /** Bytes of the bits of a row; 0 where there are no bits. */
  bits: number;
  /** Whether codes are kept in memory, or only bits. */
  withCodes: boolean;
  blocks: OpenBlockMemory;
  kernel: Kernel;
  /** Where a thread's own things lie in memory. */
  places: Record<keyof typeof own, number>;
  /** What the kernel has written at `places.out`: one number for each row of a block. */
  scores: Float32Array;
  distances: Int32Array;
}

/** Views of the memory that stay what they are when it grows. */
export function openOwn(
  blocks: OpenBlockMemory,
  { memory }: BlockMemory,
): Pick<OpenScan, "places" | "scores" | "distances"> {
  const { at } = blocks.own;
  const places = {
    question: at + own.question,
    bits: at + own.bits,
    thresholds: at + own.thresholds,
    out: at + own.out,
  };
  const { buffer } = memory;
  return {
    places,
    scores: new Float32Array(buffer, places.out, blockRows),
    distances: new Int32Array(buffer, places.out, blockRows),
  };
}

export interface ScanJob extends OpenScan {
  directory: CodeDirectory;
  tables: CodeTables;
  filter: SlotFilter;
  /** The question. */
  numbers: Int16Array;
  best: BestSlots;
}

/** Puts what the kernel is asked with where it finds it. */
export function writeOwn({ blocks, bits, width, numbers, directory, places }: ScanJob, vector: Float32Array): void {
  blocks.bytes().set(new Uint8Array(numbers.buffer), places.question);
  const thresholds = directory.bits?.thresholds;
  if (bits === 0 || !thresholds) return;
  blocks.bytes().set(thresholds, places.thresholds);
  const asked = new Uint8Array(bits);
  writeSigns(questionCodes(differenceOf(vector, directory.mean), width), thresholds, asked);
  blocks.bytes().set(asked, places.bits);
}

/** The place of a block in memory until the next one is held, undefined where there is no room for it. */
export function hold(
  { blocks, directory, tables, kernel, width, bits, withCodes, places }: ScanJob,
  slots: BlockSlots,
): number | undefined {
  const name = { block: slots.block, sum: slots.sum ^ (bits > 0 ? (directory.bits?.sum ?? 0) : 0) };
  return blocks.hold(name, (at) => {
    const bytes = tables.codes(slots.block);
    const expected = blockBytes(width);
    if (bytes?.byteLength !== expected) throw new DamagedCodes(`block ${slots.block} of the codes has another length`);
    const memory = blocks.bytes();
    if (withCodes) {
      memory.set(bytes, at);
      if (kernel.checksum(at, expected) !== slots.sum) throw damagedBlock(slots.block);
    }
    if (bits === 0) return;
    const bitsAt = at + (withCodes ? expected : 0);
    memory.fill(0, bitsAt, bitsAt + blockRows * bits);
    if (withCodes) kernel.signs(at, places.thresholds, bitsAt, blockRows, width, bits);
    else writeBits(bytes, slots, { width, bits, thresholds: directory.bits?.thresholds }, memory.subarray(bitsAt));
  });
}

function damagedBlock(block: number): DamagedCodes {
  return new DamagedCodes(`block ${block} of the codes is not what was written`);
}

function writeBits(
  bytes: Buffer,
  { block, sum }: BlockSlots,
  { width, bits, thresholds }: { width: number; bits: number; thresholds: Int8Array | undefined },
  out: Uint8Array,
): void {
  const copy = new Uint8Array(bytes);
  if (checksumOf(copy) !== sum) throw damagedBlock(block);
  if (!thresholds) return;
  for (let row = 0; row < blockRows; row++)
    writeSigns(new Int8Array(copy.buffer, row * width, width), thresholds, out.subarray(row * bits, (row + 1) * bits));
}
