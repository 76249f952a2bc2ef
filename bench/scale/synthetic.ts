import { closeSync, mkdirSync, openSync, readFileSync, readSync, writeFileSync, writeSync } from "node:fs";
import path from "node:path";

export const dimensions = 768;
/** Chunks in one made-up file, and lines in one chunk: a path and a line identify the chunk. */
export const chunksPerFile = 10;
export const linesPerChunk = 20;
/** Results that recall counts. */
export const recallDepth = 10;

const bytesPerVector = dimensions * Float32Array.BYTES_PER_ELEMENT;
const clusters = 400;
const blockVectors = 1000;
const sentencePool = 20_000;
const sentencesPerChunk = 12;
const wordsPerSentence = 15;
const vocabulary = 20_000;

/** A chunk as every engine is given it. */
export interface SyntheticChunk {
  /** Counted from 0. */
  number: number;
  path: string;
  startLine: number;
  text: string;
  /** Unit length. */
  vector: Float32Array;
}

export interface SyntheticQuery {
  /** Unit length. */
  vector: Float32Array;
  words: readonly string[];
}

/** Numbers from 0 to 1, the same for the same seed (xorshift32). */
function randomFrom(seed: number): () => number {
  let state = Math.imul(seed, 2_654_435_761) ^ 0x9e37_79b9 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/**
 * Writes `vectors.f32` and `queries.f32` into the folder: unit vectors in 400 groups, of which some directions count more
 * than others, as in those of models, and the same for the same seed. Queries are drawn like the vectors and are none of
 * them. Beside them `truth.json`: for each number of chunks the ten nearest of each query, all compared.
 */
export function writeVectors(folder: string, sizes: readonly number[], queryCount: number): void {
  mkdirSync(folder, { recursive: true });
  const random = randomFrom(20_261);
  // The first directions are the wide ones.
  const widths = Float32Array.from({ length: dimensions }, (_, index) => Math.exp(-index / 256));
  const draw = (): Float32Array => widths.map((width) => width * (random() + random() + random() - 1.5));
  const centers = Array.from({ length: clusters }, draw);
  const vector = (): Float32Array => {
    const center = centers[Math.floor(random() * clusters)] ?? draw();
    const raw = draw().map((value, index) => 0.8 * value + (center[index] ?? 0));
    const length = Math.sqrt(raw.reduce((sum, value) => sum + value * value, 0));
    return raw.map((value) => value / length);
  };
  const queries = Array.from({ length: queryCount }, vector);
  writeFileSync(path.join(folder, "queries.f32"), bytesOf(queries));
  const nearest = queries.map((): { number: number; score: number }[] => []);
  const truth: Record<string, number[][]> = {};
  const ascending = [...new Set(sizes)].toSorted((left, right) => left - right);
  const file = openSync(path.join(folder, "vectors.f32"), "w");
  try {
    let number = 0;
    for (const size of ascending) {
      while (number < size) {
        const block = Array.from({ length: Math.min(blockVectors, size - number) }, vector);
        writeSync(file, bytesOf(block));
        for (const one of block) {
          for (const [at, query] of queries.entries()) keepNearest(nearest[at], number, dot(query, one));
          number++;
        }
      }
      truth[size] = nearest.map((best) => best.map((one) => one.number));
    }
  } finally {
    closeSync(file);
  }
  writeFileSync(path.join(folder, "truth.json"), JSON.stringify(truth));
}

/** The right answers of each query among that many chunks. */
export function readTruth(folder: string, chunks: number): number[][] {
  const truth = JSON.parse(readFileSync(path.join(folder, "truth.json"), "utf8")) as Record<string, number[][]>;
  const found = truth[chunks];
  if (found === undefined) throw new Error(`${folder} has no right answers for ${chunks} chunks`);
  return found;
}

/** The first chunks, in blocks of 1,000 or fewer. */
export function* chunkBlocks(folder: string, chunks: number): Generator<SyntheticChunk[]> {
  const text = chunkTexts();
  const file = openSync(path.join(folder, "vectors.f32"), "r");
  try {
    for (let first = 0; first < chunks; first += blockVectors) {
      const count = Math.min(blockVectors, chunks - first);
      const block = new Float32Array(count * dimensions);
      const read = readSync(file, block, 0, block.byteLength, first * bytesPerVector);
      if (read !== block.byteLength) throw new Error(`${folder}/vectors.f32 ends before chunk ${chunks}`);
      yield Array.from({ length: count }, (_, index) => ({
        number: first + index,
        ...placeOf(first + index),
        text: text(first + index),
        vector: block.slice(index * dimensions, (index + 1) * dimensions),
      }));
    }
  } finally {
    closeSync(file);
  }
}

/** What is asked: the vectors, and beside each five words that stand side by side in some chunk. */
export function readQueries(folder: string): SyntheticQuery[] {
  const bytes = readFileSync(path.join(folder, "queries.f32"));
  const sentences = makeSentences();
  const random = randomFrom(77);
  return Array.from({ length: bytes.byteLength / bytesPerVector }, (_, index) => {
    const vector = new Float32Array(dimensions);
    Buffer.from(vector.buffer).set(bytes.subarray(index * bytesPerVector, (index + 1) * bytesPerVector));
    const sentence = sentences[Math.floor(random() * sentencePool)] ?? "";
    return { vector, words: [...new Set(sentence.split(" ").slice(4, 9))] };
  });
}

/** Where a chunk stands. */
function placeOf(number: number): { path: string; startLine: number } {
  const part = number % chunksPerFile;
  return { path: `memory/${Math.floor(number / chunksPerFile)}.md`, startLine: part * linesPerChunk + 1 };
}

/** Which chunk stands there. */
export function numberOf(place: { path: string; startLine: number }): number {
  const file = Number(/(\d+)\.md$/.exec(place.path)?.[1] ?? Number.NaN);
  return file * chunksPerFile + Math.floor((place.startLine - 1) / linesPerChunk);
}

function chunkTexts(): (number: number) => string {
  const sentences = makeSentences();
  return (number) => {
    const random = randomFrom(number + 1);
    const drawn = Array.from({ length: sentencesPerChunk }, () => sentences[Math.floor(random() * sentencePool)] ?? "");
    return `zephyr${number}\n${drawn.join("\n")}`;
  };
}

/** Words of a made-up language; the first of them are the most frequent ones, as in a real one. */
function makeSentences(): string[] {
  const random = randomFrom(3);
  const syllable = (value: number): string => `${"bdfgklmnprstvz"[value % 14]}${"aeiou"[Math.floor(value / 14) % 5]}`;
  const word = (): string => {
    let rest = Math.floor(vocabulary ** random());
    let text = "";
    for (let count = 0; count < 2 || rest > 0; count++) {
      text += syllable(rest % 70);
      rest = Math.floor(rest / 70);
    }
    return text;
  };
  return Array.from({ length: sentencePool }, () => Array.from({ length: wordsPerSentence }, word).join(" "));
}

function keepNearest(best: { number: number; score: number }[] | undefined, number: number, score: number): void {
  if (best === undefined || (best.length === recallDepth && score <= (best.at(-1)?.score ?? 0))) return;
  const at = best.findIndex((other) => other.score < score);
  best.splice(at === -1 ? best.length : at, 0, { number, score });
  if (best.length > recallDepth) best.pop();
}

function dot(left: Float32Array, right: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < dimensions; index++) sum += (left[index] ?? 0) * (right[index] ?? 0);
  return sum;
}

function bytesOf(vectors: readonly Float32Array[]): Buffer {
  return Buffer.concat(vectors.map((one) => Buffer.from(one.buffer, one.byteOffset, one.byteLength)));
}
