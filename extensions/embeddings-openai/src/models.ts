import type { EmbeddingPrice, EmbeddingProvider } from "@memslot/core";
import table from "./models.json" with { type: "json" };

export const defaultModel = "text-embedding-3-small";

type Limits = Pick<EmbeddingProvider, "dimensions" | "maxInputTokens" | "maxBatchItems" | "maxBatchTokens">;

/** The models of OpenAI, by their ids. */
const openAiModels: Readonly<Record<string, { dimensions: number; usd: number }>> = table.openai;

// Tokens that a text may have, by the plain name: lower case, words parted by `-`. The first row that matches counts.
// From the models' cards; less than there where servers run the model with less by themselves.
const inputTokens = table.inputTokens as [name: string, tokens: number][];

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
  const known = inputTokens.find(([name]) => new RegExp(name).test(plain))?.[1] ?? (isOpenAi ? 8191 : undefined);
  // What is put in front of a text takes its share, at three characters a token to be on the safe side.
  const maxInputTokens = known === undefined ? undefined : known - Math.ceil(prefix.length / 3);
  const dimensions = options.dimensions ?? (isOpenAi ? openAiModels[model]?.dimensions : undefined);
  return { dimensions, maxInputTokens, ...(isOpenAi ? table.limits.openai : table.limits.others) };
}

/** What OpenAI takes for a model, through its batch interface half of it. */
export function priceOf(model: string): EmbeddingPrice | undefined {
  const usd = openAiModels[model]?.usd;
  return usd === undefined
    ? undefined
    : { usdPerMillionTokens: usd, batchUsdPerMillionTokens: usd / 2, ...table.price };
}
