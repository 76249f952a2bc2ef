import { openKernel } from "../kernel/kernel.ts";
import { webAssembly } from "../kernel/web-assembly.ts";
import type { BlockSlots, CodeTables } from "./code-tables.ts";
import { bitWidth, blockBytes, blockRows, encodeQuestion } from "./code-vector.ts";

/** Blocks that are looked at. Where there are more, the nearest of a part of them are farther away: that asks for more. */
const mostBlocks = 400;
const questions = 32;
/** Neighbours of each question that are looked for. */
const neighbours = 10;
const pageBytes = 65_536;

/** How deep the nearest lie where vectors are sorted by their bits. */
interface BitRanks {
  /** For each of the nearest of some vectors of the index: how many are as near as it by their bits, itself among them. */
  ranks: number[];
  /** Vectors among which they were looked for. */
  vectors: number;
}

/** A vector of the index that is asked for. */
interface Asked {
  id: number;
  /** Best first; `distance` is that of the bits (Hamming). */
  nearest: { score: number; distance: number }[];
  /** How many vectors there are at each distance. */
  counts: Uint32Array;
}

interface Places {
  rows: number;
  bits: number;
  thresholds: number;
  out: number;
  numbers: number;
  signs: number;
  end: number;
}

/**
 * Asks for some vectors of the index among all others, by their codes and by the bits that these thresholds give. Throws
 * what the host throws where it has no WebAssembly with SIMD.
 */
export function measureRanks(tables: CodeTables, width: number, thresholds: Int8Array): BitRanks {
  const places = placesFor(width);
  const pages = Math.ceil(places.end / pageBytes);
  const memory = new (webAssembly().Memory)({ initial: pages, maximum: pages, shared: true });
  const kernel = openKernel(memory);
  const bytes = new Uint8Array(memory.buffer);
  const bits = bitWidth(width);
  bytes.set(new Uint8Array(thresholds.buffer, thresholds.byteOffset, width), places.thresholds);

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
  const scores = new Float32Array(memory.buffer, places.out, blockRows);
  const distances = new Int32Array(memory.buffer, places.out + 4 * blockRows, blockRows);
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

function placesFor(width: number): Places {
  const bits = blockBytes(width);
  const thresholds = bits + blockRows * bitWidth(width);
  const out = thresholds + width;
  const numbers = out + 2 * 4 * blockRows;
  const signs = numbers + questions * 2 * width;
  return { rows: 0, bits, thresholds, out, numbers, signs, end: signs + questions * bitWidth(width) };
}

/** The vector that a row of codes stands for, as a question in the numbers of the kernel. */
function vectorAt(block: Uint8Array, row: number, width: number, mean: Float32Array | undefined): Int16Array {
  const { buffer, byteOffset } = block;
  const codes = new Int8Array(buffer, byteOffset + row * width, width);
  const factor = new DataView(buffer, byteOffset).getFloat32(blockRows * width + row * 4, true);
  return encodeQuestion(Float64Array.from(codes, (code, index) => code * factor + (mean?.[index] ?? 0))).numbers;
}

/** What a block says to a question. */
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

/** So many of them at most, from all over. */
export function evenly<Item>(items: readonly Item[], most: number): Item[] {
  const step = Math.max(1, items.length / most);
  return Array.from({ length: Math.min(most, items.length) }, (_, index) => items[Math.floor(index * step)] as Item);
}
