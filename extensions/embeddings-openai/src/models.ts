import type { EmbeddingPrice } from "@memslot/core";

export const defaultModel = "text-embedding-3-small";

export interface Limits {
  dimensions: number | undefined;
  maxInputTokens: number | undefined;
  maxBatchItems: number;
  maxBatchTokens: number;
}

/** The models of OpenAI, by their ids. */
const openAiModels: Readonly<Record<string, { dimensions: number; usd: number }>> = {
  "text-embedding-3-small": { dimensions: 1536, usd: 0.02 },
  "text-embedding-3-large": { dimensions: 3072, usd: 0.13 },
  "text-embedding-ada-002": { dimensions: 1536, usd: 0.1 },
};

// Tokens that a text may have, by the plain name: lower case, words parted by `-`. The first row that matches counts.
// From the models' cards; less than there where servers run the model with less by themselves.
const inputTokens: readonly (readonly [RegExp, number])[] = [
  [/text-embedding-(?:3-small|3-large|ada-002)\b/, 8191],
  [/nomic-embed-text-v2/, 512],
  [/nomic-embed-text/, 2048],
  [/embedding-?gemma/, 2048],
  [/\be5-mistral\b/, 4096],
  [/\be5-(?:small|base|large)\b/, 512],
  [/\bbge-m3\b/, 8192],
  [/\bbge-(?:small|base|large)\b/, 512],
  [/\bmxbai-embed-large\b/, 512],
  [/\barctic-embed(?:2\b|-[a-z]+-v2\b)/, 8192],
  [/\barctic-embed\b/, 512],
  [/\ball-minilm\b/, 256],
  [/\bqwen-?3-embed/, 8192],
];

/**
 * How much one request may hold. OpenAI takes 2048 texts and 300,000 tokens; less than that answers sooner and loses
 * less when it fails. Other hosts are taken to be smaller; one that refuses as much gets less after that.
 */
export function limitsOf(
  model: string,
  options: { isOpenAi: boolean; dimensions: number | undefined; prefix: string },
): Limits {
  const { isOpenAi, prefix } = options;
  const plain = model.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  const known = inputTokens.find(([name]) => name.test(plain))?.[1] ?? (isOpenAi ? 8191 : undefined);
  // What is put in front of a text takes its share, at three characters a token to be on the safe side.
  const maxInputTokens = known === undefined ? undefined : known - Math.ceil(prefix.length / 3);
  const dimensions = options.dimensions ?? (isOpenAi ? openAiModels[model]?.dimensions : undefined);
  if (isOpenAi) return { dimensions, maxInputTokens, maxBatchItems: 512, maxBatchTokens: 200_000 };
  return { dimensions, maxInputTokens, maxBatchItems: 128, maxBatchTokens: 64_000 };
}

/** What OpenAI takes for a model, through its batch interface half of it. */
export function priceOf(model: string): EmbeddingPrice | undefined {
  const usd = openAiModels[model]?.usd;
  if (usd === undefined) return undefined;
  return {
    usdPerMillionTokens: usd,
    batchUsdPerMillionTokens: usd / 2,
    asOf: "2026-05-01",
    source: "https://developers.openai.com/api/docs/pricing",
  };
}
