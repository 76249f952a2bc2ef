import { createBestSlots } from "./best-slots.ts";
import type { BlockSlots } from "./code-tables.ts";
import { blockBytes, blockRows } from "./code-vector.ts";
import { hold, ownPlaces, type ScanJob } from "./scan-job.ts";

/** Rows that the kernel compares at a time. */
const groupRows = 4;
/** Chunks that bits propose where codes are not in memory. */
const proposedByBits = 1024;

/** So many of all by their bits, and these by their codes. False where a block could not be had. */
export function addByBits(job: ScanJob, wanted: number): boolean {
  const measured = measure(job);
  if (!measured) return false;
  const { asked, distances, counts } = measured;
  const nearest = farthest(counts, wanted);
  for (const [index, slots] of asked.entries()) {
    let at: number | undefined;
    for (let group = 0; group < blockRows; group += groupRows) {
      if (!someWithin(distances, index * blockRows + group, nearest)) continue;
      at ??= hold(job, slots);
      if (at === undefined) return false;
      addGroup(job, slots, at, group);
    }
  }
  return true;
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
  const { directory, filter, blocks, kernel, width, bits, withCodes } = job;
  const places = ownPlaces(blocks);
  const asked = directory.blocks.filter(({ source }) => filter.sources.includes(source));
  const distances = new Uint16Array(asked.length * blockRows);
  const counts = new Uint32Array(8 * bits + 1);
  for (const [index, slots] of asked.entries()) {
    const at = hold(job, slots);
    if (at === undefined) return undefined;
    kernel.differences(at + (withCodes ? blockBytes(width) : 0), places.bits, places.out, blockRows, bits);
    const found = new Int32Array(blocks.bytes().buffer, places.out, blockRows);
    for (let slot = 0; slot < blockRows; slot++) {
      const distance = found[slot] as number;
      distances[index * blockRows + slot] = distance;
      if (slots.ids[slot] !== 0) counts[distance] = (counts[distance] as number) + 1;
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

function someWithin(distances: Uint16Array, first: number, nearest: number): boolean {
  for (let at = first; at < first + groupRows; at++) if ((distances[at] as number) <= nearest) return true;
  return false;
}

/** Scores the rows of a group by their codes. */
function addGroup({ blocks, kernel, width, best }: ScanJob, slots: BlockSlots, at: number, group: number): void {
  const { question, out } = ownPlaces(blocks);
  kernel.products(at + group * width, question, at + blockRows * width + group * 4, out, groupRows, width);
  const scores = new Float32Array(blocks.bytes().buffer, out, groupRows);
  for (let row = 0; row < groupRows; row++) {
    const id = slots.ids[group + row] as number;
    if (id !== 0) best.add(id, scores[row] as number);
  }
}
