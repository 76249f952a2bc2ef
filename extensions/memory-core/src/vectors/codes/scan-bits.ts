import { createBestSlots } from "./best-slots.ts";
import type { BlockSlots } from "./code-tables.ts";
import { blockRows } from "./code-vector.ts";
import { hold, holdCodes, type ScanJob } from "./scan-job.ts";

/** Chunks at most that bits propose where codes are not in memory. */
const proposedByBits = 1024;

/**
 * So many of all by their bits, and these by their codes. Gives those that are still to be compared as they are: of
 * blocks whose codes are not in memory. Undefined where a block could not be had.
 */
export function addByBits(job: ScanJob, wanted: number): number[] | undefined {
  const measured = measure(job);
  if (!measured) return undefined;
  const { asked, distances, counts } = measured;
  const nearest = farthest(counts, wanted);
  const { kernel, width, best, places } = job;
  // So many vectors are read faster than all codes. Of more, codes are.
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
      const held = hold(job, slots);
      if (held === undefined) return undefined;
      const isThere = job.blocks.isWhole();
      if (!isThere && mayPropose && mayRead === 0) at = undefined;
      else at = holdCodes(job, slots);
      if (!isThere && at !== undefined) mayRead--;
    }
    if (at === undefined) proposed.push(id);
    else best.add(id, kernel.product(at + slot * width, places.question, at + blockRows * width + slot * 4, width));
  }
  return proposed;
}

/** The chunks that bits alone find nearest. Undefined where a block could not be had. */
export function nearestByBits(job: ScanJob): number[] | undefined {
  const measured = measure(job);
  if (!measured) return undefined;
  const best = createBestSlots(proposedByBits);
  for (const [index, { ids }] of measured.asked.entries())
    for (const [slot, id] of ids.entries())
      if (id !== 0) best.add(id, -(measured.distances[index * blockRows + slot] as number));
  return best.ids();
}

interface Measured {
  asked: BlockSlots[];
  /** Of each slot of these. */
  distances: Uint16Array;
  /** How many chunks there are at each distance. */
  counts: Uint32Array;
}

function measure(job: ScanJob): Measured | undefined {
  const { directory, filter, kernel, bits, places, distances: found } = job;
  const asked = directory.blocks.filter(({ source }) => filter.sources.includes(source));
  const distances = new Uint16Array(asked.length * blockRows);
  const counts = new Uint32Array(8 * bits + 1);
  for (const [index, slots] of asked.entries()) {
    const { ids } = slots;
    const at = hold(job, slots);
    if (at === undefined) return undefined;
    kernel.differences(at, places.bits, places.out, blockRows, bits);
    for (let slot = 0; slot < blockRows; slot++) {
      const distance = found[slot] as number;
      distances[index * blockRows + slot] = distance;
      if (ids[slot] !== 0) counts[distance] = (counts[distance] as number) + 1;
    }
  }
  return { asked, distances, counts };
}

/** The distance within which so many lie. */
function farthest(counts: Uint32Array, wanted: number): number {
  let within = 0;
  const found = counts.findIndex((count) => (within += count) >= wanted);
  return found < 0 ? counts.length : found;
}
