import { setTimeout as sleep } from "node:timers/promises";
import { type EmbeddingPlugin, type EmbeddingProvider, defineEmbeddingPlugin } from "@memslot/core";
import builtInSynonyms from "./data/synonyms.json" with { type: "json" };

export interface DeterministicEmbeddingsOptions {
  /** Length of the vectors; 256 if left out. */
  dimensions?: number | undefined;
  /** Every call with a number that divides by this fails. Counted over both methods. */
  failEvery?: number | undefined;
  /** Milliseconds that each call takes. An abort ends the wait. */
  delayMs?: number | undefined;
  /** Groups of words or phrases with one meaning, besides the built-in ones. */
  synonyms?: readonly (readonly string[])[] | undefined;
  /** Part of the identity of the vectors; `bag-of-words` if left out. Another model gives other vectors. */
  model?: string | undefined;
}

/** What a fake provider was asked so far. */
export interface EmbeddingCalls {
  queries: number;
  batches: number;
  /** Texts in all batches. */
  texts: number;
  failures: number;
}

export interface DeterministicEmbeddings extends EmbeddingProvider {
  calls(): EmbeddingCalls;
}

const defaultDimensions = 256;
const maxBatchItems = 16;
// A shared meaning has to be seen beside some hundred words that are not shared.
const conceptWeight = 8;

/**
 * A fake: an embedding provider with no model behind it, for tests. Each word is hashed into one place of a vector of
 * unit length, and words of one synonym group share a heavy place, so that a paraphrase made of those words is near.
 * It knows nothing of language beyond that table. It refuses a batch that is larger than the limit it states.
 */
export function deterministicEmbeddings(options: DeterministicEmbeddingsOptions = {}): DeterministicEmbeddings {
  const { dimensions = defaultDimensions, failEvery = 0, delayMs = 0, model = "bag-of-words" } = options;
  if (!Number.isInteger(dimensions) || dimensions < 1)
    throw new RangeError(`dimensions has to be a positive integer, not ${dimensions}`);
  // Each group is one meaning, and all that is known of words. In Latin letters a word stands for its plural too, and one
  // that ends in `*` for every word that begins so.
  const concepts = [...builtInSynonyms, ...(options.synonyms ?? [])].map((group) =>
    group.map((phrase) => phrase.toLowerCase()),
  );
  const counts: EmbeddingCalls = { queries: 0, batches: 0, texts: 0, failures: 0 };

  async function enter(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    const number = counts.queries + counts.batches;
    if (delayMs > 0) await sleep(delayMs, undefined, signal === undefined ? {} : { signal });
    if (failEvery > 0 && number % failEvery === 0) {
      counts.failures++;
      throw new Error(`the fake embedding provider fails on purpose (call ${number})`);
    }
  }

  return {
    id: "deterministic",
    model,
    dimensions,
    maxBatchItems,
    async embedQuery(text, { signal } = {}) {
      counts.queries++;
      await enter(signal);
      return embed(text, dimensions, model, concepts);
    },
    async embedBatch(texts, { signal } = {}) {
      counts.batches++;
      counts.texts += texts.length;
      if (texts.length > maxBatchItems)
        throw new RangeError(`${texts.length} texts in one batch, where the limit is ${maxBatchItems}`);
      await enter(signal);
      return texts.map((text) => embed(text, dimensions, model, concepts));
    },
    calls: () => ({ ...counts }),
  };
}

/** The fake as a plugin: `memorySearch.provider: "deterministic"`. */
export const deterministicEmbeddingPlugin: EmbeddingPlugin = defineEmbeddingPlugin({
  id: "deterministic",
  configSchema: {
    type: "object",
    properties: {
      dimensions: { type: "integer", minimum: 1 },
      failEvery: { type: "integer", minimum: 0 },
      delayMs: { type: "number", minimum: 0 },
    },
    additionalProperties: false,
  },
  open: async ({ options }) => deterministicEmbeddings(options),
});

function embed(
  text: string,
  dimensions: number,
  model: string,
  concepts: readonly (readonly string[])[],
): Float32Array {
  const vector = new Float32Array(dimensions);
  const plain = ` ${text
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim()} `;
  for (const [index, group] of concepts.entries()) {
    if (group.some((phrase) => holds(plain, phrase))) add(vector, `concept ${index}`, model, conceptWeight);
  }
  for (const word of wordsOf(plain)) add(vector, word, model, 1);
  // A text with no word in it still gets a direction.
  if (vector.every((value) => value === 0)) add(vector, "(nothing)", model, 1);
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

/** A phrase in Latin letters stands for itself and its plural, and with `*` for every word that begins so. */
function holds(plain: string, phrase: string): boolean {
  const wanted = phrase.replaceAll(/[^\p{L}\p{N}]+/gu, " ").trim();
  if (unspaced.test(wanted)) return plain.includes(wanted);
  if (phrase.endsWith("*")) return plain.includes(` ${wanted}`);
  return plain.includes(` ${wanted} `) || plain.includes(` ${wanted}s `);
}

const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;
const grammar = new Set(
  "a an and are as at be but by can do did does for from had has have how i in is it my not of on or our she that the their they this to was we what when where which who will with you".split(
    " ",
  ),
);

function wordsOf(plain: string): Set<string> {
  const words = new Set<string>();
  for (const word of plain.trim().split(" ")) {
    if (word === "" || grammar.has(word)) continue;
    if (!unspaced.test(word)) words.add(word.length > 4 ? word.replace(/(?:ing|ed|es|s)$/, "") : word);
    else for (let index = 0; index < word.length; index++) words.add(word.slice(index, index + 2));
  }
  return words;
}

function add(vector: Float32Array, word: string, model: string, weight: number): void {
  const hash = hashOf(`${model} ${word}`);
  const place = hash % vector.length;
  // The sign keeps two words that share a place from always looking alike.
  vector[place] = (vector[place] ?? 0) + (hash & 0x8000_0000 ? -weight : weight);
}

/** FNV-1a with a final mix, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
