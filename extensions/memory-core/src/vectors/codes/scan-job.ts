import type { Kernel } from "../kernel/kernel.ts";
import type { BlockMemory } from "../memory/block-memory.ts";
import type { OpenBlockMemory } from "../memory/open-block-memory.ts";
import type { BestSlots } from "./best-slots.ts";
import type { BitBlocks } from "./bit-blocks.ts";
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
  /** Whether codes are kept in memory, behind the bits of their block, or only bits. */
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

/** What is laid out of a generation. */
export interface LaidOut {
  directory: CodeDirectory;
  tables: CodeTables;
  /** Undefined where none are stored. */
  storedBits: BitBlocks | undefined;
}

/** What blocks are read with. */
export interface BlockJob extends OpenScan, LaidOut {}

export interface ScanJob extends BlockJob {
  filter: SlotFilter;
  /** The question. */
  numbers: Int16Array;
  best: BestSlots;
  /** Blocks whose codes may still be read for this search. */
  mayRead: number;
}

/** Puts what the kernel is asked with where it finds it. */
export function writeOwn(job: ScanJob, vector: Float32Array): void {
  const { blocks, bits, width, numbers, directory, places } = job;
  blocks.bytes().set(new Uint8Array(numbers.buffer), places.question);
  const thresholds = writeThresholds(job);
  if (bits === 0 || !thresholds) return;
  const asked = new Uint8Array(bits);
  writeSigns(questionCodes(differenceOf(vector, directory.mean), width), thresholds, asked);
  blocks.bytes().set(asked, places.bits);
}

/** Puts what bits are made with where the kernel finds it, and gives it. */
export function writeThresholds({ blocks, directory, places }: BlockJob): Int8Array | undefined {
  const thresholds = directory.bits?.thresholds;
  if (thresholds) blocks.bytes().set(thresholds, places.thresholds);
  return thresholds;
}

/**
 * The place of a block in memory until the next one is held, undefined where there is no room for it: its bits, and
 * behind them its codes, which may be still to be read.
 */
export function hold(job: BlockJob, slots: BlockSlots): number | undefined {
  const { blocks, directory, bits, withCodes } = job;
  const thresholdsSum = bits > 0 ? (directory.bits?.sum ?? 0) : 0;
  return blocks.hold({ block: slots.block, sum: slots.sum ^ thresholdsSum }, (at) => {
    if (bits === 0) loadCodes(job, slots, at);
    else if (loadBits(job, slots, { at, thresholdsSum })) return false;
    else if (withCodes) makeBits(job, slots, at);
    else makeBitsAlone(job, slots, at);
    return true;
  });
}

/** The place of the codes of a block, which are read where they are not there yet. */
export function holdCodes(job: BlockJob, slots: BlockSlots): number | undefined {
  const at = hold(job, slots);
  if (at !== undefined && !job.blocks.isWhole()) job.blocks.complete(() => loadCodes(job, slots, at));
  return at === undefined ? undefined : at + bitBytes(job);
}

/** Bytes of the bits of a block. */
function bitBytes({ bits }: Pick<OpenScan, "bits">): number {
  return blockRows * bits;
}

function loadCodes(job: BlockJob, slots: BlockSlots, at: number): void {
  const codesAt = at + bitBytes(job);
  const bytes = codesOf(job, slots);
  job.blocks.bytes().set(bytes, codesAt);
  if (job.kernel.checksum(codesAt, bytes.byteLength) !== slots.sum) throw damagedBlock(slots.block);
}

function codesOf({ tables, width }: BlockJob, { block }: BlockSlots): Buffer {
  const bytes = tables.codes(block);
  if (bytes?.byteLength !== blockBytes(width)) throw new DamagedCodes(`block ${block} of the codes has another length`);
  return bytes;
}

/** Bits as they are stored. False where there are none. */
function loadBits(
  job: BlockJob,
  slots: BlockSlots,
  { at, thresholdsSum }: { at: number; thresholdsSum: number },
): boolean {
  const stored = job.storedBits?.find({ block: slots.block, codesSum: slots.sum, thresholdsSum });
  if (stored === undefined) return false;
  const bytes = bitBytes(job);
  if (stored.bits.byteLength !== bytes) throw damagedBlock(slots.block);
  job.blocks.bytes().set(stored.bits, at);
  if (job.kernel.checksum(at, bytes) !== stored.sum) throw damagedBlock(slots.block);
  return true;
}

/** Codes, and bits of them. */
function makeBits(job: BlockJob, slots: BlockSlots, at: number): void {
  const { blocks, kernel, width, bits, places } = job;
  loadCodes(job, slots, at);
  blocks.bytes().fill(0, at, at + bitBytes(job));
  kernel.signs(at + bitBytes(job), places.thresholds, at, blockRows, width, bits);
}

/** Bits of codes that are not kept. */
function makeBitsAlone(job: BlockJob, slots: BlockSlots, at: number): void {
  const { blocks, directory, width, bits } = job;
  const copy = new Uint8Array(codesOf(job, slots));
  if (checksumOf(copy) !== slots.sum) throw damagedBlock(slots.block);
  const out = blocks
    .bytes()
    .subarray(at, at + bitBytes(job))
    .fill(0);
  const thresholds = directory.bits?.thresholds;
  if (!thresholds) return;
  for (let row = 0; row < blockRows; row++)
    writeSigns(new Int8Array(copy.buffer, row * width, width), thresholds, out.subarray(row * bits, (row + 1) * bits));
}

function damagedBlock(block: number): DamagedCodes {
  return new DamagedCodes(`block ${block} of the codes is not what was written`);
}
