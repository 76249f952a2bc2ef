import { evenly, measureRanks } from "./bit-ranks.ts";
import type { CodeTables } from "./code-tables.ts";
import { blockBytes, blockRows, checksumOf, encodeQuestion } from "./code-vector.ts";

/** From so many vectors on, bits are compared before codes. */
export const usualLeastForBits = 50_000;
/** Bits of shorter vectors say too little. */
const leastDimensions = 256;
const sampled = 1024;
/** Of the nearest neighbours that are tried, the part that has to lie within the depth. */
const wantedRecall = 0.995;
/** Other questions may want more than those that were tried. */
const spareDepth = 2;
const leastDepth = 512;
/** Where more of all vectors than this would have to be compared by their codes, bits are not worth it. */
const mostCompared = 1 / 8;
const largestCode = 127;
/** The choice as bytes begins with `depth` and `vectors`. */
const headBytes = 8;
const alignment = 16;

/** What bits are made with, and how far they are trusted. */
export interface BitChoice {
  /** For each number of a vector, in codes: its bit says whether it is greater. Empty: no bits are to be made. */
  thresholds: Int8Array;
  /** Of so many `vectors`, so many are compared by their codes: those that are nearest by their bits. */
  depth: number;
  vectors: number;
}

/**
 * The threshold of each number is its mean over a sample (mean-centred binary quantisation). How deep a search has to look
 * is measured on vectors of the index, each asked for among the others; where it is too deep, as where most numbers are 0,
 * no bits are made. The mean is not made of single vectors in a way that a search would tell. Called inside a transaction.
 * Throws what the host throws where it has no WebAssembly.
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

/** The checksum that names them. */
export function sumOfThresholds({ buffer, byteOffset, byteLength }: Int8Array): number {
  return checksumOf(new Uint8Array(buffer, byteOffset, byteLength));
}

/** How many vectors are compared by their codes, of so many whose bits were. */
export function depthFor({ depth, vectors }: BitChoice, count: number): number {
  return Math.max(leastDepth, Math.ceil((depth * count) / vectors));
}

/** True where there are so many more vectors that it has to be made again. */
export function isOutgrown({ vectors }: BitChoice, count: number): boolean {
  return count >= 2 * vectors;
}

export function bytesOfChoice({ thresholds, depth, vectors }: BitChoice): Uint8Array {
  const bytes = new Uint8Array(headBytes + thresholds.length);
  bytes.set(new Uint8Array(Int32Array.of(depth, vectors).buffer));
  bytes.set(new Uint8Array(thresholds.buffer, thresholds.byteOffset, thresholds.length), headBytes);
  return bytes;
}

/** Undefined where it is no choice. */
export function choiceOf(bytes: Uint8Array | undefined): BitChoice | undefined {
  if (bytes === undefined || bytes.byteLength < headBytes) return undefined;
  const copy = new Uint8Array(bytes);
  const [depth = 0, vectors = 0] = new Int32Array(copy.buffer, 0, 2);
  if ((copy.byteLength - headBytes) % alignment !== 0 || vectors <= 0) return undefined;
  return { thresholds: new Int8Array(copy.buffer, headBytes), depth, vectors };
}

/** The bits of a row of codes, as the kernel makes them: written into `bits`, which is all zero. */
export function writeSigns(codes: Int8Array | Int16Array, thresholds: Int8Array, bits: Uint8Array): void {
  for (let index = 0; index < codes.length; index++)
    if ((codes[index] as number) > (thresholds[index] as number)) {
      const byte = index >> 3;
      bits[byte] = (bits[byte] as number) | (1 << (index & 7));
    }
}

/** A question in the scale of codes, to be compared with the thresholds. */
export function questionCodes(vector: Float64Array, width: number): Int16Array {
  const { numbers } = encodeQuestion(vector);
  const peak = numbers.reduce((highest, value) => Math.max(highest, Math.abs(value)), 0);
  return Int16Array.from({ length: width }, (_, index) =>
    peak === 0 ? 0 : Math.round(((numbers[index] ?? 0) * largestCode) / peak),
  );
}

/** The mean of some codes from all over the blocks. */
function meanOf(tables: CodeTables, width: number): Int8Array {
  const sums = new Float64Array(width);
  let count = 0;
  for (const { block } of evenly(tables.versions(), sampled / 4)) {
    const bytes = tables.codes(block);
    if (bytes?.byteLength !== blockBytes(width)) continue;
    for (let row = 0; row < blockRows; row += blockRows / 4) {
      const codes = new Int8Array(bytes.buffer, bytes.byteOffset + row * width, width);
      for (let index = 0; index < width; index++) sums[index] = (sums[index] as number) + (codes[index] as number);
      count++;
    }
  }
  return Int8Array.from(sums, (sum) => (count === 0 ? 0 : Math.round(sum / count)));
}
