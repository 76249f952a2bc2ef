import { blockRows } from "./code-vector.ts";
import { type BlockJob, hold, holdCodes, type ScanJob } from "./scan-job.ts";
import { productOf } from "./code-vector.ts";

/** Vectors that lie in no block yet: few. */
export function addTail({ directory, filter, numbers, best }: ScanJob): void {
  const { sources, files } = filter;
  for (const { id, source, file, code } of directory.tail)
    if (sources.includes(source) && (files === undefined || files[file] === 1)) best.add(id, productOf(code, numbers));
}

/** Every block, by its codes. False where one could not be had. */
export function addBlocks(job: ScanJob): boolean {
  const { directory, filter, kernel, width, best, places, scores } = job;
  const { sources, files } = filter;
  for (const slots of directory.blocks) {
    if (!sources.includes(slots.source) || (files !== undefined && !someIn(slots, files))) continue;
    const at = holdCodes(job, slots);
    if (at === undefined) return false;
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
  return true;
}

/**
 * Reads codes that are not there yet, of so many blocks at most. Gives the place in the list of blocks to go on from;
 * undefined at its end. Each is looked at once, so that indexes that share a memory do not drive each other out for ever.
 */
export function readCodes(job: BlockJob, { from, most }: { from: number; most: number }): number | undefined {
  let left = most;
  for (const [index, slots] of job.directory.blocks.entries()) {
    if (index < from) continue;
    if (hold(job, slots) === undefined) return undefined;
    if (job.blocks.isWhole()) continue;
    if (left-- === 0) return index;
    holdCodes(job, slots);
  }
  return undefined;
}

/** True where a slot of the block is of one of the files. */
function someIn({ ids, files }: ScanJob["directory"]["blocks"][number], wanted: Uint8Array): boolean {
  return files.some((file, slot) => ids[slot] !== 0 && wanted[file] === 1);
}
