import { openKernel } from "../kernel/kernel.ts";
import type { BitChoice } from "./bit-blocks.ts";
import type { BlockSlots, CodeTables } from "./code-tables.ts";
import { bitWidth, blockBytes, blockRows, encodeQuestion } from "./quantize-vector.ts";

/** Bits of shorter vectors carry too little information. */
const leastDimensions = 256;
const wantedRecall = 0.995;
const spareDepth = 2;
const leastDepth = 512;
/** Above this share of code comparisons, bits are not worthwhile. */
const mostCompared = 1 / 8;
const sampledBlocks = 256;
const sampledRows = 4;
const mostBlocks = 400;
const questions = 32;
const neighbours = 10;

/**
 * Thresholds by mean-centred binary quantisation. Measures the depth with vectors of the index; no bits if too large.
 */
export function chooseBits(tables: CodeTables, width: number): BitChoice {
  const { rows: vectors } = tables.size();
  const none: BitChoice = { thresholds: new Int8Array(0), depth: 0, vectors };
  if (width < leastDimensions) return none;
  const thresholds = meanOf(tables, width);
  const measured = measureRanks(tables, width, thresholds);
  const ranks = measured.ranks.toSorted((left, right) => left - right);
  const deepest = ranks[Math.ceil(wantedRecall * ranks.length) - 1];
  if (deepest === undefined) return none;
  const depth = Math.max(leastDepth, Math.ceil((spareDepth * deepest * vectors) / measured.vectors));
  return depth > vectors * mostCompared ? none : { thresholds, depth, vectors };
}

/** Number of vectors compared by codes, by the number of bits. */
export function depthFor({ depth, vectors }: BitChoice, count: number): number {
  return Math.max(leastDepth, Math.ceil((depth * count) / vectors));
}

export function isOutgrown({ vectors }: BitChoice, count: number): boolean {
  return count >= 2 * vectors;
}

function meanOf(tables: CodeTables, width: number): Int8Array {
  const sums = new Float64Array(width);
  let count = 0;
  for (const { block } of evenly(tables.versions(), sampledBlocks)) {
    const bytes = tables.codes(block);
    if (bytes?.byteLength !== blockBytes(width)) continue;
    for (let row = 0; row < blockRows; row += blockRows / sampledRows) {
      const codes = new Int8Array(bytes.buffer, bytes.byteOffset + row * width, width);
      for (let index = 0; index < width; index++) sums[index] = (sums[index] as number) + (codes[index] as number);
      count++;
    }
  }
  return Int8Array.from(sums, (sum) => (count === 0 ? 0 : Math.round(sum / count)));
}

interface Asked {
  id: number;
  nearest: { score: number; distance: number }[];
  counts: Uint32Array;
}

/** Queries the index by codes and by bits. `ranks`: how many vectors are as near by bits as each nearest one. */
function measureRanks(tables: CodeTables, width: number, thresholds: Int8Array): { ranks: number[]; vectors: number } {
  const places = placesFor(width);
  const kernel = openKernel(places.end);
  const bytes = kernel.bytes();
  const bits = bitWidth(width);
  bytes.set(thresholds, places.thresholds);

  function load(block: number): BlockSlots | undefined {
    const codes = tables.codes(block);
    const slots = tables.slots(block);
    if (codes?.byteLength !== blockBytes(width) || slots?.ids.length !== blockRows) return undefined;
    bytes.set(codes, places.rows);
    bytes.fill(0, places.bits, places.bits + blockRows * bits);
    kernel.signs(places.rows, places.thresholds, places.bits, blockRows, width, bits);
    return slots;
  }

  const blocks = evenly(tables.versions(), mostBlocks).map(({ block }) => block);
  const mean = tables.mean();
  const asked: Asked[] = [];
  for (const block of evenly(blocks, questions)) {
    const ids = load(block)?.ids ?? [];
    const row = ids.findIndex((id) => id !== 0);
    if (row < 0) continue;
    const numbers = vectorAt(bytes.subarray(places.rows), row, width, mean);
    const to = asked.push({ id: ids[row] ?? 0, nearest: [], counts: new Uint32Array(8 * bits + 1) }) - 1;
    bytes.set(new Uint8Array(numbers.buffer), places.numbers + to * 2 * width);
    bytes.copyWithin(places.signs + to * bits, places.bits + row * bits, places.bits + (row + 1) * bits);
  }
  const scores = new Float32Array(bytes.buffer, places.out, blockRows);
  const distances = new Int32Array(bytes.buffer, places.out + 4 * blockRows, blockRows);
  let vectors = 0;
  for (const block of blocks) {
    const ids = load(block)?.ids;
    if (ids === undefined) continue;
    for (const id of ids) if (id !== 0) vectors++;
    const factors = places.rows + blockRows * width;
    for (const [to, one] of asked.entries()) {
      kernel.products(places.rows, places.numbers + to * 2 * width, factors, places.out, blockRows, width);
      kernel.differences(places.bits, places.signs + to * bits, places.out + 4 * blockRows, blockRows, bits);
      add(one, { ids, scores, distances });
    }
  }
  return { ranks: asked.flatMap(ranksOf), vectors };
}

function placesFor(
  width: number,
): Record<"rows" | "bits" | "thresholds" | "out" | "numbers" | "signs" | "end", number> {
  const bits = blockBytes(width);
  const thresholds = bits + blockRows * bitWidth(width);
  const out = thresholds + width;
  const numbers = out + 2 * 4 * blockRows;
  const signs = numbers + questions * 2 * width;
  return { rows: 0, bits, thresholds, out, numbers, signs, end: signs + questions * bitWidth(width) };
}

function vectorAt(block: Uint8Array, row: number, width: number, mean: Float32Array | undefined): Int16Array {
  const { buffer, byteOffset } = block;
  const codes = new Int8Array(buffer, byteOffset + row * width, width);
  const factor = new DataView(buffer, byteOffset).getFloat32(blockRows * width + row * 4, true);
  return encodeQuestion(Float64Array.from(codes, (code, index) => code * factor + (mean?.[index] ?? 0))).numbers;
}

function add(
  { id: own, nearest, counts }: Asked,
  { ids, scores, distances }: { ids: Int32Array; scores: Float32Array; distances: Int32Array },
): void {
  for (let slot = 0; slot < blockRows; slot++) {
    if (ids[slot] === 0 || ids[slot] === own) continue;
    const distance = distances[slot] as number;
    counts[distance] = (counts[distance] as number) + 1;
    const score = scores[slot] as number;
    if (nearest.length === neighbours && score <= (nearest[neighbours - 1]?.score ?? 0)) continue;
    const before = nearest.findIndex((other) => other.score < score);
    nearest.splice(before < 0 ? nearest.length : before, 0, { score, distance });
    nearest.length = Math.min(nearest.length, neighbours);
  }
}

function ranksOf({ nearest, counts }: Asked): number[] {
  return nearest.map(({ distance }) => counts.subarray(0, distance + 1).reduce((sum, count) => sum + count, 0));
}

function evenly<Item>(items: readonly Item[], most: number): Item[] {
  const step = Math.max(1, items.length / most);
  return Array.from({ length: Math.min(most, items.length) }, (_, index) => items[Math.floor(index * step)] as Item);
}
