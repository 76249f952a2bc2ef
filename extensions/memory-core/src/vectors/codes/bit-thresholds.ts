import type { CodeTables } from "./code-tables.ts";
import { blockBytes, blockRows, encodeQuestion } from "./code-vector.ts";

/** From so many vectors on, bits are compared before codes. */
export const leastForBits = 50_000;
/** Bits of shorter vectors say too little. */
const leastDimensions = 256;
/** Of each vector that is compared by its bits, one in so many is compared by its codes. */
const narrowing = 64;
/** And never fewer. */
const leastByCodes = 4096;
const sampled = 1024;
const questions = 32;
/** Neighbours of a sampled vector that bits have to find, and how many of all of them. */
const neighbours = 4;
const wantedRecall = 0.98;
const largestCode = 127;

/** Vectors whose codes are compared, of so many whose bits were. */
export function comparedByCodes(vectors: number): number {
  return Math.max(leastByCodes, Math.ceil(vectors / narrowing));
}

/**
 * The threshold for each number of a vector, in codes: its bit says whether it is greater. It is the mean of the number
 * over a sample (mean-centred binary quantisation) or 0, whichever finds more of the nearest neighbours of some sampled
 * vectors; undefined where neither finds enough, as where most numbers are 0. The mean is not made of single vectors in a
 * way that a search would tell.
 */
export function chooseThresholds(tables: CodeTables, width: number): Int8Array | undefined {
  if (width < leastDimensions) return undefined;
  const sample = sampleOf(tables, width);
  if (sample.length < sampled / 2) return undefined;
  const vectors = tables.size().rows;
  const depth = Math.ceil((sample.length * comparedByCodes(vectors)) / vectors);
  const choices = [meanOf(sample, width), new Int8Array(width)].map((thresholds) => ({
    thresholds,
    recall: recallOf(sample, thresholds, depth),
  }));
  const [best] = choices.toSorted((left, right) => right.recall - left.recall);
  return best !== undefined && best.recall >= wantedRecall ? best.thresholds : undefined;
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

/** Codes of vectors from all over the blocks. */
function sampleOf(tables: CodeTables, width: number): Int8Array[] {
  const blocks = tables.versions();
  const step = Math.max(1, Math.floor(blocks.length / (sampled / 4)));
  const sample: Int8Array[] = [];
  for (let at = 0; at < blocks.length && sample.length < sampled; at += step) {
    const bytes = tables.codes(blocks[at]?.block ?? 0);
    if (bytes?.byteLength !== blockBytes(width)) continue;
    for (let row = 0; row < blockRows; row += blockRows / 4)
      sample.push(new Int8Array(new Uint8Array(bytes.subarray(row * width, (row + 1) * width)).buffer));
  }
  return sample;
}

function meanOf(sample: readonly Int8Array[], width: number): Int8Array {
  const sums = new Float64Array(width);
  for (const codes of sample)
    for (let index = 0; index < width; index++) sums[index] = (sums[index] as number) + (codes[index] as number);
  return Int8Array.from(sums, (sum) => Math.round(sum / sample.length));
}

/** How many of the nearest of some vectors are among the nearest by bits, as deep as a search looks. */
function recallOf(sample: readonly Int8Array[], thresholds: Int8Array, depth: number): number {
  const bits = sample.map((codes) => {
    const row = new Uint8Array(Math.ceil(codes.length / 8));
    writeSigns(codes, thresholds, row);
    return row;
  });
  const lengths = sample.map((codes) => Math.hypot(...codes) || 1);
  let found = 0;
  for (let asked = 0; asked < questions; asked++) {
    const question = Math.floor((asked * sample.length) / questions);
    const others = sample.map((_, index) => index).filter((index) => index !== question);
    const cosines = sample.map(
      (codes, index) => dot(codes, sample[question] as Int8Array) / (lengths[index] as number),
    );
    const distances = bits.map((row) => differing(row, bits[question] as Uint8Array));
    const nearest = others.toSorted((left, right) => (cosines[right] as number) - (cosines[left] as number));
    const wanted = nearest.slice(0, neighbours);
    // Of bits that differ equally often, those come last that are wanted.
    const isBefore = (index: number, other: number): boolean =>
      (distances[other] as number) <= (distances[index] as number);
    found += wanted.filter((index) => others.filter((other) => isBefore(index, other)).length <= depth).length;
  }
  return found / (questions * neighbours);
}

function dot(left: Int8Array, right: Int8Array): number {
  let sum = 0;
  for (let index = 0; index < left.length; index++) sum += (left[index] as number) * (right[index] as number);
  return sum;
}

function differing(left: Uint8Array, right: Uint8Array): number {
  let count = 0;
  for (let index = 0; index < left.length; index++) {
    for (let byte = (left[index] as number) ^ (right[index] as number); byte !== 0; byte &= byte - 1) count++;
  }
  return count;
}
