import { openKernel } from "../kernel/kernel.ts";
import { type BlockMemory, createBlockMemory } from "../memory/block-memory.ts";
import { openBlockMemory } from "../memory/open-block-memory.ts";
import { depthFor } from "./bit-thresholds.ts";
import { createBestSlots } from "./best-slots.ts";
import { countRows, type SlotFilter } from "./code-directory.ts";
import { bitWidth, blockBytes, blockRows, codeWidth, encodeQuestion } from "./code-vector.ts";
import { addBlocks, addTail, readCodes } from "./scan-blocks.ts";
import { addByBits, nearestByBits } from "./scan-bits.ts";
import {
  type BlockJob,
  type LaidOut,
  longestWidth,
  openOwn,
  type OpenScan,
  type ScanJob,
  writeOwn,
  writeThresholds,
} from "./scan-job.ts";

const mebibyte = 1024 * 1024;
/**
 * Blocks whose codes are read for one search, so that none takes long because memory is empty. The first one reads none:
 * a process may have no other. When nobody asks, so many are read at a time.
 */
const readAtOnce = 32;

interface ScanQuery {
  vector: Float32Array;
  filter: SlotFilter;
  /** Vectors to give. */
  limit: number;
}

/** Compares a question with the codes of all vectors, in WebAssembly. */
export interface CodeScan {
  /**
   * The chunks whose codes are nearest, and others that may be as near. Filters are tested before they are counted.
   * Throws where a block is not what was written. Undefined where the memory cannot be had now.
   */
  nearest(laidOut: LaidOut, query: ScanQuery): number[] | undefined;
  /**
   * Reads codes that the searches so far have left out, some blocks of them. Throws where one is not what was written.
   * Gives the place to go on from; undefined: that was all, or they are not kept.
   */
  readMore(laidOut: LaidOut, from: number): number | undefined;
  /** From now on with the blocks that other threads of this process use, too. */
  share(memory: BlockMemory, seat: number): void;
}

/** Throws where the host has no WebAssembly with SIMD. */
export function createCodeScan(memoryMB: number): CodeScan {
  let shared: { memory: BlockMemory; seat: number } | undefined;
  let opened: { key: string; scan: OpenScan } | undefined;
  /** Searches in what is opened. */
  let searches = 0;
  // Shows at once whether it is to be had.
  openKernel(createBlockMemory(mebibyte).memory);

  function open(width: number, bits: number, count: number): OpenScan {
    const limitBytes = shared?.memory.limitBytes ?? memoryMB * mebibyte;
    const withCodes = bits === 0 || (count / blockRows) * (blockBytes(width) + blockRows * bits) <= limitBytes;
    const key = `${width} ${bits} ${withCodes}`;
    if (opened?.key === key) return opened.scan;
    const regionBytes = (withCodes ? blockBytes(width) : 0) + blockRows * bits;
    const inCommon = shared && openBlockMemory(shared.memory, shared.seat, regionBytes);
    const memory = inCommon && shared ? shared.memory : createBlockMemory(memoryMB * mebibyte);
    const blocks = inCommon ?? openBlockMemory(memory, 0, regionBytes);
    if (!blocks) throw new Error("a memory of its own has regions of another size");
    const scan = { width, bits, withCodes, blocks, kernel: openKernel(memory.memory), ...openOwn(blocks, memory) };
    opened = { key, scan };
    searches = 0;
    return scan;
  }

  return {
    share(memory, seat) {
      shared = { memory, seat };
      opened = undefined;
    },
    nearest(laidOut, { vector, filter, limit }) {
      const { directory } = laidOut;
      const width = codeWidth(vector.length);
      if (width > longestWidth) return undefined;
      const count = countRows(directory);
      const choice = directory.bits?.thresholds.length === width ? directory.bits : undefined;
      const scan = open(width, choice ? bitWidth(width) : 0, count);
      // What bits are made with was chosen by all vectors, and a scope is told nothing that depends on those outside.
      const byBits = filter.files === undefined ? choice : undefined;
      if (!byBits && !scan.withCodes) return undefined;
      const { numbers } = encodeQuestion(vector);
      const best = createBestSlots(limit);
      const job: ScanJob = { ...scan, ...laidOut, filter, numbers, best, mayRead: searches++ === 0 ? 0 : readAtOnce };
      scan.blocks.begin();
      try {
        writeOwn(job, vector);
        addTail(job);
        if (!byBits) return addBlocks(job) ? best.ids() : undefined;
        const proposed = scan.withCodes ? addByBits(job, depthFor(byBits, count)) : nearestByBits(job);
        return proposed && [...best.ids(), ...proposed];
      } finally {
        scan.blocks.release();
      }
    },
    readMore(laidOut, from) {
      const scan = opened?.scan;
      // Where bits have come or gone since the last search, the next one has another memory.
      if (!scan?.withCodes || scan.bits === 0 || laidOut.directory.bits?.thresholds.length !== scan.width)
        return undefined;
      const job: BlockJob = { ...scan, ...laidOut };
      scan.blocks.begin();
      try {
        writeThresholds(job);
        return readCodes(job, { from, most: readAtOnce });
      } finally {
        scan.blocks.release();
      }
    },
  };
}
