import { type EmbeddingPrice, MemoryError } from "@memslot/core";

/** What is known of a model before the first call. */
export interface GeminiModel {
  /** Without `models/` before it. */
  name: string;
  /** Length of its vectors, as asked for or as it makes them; undefined for a model that is not in the table. */
  dimensions: number | undefined;
  /** The length to ask for; undefined leaves it to the model. */
  outputDimensionality: number | undefined;
  maxInputTokens: number;
  /** It reads what a text is for in words before the text, and knows no task types. */
  readsPrefixes: boolean;
  /** At Google itself. */
  price: EmbeddingPrice | undefined;
}

interface KnownModel {
  matches: RegExp;
  maxInputTokens: number;
  readsPrefixes: boolean;
  usdPerMillionTokens: number;
}

const defaultModel = "gemini-embedding-001";
// What every embedding model of this API takes.
const leastInputTokens = 2048;
// Both models of the table make vectors that can be cut anywhere between these.
const shortestVector = 128;
const longestVector = 3072;

const knownModels: readonly KnownModel[] = [
  { matches: /^gemini-embedding-001$/, maxInputTokens: 2048, readsPrefixes: false, usdPerMillionTokens: 0.15 },
  { matches: /^gemini-embedding-2(?:-|$)/, maxInputTokens: 8192, readsPrefixes: true, usdPerMillionTokens: 0.2 },
];

/** Throws `CONFIG` for a name that is none, and for a length that the model does not offer. */
export function resolveModel(written: string | undefined, outputDimensionality: number | undefined): GeminiModel {
  const name = (written?.trim() || defaultModel).replace(/^models\//, "").replace(/^(?:google|gemini)\//, "");
  if (!/^[\w-][\w.-]*$/.test(name) || name.includes(".."))
    throw new MemoryError(
      "CONFIG",
      `model is "${written}", which is no name of a Gemini model; "${defaultModel}" is one`,
    );
  const known = knownModels.find(({ matches }) => matches.test(name));
  const isOffered =
    outputDimensionality === undefined ||
    (outputDimensionality >= shortestVector && outputDimensionality <= longestVector);
  if (known !== undefined && !isOffered)
    throw new MemoryError(
      "CONFIG",
      `outputDimensionality is ${outputDimensionality}, but ${name} makes vectors of ${shortestVector} to ${longestVector} numbers`,
    );
  return {
    name,
    dimensions: outputDimensionality ?? (known && longestVector),
    outputDimensionality,
    maxInputTokens: known?.maxInputTokens ?? leastInputTokens,
    readsPrefixes: known?.readsPrefixes ?? false,
    price: known && priceOf(known),
  };
}

/** Text costs half through the batch interface. */
function priceOf({ usdPerMillionTokens }: KnownModel): EmbeddingPrice {
  return {
    usdPerMillionTokens,
    batchUsdPerMillionTokens: usdPerMillionTokens / 2,
    asOf: "2026-04-25",
    source: "https://ai.google.dev/gemini-api/docs/pricing",
  };
}
