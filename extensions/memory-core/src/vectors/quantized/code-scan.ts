import { openKernel } from "../kernel/kernel.ts";
import { createBestSlots, type BestSlots } from "./best-scores.ts";
import { depthFor } from "./choose-bits.ts";
import { type CodeBlocks, type LaidOut, longestWidth, openCodeBlocks, places } from "./code-block-cache.ts";
import { countRows, type SlotFilter } from "./block-directory.ts";
import type { BlockSlots } from "./code-tables.ts";
import { bitWidth, blockBytes, blockRows, codeWidth, productOf } from "./quantize-vector.ts";

const mebibyte = 1024 * 1024;
/** Maximum blocks whose codes a search reads, to bound its time. The first search of a process reads none. */
const readAtOnce = 32;
/** Maximum candidates from bits if codes are not in memory. */
const proposedByBits = 1024;

interface ScanQuery {
  vector: Float32Array;
  filter: SlotFilter;
  limit: number;
}

/** Compares a query with all vector codes, in WebAssembly. */
export interface CodeScan {
  /** Chunks with the nearest codes, filtered before the limit. Throws if damaged. Undefined if inconclusive. */
  nearest(laidOut: LaidOut, query: ScanQuery): number[] | undefined;
  /** Reads some skipped codes. Throws if damaged. Returns the next position; undefined: complete, or not cached. */
  readMore(laidOut: LaidOut, from: number): number | undefined;
}

/** Throws if the host has no WebAssembly with SIMD. */
export function createCodeScan(memoryMB: number): CodeScan {
  const limitBytes = memoryMB * mebibyte;
  let opened: { key: string; blocks: CodeBlocks } | undefined;
  let searches = 0;
  openKernel(1);

  function open(width: number, bits: number, count: number): CodeBlocks {
    const withCodes = bits === 0 || (count / blockRows) * (blockBytes(width) + blockRows * bits) <= limitBytes;
    const key = `${width} ${bits} ${withCodes}`;
    if (opened?.key === key) return opened.blocks;
    const blocks = openCodeBlocks({ width, bits, withCodes }, limitBytes);
    opened = { key, blocks };
    searches = 0;
    return blocks;
  }

  return {
    nearest(laidOut, { vector, filter, limit }) {
      const { directory } = laidOut;
      const width = codeWidth(vector.length);
      if (width > longestWidth) return undefined;
      const count = countRows(directory);
      const choice = directory.bits?.thresholds.length === width ? directory.bits : undefined;
      const blocks = open(width, choice ? bitWidth(width) : 0, count);
      // Bit parameters depend on all vectors, so a scope does not use them.
      const byBits = filter.files === undefined ? choice : undefined;
      if (!byBits && !blocks.withCodes) return undefined;
      blocks.begin(laidOut);
      const numbers = blocks.ask(vector);
      const best = createBestSlots(limit);
      const job: ScanJob = { laidOut, blocks, filter, best, mayRead: searches++ === 0 ? 0 : readAtOnce };
      addTail(job, numbers);
      if (!byBits) {
        addBlocks(job);
        return best.ids();
      }
      const proposed = blocks.withCodes ? addByBits(job, depthFor(byBits, count)) : nearestByBits(job);
      return [...best.ids(), ...proposed];
    },
    readMore(laidOut, from) {
      const blocks = opened?.blocks;
      // With or without bits, the memory layout differs.
      if (!blocks?.withCodes || blocks.bits === 0 || laidOut.directory.bits?.thresholds.length !== blocks.width)
        return undefined;
      blocks.begin(laidOut);
      let left = readAtOnce;
      for (const [index, slots] of laidOut.directory.blocks.entries()) {
        if (index < from) continue;
        blocks.hold(slots);
        if (blocks.isWhole()) continue;
        if (left-- === 0) return index;
        blocks.holdCodes(slots);
      }
      return undefined;
    },
  };
}

interface ScanJob {
  laidOut: LaidOut;
  blocks: CodeBlocks;
  filter: SlotFilter;
  best: BestSlots;
  mayRead: number;
}

function addTail({ laidOut, filter, best }: ScanJob, numbers: Int16Array): void {
  const { sources, files } = filter;
  for (const { id, source, file, code } of laidOut.directory.tail)
    if (sources.includes(source) && (files === undefined || files[file] === 1)) best.add(id, productOf(code, numbers));
}

function addBlocks({ laidOut, blocks, filter, best }: ScanJob): void {
  const { kernel, width, scores } = blocks;
  const { sources, files } = filter;
  for (const slots of laidOut.directory.blocks) {
    if (!sources.includes(slots.source) || (files !== undefined && !someIn(slots, files))) continue;
    const at = blocks.holdCodes(slots);
    kernel.products(at, places.question, at + blockRows * width, places.out, blockRows, width);
    let floor = best.floor();
    for (let slot = 0; slot < blockRows; slot++) {
      const score = scores[slot] as number;
      if (score < floor) continue;
      const id = slots.ids[slot] as number;
      if (id === 0 || (files !== undefined && files[slots.files[slot] as number] !== 1)) continue;
      best.add(id, score);
      floor = best.floor();
    }
  }
}

function someIn({ ids, files }: BlockSlots, wanted: Uint8Array): boolean {
  return files.some((file, slot) => ids[slot] !== 0 && wanted[file] === 1);
}

/** Selects by bits, then by codes. Returns candidates for exact comparison, of blocks whose codes are not in memory. */
function addByBits(job: ScanJob, wanted: number): number[] {
  const { asked, distances, counts } = measure(job);
  const nearest = farthest(counts, wanted);
  const { best, blocks } = job;
  const { kernel, width } = blocks;
  // Few vectors are faster than all codes.
  const mayPropose = wanted <= proposedByBits;
  const proposed: number[] = [];
  let { mayRead } = job;
  let block = -1;
  let at: number | undefined;
  for (let row = 0; row < distances.length; row++) {
    if ((distances[row] as number) > nearest) continue;
    const index = Math.floor(row / blockRows);
    const slots = asked[index] as BlockSlots;
    const slot = row % blockRows;
    const id = slots.ids[slot] as number;
    if (id === 0) continue;
    if (index !== block) {
      block = index;
      blocks.hold(slots);
      const isThere = blocks.isWhole();
      at = !isThere && mayPropose && mayRead === 0 ? undefined : blocks.holdCodes(slots);
      if (!isThere && at !== undefined) mayRead--;
    }
    if (at === undefined) proposed.push(id);
    else best.add(id, kernel.product(at + slot * width, places.question, at + blockRows * width + slot * 4, width));
  }
  return proposed;
}

function nearestByBits(job: ScanJob): number[] {
  const { asked, distances } = measure(job);
  const best = createBestSlots(proposedByBits);
  for (const [index, { ids }] of asked.entries())
    for (const [slot, id] of ids.entries())
      if (id !== 0) best.add(id, -(distances[index * blockRows + slot] as number));
  return best.ids();
}

function measure({ laidOut, blocks, filter }: ScanJob): {
  asked: BlockSlots[];
  distances: Uint16Array;
  counts: Uint32Array;
} {
  const { kernel, bits } = blocks;
  const asked = laidOut.directory.blocks.filter(({ source }) => filter.sources.includes(source));
  const distances = new Uint16Array(asked.length * blockRows);
  const counts = new Uint32Array(8 * bits + 1);
  for (const [index, slots] of asked.entries()) {
    const { ids } = slots;
    kernel.differences(blocks.hold(slots), places.bits, places.out, blockRows, bits);
    for (let slot = 0; slot < blockRows; slot++) {
      const distance = blocks.distances[slot] as number;
      distances[index * blockRows + slot] = distance;
      if (ids[slot] !== 0) counts[distance] = (counts[distance] as number) + 1;
    }
  }
  return { asked, distances, counts };
}

function farthest(counts: Uint32Array, wanted: number): number {
  let within = 0;
  const found = counts.findIndex((count) => (within += count) >= wanted);
  return found < 0 ? counts.length : found;
}
