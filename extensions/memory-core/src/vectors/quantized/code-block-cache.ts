import { type Kernel, openKernel } from "../kernel/kernel.ts";
import type { BitBlocks } from "./bit-blocks.ts";
import type { CodeDirectory } from "./block-directory.ts";
import type { BlockSlots, CodeTables } from "./code-tables.ts";
import { blockBytes, blockRows, differenceOf, encodeQuestion, questionCodes } from "./quantize-vector.ts";

export const longestWidth = 16_384;
/** Layout of the first bytes of the memory: query, bits, thresholds, results. */
export const places = { question: 0, bits: 32_768, thresholds: 36_864, out: 53_248 } as const;
/** Scratch block for codes that are not cached. Regions of blocks follow. */
const spareBlock = 65_536;

export interface LaidOut {
  directory: CodeDirectory;
  tables: CodeTables;
  storedBits: BitBlocks | undefined;
}

interface Shape {
  width: number;
  bits: number;
  withCodes: boolean;
}

export interface CodeBlocks extends Shape {
  kernel: Kernel;
  scores: Float32Array;
  distances: Int32Array;
  begin(laidOut: LaidOut): void;
  ask(vector: Float32Array): Int16Array;
  /** The place of a block, valid until the next call: bits, then codes, possibly unread. Throws if it is damaged. */
  hold(slots: BlockSlots): number;
  holdCodes(slots: BlockSlots): number;
  isWhole(): boolean;
}

interface Region {
  at: number;
  block: number;
  sum: number | undefined;
  isWhole: boolean;
  usedBy: number;
}

export function openCodeBlocks(shape: Shape, limitBytes: number): CodeBlocks {
  const { width, bits, withCodes } = shape;
  const bitBytes = blockRows * bits;
  const regionBytes = bitBytes + (withCodes ? blockBytes(width) : 0);
  const firstRegion = spareBlock + blockBytes(width);
  const capacity = Math.max(1, Math.floor(limitBytes / regionBytes));
  const kernel = openKernel(firstRegion + regionBytes, firstRegion + capacity * regionBytes);
  const { buffer } = kernel.bytes();
  const regions = new Map<number, Region>();
  let held: Region | undefined;
  let search = 0;
  let laidOut: LaidOut;

  function regionFor(block: number): Region {
    const at = firstRegion + regions.size * regionBytes;
    const [oldest] = regions.values();
    if (oldest === undefined || (regions.size < capacity && kernel.grow(at + regionBytes)))
      return { at, block, sum: undefined, isWhole: false, usedBy: 0 };
    // Of blocks all used by this search, keep the first: the next search begins with them.
    const given = oldest.usedBy < search ? oldest : (held ?? oldest);
    regions.delete(given.block);
    return { ...given, block, sum: undefined, usedBy: 0 };
  }

  function hold(slots: BlockSlots): number {
    const sum = slots.sum ^ thresholdsSum();
    const region = regions.get(slots.block) ?? regionFor(slots.block);
    if (region.usedBy !== search) {
      regions.delete(region.block);
      regions.set(region.block, region);
      region.usedBy = search;
    }
    held = region;
    if (region.sum === sum) return region.at;
    region.sum = undefined;
    region.isWhole = load(slots, region.at);
    region.sum = sum;
    return region.at;
  }

  function thresholdsSum(): number {
    return bits > 0 ? (laidOut.directory.bits?.sum ?? 0) : 0;
  }

  function load(slots: BlockSlots, at: number): boolean {
    if (bits > 0 && loadBits(slots, at)) return false;
    const codesAt = withCodes ? at + bitBytes : spareBlock;
    loadCodes(slots, codesAt);
    kernel.bytes().fill(0, at, at + bitBytes);
    if (bits > 0) kernel.signs(codesAt, places.thresholds, at, blockRows, width, bits);
    return true;
  }

  function loadCodes(slots: BlockSlots, at: number): void {
    put(laidOut.tables.codes(slots.block), slots, { at, bytes: blockBytes(width), sum: slots.sum });
  }

  function loadBits(slots: BlockSlots, at: number): boolean {
    const madeOf = { block: slots.block, codesSum: slots.sum, thresholdsSum: thresholdsSum() };
    const stored = laidOut.storedBits?.find(madeOf);
    if (stored) put(stored.bits, slots, { at, bytes: bitBytes, sum: stored.sum });
    return stored !== undefined;
  }

  function put(
    read: Buffer | undefined,
    { block }: BlockSlots,
    wanted: { at: number; bytes: number; sum: number },
  ): void {
    if (read?.byteLength !== wanted.bytes) throw new Error(`block ${block} of the codes has another length`);
    kernel.bytes().set(read, wanted.at);
    if (kernel.checksum(wanted.at, wanted.bytes) !== wanted.sum)
      throw new Error(`block ${block} of the codes is not what was written`);
  }

  return {
    ...shape,
    kernel,
    scores: new Float32Array(buffer, places.out, blockRows),
    distances: new Int32Array(buffer, places.out, blockRows),
    begin(given) {
      laidOut = given;
      search++;
      const thresholds = given.directory.bits?.thresholds;
      if (bits > 0 && thresholds) kernel.bytes().set(thresholds, places.thresholds);
    },
    ask(vector) {
      const { numbers } = encodeQuestion(vector);
      kernel.bytes().set(new Uint8Array(numbers.buffer), places.question);
      if (bits === 0) return numbers;
      kernel.bytes().set(questionCodes(differenceOf(vector, laidOut.directory.mean), width), spareBlock);
      kernel.bytes().fill(0, places.bits, places.bits + bits);
      kernel.signs(spareBlock, places.thresholds, places.bits, 1, width, bits);
      return numbers;
    },
    hold,
    holdCodes(slots) {
      const at = hold(slots) + bitBytes;
      if (held && !held.isWhole) {
        loadCodes(slots, at);
        held.isWhole = true;
      }
      return at;
    },
    isWhole: () => held?.isWhole === true,
  };
}
