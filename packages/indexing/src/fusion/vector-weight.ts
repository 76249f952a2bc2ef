import type { SpaceFacts } from "../note-index.ts";
import { spaceName, type VectorSpace } from "../chunk-store.ts";
import { scanTerms } from "../text/index-terms.ts";
import { cosineOf, type MeaningScale, mostWeight, spread, spreadOf, unmeasuredWeight } from "./score-fusion.ts";
import { jsonOf } from "../json-values.ts";

/** Chunks that a spread is taken from, and that pairs are made of: those with the lowest hashes. */
export const sampled = 256;
/** Fewer pairs give a random result. */
const pairCount = 32;
/** A sample is valid until the space grows or shrinks by this share. */
const sampleHolds = 0.2;
/** The weight is measured again after the space has grown or shrunk by this factor. */
const weightHolds = 2;
/** Weight per quality, and the standard errors above chance that count as zero. */
const weightPerQuality = 0.25;
const errorsOfChance = 3;

/** Result of the calibration of a space. */
interface MeasuredWeight {
  quality: number;
  weight: number;
  pairs: number;
}

interface KeptWeight extends MeasuredWeight {
  vectors: number;
  isSame?: boolean;
}

export class SpaceScales {
  readonly #facts: SpaceFacts | undefined;
  readonly #held = new Map<string, { vectors: number; sample: readonly Float32Array[] }>();
  readonly #weights = new Map<string, KeptWeight | undefined>();

  constructor(facts: SpaceFacts | undefined) {
    this.#facts = facts;
  }

  /** Whether all vectors of a sample are equal, so that vector search is useless. */
  async isSame(space: VectorSpace, vectors: number): Promise<boolean> {
    return areSame(await this.#sampleOf(space, vectors));
  }

  async scaleOf(space: VectorSpace, query: Float32Array, vectors: number): Promise<MeaningScale | undefined> {
    const sample = await this.#sampleOf(space, vectors);
    if (sample.length === 0) return undefined;
    return { ...spreadOf(query, sample), weight: this.#weights.get(spaceName(space))?.weight ?? unmeasuredWeight };
  }

  /** Measures and stores the weight of a space, unless known. Throws errors of `embed` and the store. */
  async measure(
    space: VectorSpace,
    vectors: number,
    embed: (texts: readonly string[]) => Promise<readonly Float32Array[]>,
  ): Promise<void> {
    const facts = this.#facts;
    const before = await this.measured(space);
    const isKnown = serves(before, vectors);
    if (facts === undefined || (isKnown && (before?.weight ?? 0) > 0)) return;
    const sample = await facts.sampleVectors(space, sampled);
    const isSame = areSame(sample.map(({ vector }) => vector));
    if (isKnown && (before?.isSame ?? false) === isSame) return;
    const texts = isSame ? [] : measuringTexts(sample);
    const measured = texts.length === 0 ? undefined : qualityOf(await embed(texts));
    const kept = isSame ? { quality: 0, weight: 0, pairs: 0, isSame } : measured;
    if (!kept && !before?.isSame) return;
    await facts.note(noteOf(space), kept && JSON.stringify({ ...kept, vectors }));
    await this.measured(space);
  }

  async measured(space: VectorSpace): Promise<KeptWeight | undefined> {
    const kept = readKept(await this.#facts?.noted(noteOf(space)));
    this.#weights.set(spaceName(space), kept);
    return kept;
  }

  async #sampleOf(space: VectorSpace, vectors: number): Promise<readonly Float32Array[]> {
    const name = spaceName(space);
    const own = this.#held.get(name);
    // Equal vectors are read again each time: the provider may have been repaired.
    if (own && Math.abs(vectors - own.vectors) <= sampleHolds * own.vectors && !areSame(own.sample)) return own.sample;
    const sample = ((await this.#facts?.sampleVectors(space, sampled)) ?? []).map(({ vector }) => vector);
    this.#held.set(name, { vectors, sample });
    await this.measured(space);
    return sample;
  }
}

/** Texts that `measure` embeds: sentences and their surroundings. Empty if there are too few. */
export function measuringTexts(sample: readonly { hash: string; text: string }[]): string[] {
  const pairs = partnerPairs(sample, pairCount);
  return pairs.length < pairCount ? [] : pairs.flatMap(({ sentence, rest }) => [sentence, rest]);
}

/** Whether vectors of different texts are all one, but for rounding. One alone says nothing. */
export function areSame(vectors: readonly Float32Array[]): boolean {
  const [first] = vectors;
  return first !== undefined && vectors.length > 1 && vectors.every((vector) => cosineOf(first, vector) > 1 - 1e-6);
}

export async function isMeasured(facts: SpaceFacts, space: VectorSpace, vectors: number): Promise<boolean> {
  return serves(readKept(await facts.noted(noteOf(space))), vectors);
}

function serves(before: KeptWeight | undefined, vectors: number): boolean {
  return before !== undefined && vectors <= weightHolds * before.vectors && before.vectors <= weightHolds * vectors;
}

function qualityOf(vectors: readonly Float32Array[]): MeasuredWeight {
  return partnerQuality(
    vectors.filter((_, index) => index % 2 === 0),
    vectors.filter((_, index) => index % 2 === 1),
  );
}

/** Finds partner texts in both directions. Weight: `0.25 × (quality - 3 standard errors of chance)`, 0 to 0.15. */
export function partnerQuality(sentences: readonly Float32Array[], rests: readonly Float32Array[]): MeasuredWeight {
  const pairs = sentences.length;
  const similarity = sentences.map((sentence) => rests.map((rest) => cosineOf(sentence, rest)));
  const column = (index: number): number[] => similarity.map((row) => row[index] ?? 0);
  const ranks = similarity.flatMap((row, index) => [1 / rankIn(row, index), 1 / rankIn(column(index), index)]);
  // Every rank from 1 to `pairs` is as likely.
  const { mean: chance, deviation } = spread(Array.from({ length: pairs }, (_, index) => 1 / (index + 1)));
  const quality = (spread(ranks).mean - chance) / (1 - chance);
  const error = deviation / Math.sqrt(ranks.length) / (1 - chance);
  const weight = Math.min(mostWeight, Math.max(0, weightPerQuality * (quality - errorsOfChance * error)));
  return { quality, weight, pairs };
}

function rankIn(values: readonly number[], own: number): number {
  const value = values[own] ?? 0;
  const above = values.filter((other) => other > value).length;
  const equal = values.filter((other) => other === value).length;
  return above + (equal + 1) / 2;
}

function noteOf(space: VectorSpace): string {
  return `space:weight:${spaceName(space)}`;
}

function readKept(text: string | undefined): KeptWeight | undefined {
  const value = (jsonOf(text) ?? {}) as KeptWeight;
  const numbers = [value.quality, value.weight, value.pairs, value.vectors];
  return numbers.every(Number.isFinite) ? value : undefined;
}

/** A sentence of a chunk, and what is around it there without the words of the sentence: they belong together. */
interface PartnerPair {
  sentence: string;
  rest: string;
}

const leastTerms = 4;
const around = 3;
const maxLength = 400;

/** Calibration pairs by the inverse cloze task (Lee, Chang and Toutanova 2019), without shared words. */
export function partnerPairs(chunks: readonly { hash: string; text: string }[], limit: number): PartnerPair[] {
  const pairs: PartnerPair[] = [];
  // Loaded here because the tables cost milliseconds and most callers need no pairs.
  const sentences = new Intl.Segmenter("und", { granularity: "sentence" });
  const words = new Intl.Segmenter("und", { granularity: "word" });
  for (const chunk of chunks) {
    if (pairs.length >= limit) break;
    const pair = pairOf(chunk, { sentences, words });
    if (pair !== undefined) pairs.push(pair);
  }
  return pairs;
}

function pairOf(
  { hash, text }: { hash: string; text: string },
  { sentences, words }: Readonly<Record<"sentences" | "words", Intl.Segmenter>>,
): PartnerPair | undefined {
  const parts = text
    .split("\n")
    .flatMap((line) => Array.from(sentences.segment(line), ({ segment }) => segment.trim()))
    .filter((part) => termsOf(part).size >= leastTerms);
  if (parts.length < 2) return undefined;
  const chosen = Number.parseInt(hash.slice(0, 8), 16) % parts.length;
  const sentence = parts[chosen] ?? parts[0] ?? "";
  const beside = [
    ...parts.slice(Math.max(0, chosen - around), chosen),
    ...parts.slice(chosen + 1, chosen + 1 + around),
  ];
  const rest = without(beside.join("\n"), sentence, words).slice(0, maxLength);
  return termsOf(rest).size < leastTerms ? undefined : { sentence: sentence.slice(0, maxLength), rest };
}

function without(text: string, other: string, words: Intl.Segmenter): string {
  const taken = sharedUnits(other);
  return Array.from(words.segment(text), ({ segment }) => (sharedUnits(segment).isDisjointFrom(taken) ? segment : " "))
    .join("")
    .replaceAll(/ {2,}/g, " ")
    .trim();
}

/** The terms of a text, and single characters of scripts in which one character is a word. */
function sharedUnits(text: string): Set<string> {
  return termsOf(text).union(new Set(text.match(/\p{Script=Han}/gu)));
}

function termsOf(text: string): Set<string> {
  const terms = new Set<string>();
  scanTerms(text, (term) => void terms.add(term));
  return terms;
}
