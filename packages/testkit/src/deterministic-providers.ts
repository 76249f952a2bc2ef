import { setTimeout as sleep } from "node:timers/promises";
import {
  type EmbeddingPlugin,
  type EmbeddingProvider,
  type RerankPlugin,
  type Reranker,
  MemoryError,
  defineEmbeddingPlugin,
  defineRerankPlugin,
} from "@memslot/core";
import { indexTerms } from "@memslot/indexing";
import data from "./data/words.json" with { type: "json" };

export interface DeterministicEmbeddingsOptions {
  /** Length of the vectors; 256 if left out. */
  dimensions?: number | undefined;
  /** Every nth call fails, counted over both methods; 0 for none. */
  failEvery?: number | undefined;
  /** Milliseconds that each call takes. An abort ends it. */
  delayMs?: number | undefined;
  /** More groups of words or phrases with one meaning. */
  synonyms?: readonly (readonly string[])[] | undefined;
  /** Name of the model; `bag-of-words` if left out. Another model gives other vectors. */
  model?: string | undefined;
}

/** The calls of a fake provider so far. */
export interface EmbeddingCalls {
  queries: number;
  batches: number;
  /** In all batches. */
  texts: number;
  failures: number;
}

export interface DeterministicEmbeddings extends EmbeddingProvider {
  calls(): EmbeddingCalls;
}

const defaultDimensions = 256;
const maxBatchItems = 16;
// Two texts of one meaning must be near, also if they share none of some hundred words.
const conceptWeight = 8;

/**
 * A fake embedding provider without a model. Hashes each word into one dimension of a vector of unit length. Words of one
 * synonym group share a dimension of more weight, so their texts are near. Refuses a batch above its stated limit.
 */
export function deterministicEmbeddings(options: DeterministicEmbeddingsOptions = {}): DeterministicEmbeddings {
  const { dimensions = defaultDimensions, failEvery = 0, delayMs = 0, model = "bag-of-words" } = options;
  if (!Number.isInteger(dimensions) || dimensions < 1)
    throw new RangeError(`dimensions must be a positive integer, not ${dimensions}`);
  const concepts = [...data.synonyms, ...(options.synonyms ?? [])].map((group) =>
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
        throw new RangeError(`${texts.length} texts in one batch; the limit is ${maxBatchItems}`);
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
    if (group.some((phrase) => contains(plain, phrase))) add(vector, `concept ${index}`, model, conceptWeight);
  }
  for (const word of wordsOf(plain)) add(vector, word, model, 1);
  // A text without words also needs a direction.
  if (vector.every((value) => value === 0)) add(vector, "(nothing)", model, 1);
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

/** A phrase in Latin letters also matches its plural, and with `*` every word that begins with it. */
function contains(plain: string, phrase: string): boolean {
  const wanted = phrase.replaceAll(/[^\p{L}\p{N}]+/gu, " ").trim();
  if (unspaced.test(wanted)) return plain.includes(wanted);
  if (phrase.endsWith("*")) return plain.includes(` ${wanted}`);
  return plain.includes(` ${wanted} `) || plain.includes(` ${wanted}s `);
}

const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;
const grammar = new Set(data.grammar);

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
  const dimension = hash % vector.length;
  // The sign makes two words of one dimension different.
  vector[dimension] = (vector[dimension] ?? 0) + (hash & 0x8000_0000 ? -weight : weight);
}

/** FNV-1a with a final mix, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** A fake reranker: the score of a text is the share of the query's terms that it contains, 0 to 1. */
export function deterministicReranker(own: Partial<Reranker> = {}): Reranker {
  let isClosed = false;
  return {
    id: "deterministic",
    model: "shared-terms",
    async rerank(query, texts, { signal }) {
      if (isClosed) throw new MemoryError("CLOSED", "this reranker is closed");
      signal.throwIfAborted();
      const asked = termsOf(query);
      return texts.map((text) => (asked.size === 0 ? 0 : asked.intersection(termsOf(text)).size / asked.size));
    },
    async close() {
      isClosed = true;
    },
    ...own,
  };
}

function termsOf(text: string): Set<string> {
  return new Set(indexTerms(text).split(" "));
}

/** The fake as a plugin: `memorySearch.query.rerank.provider: "deterministic"`. */
export const deterministicRerankPlugin: RerankPlugin = defineRerankPlugin({
  id: "deterministic",
  open: async () => deterministicReranker(),
});
