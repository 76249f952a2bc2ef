import { type Answer, geminiError, ok } from "../answer.ts";
import { spoiled, type VectorFault } from "../faults.ts";
import type { EmbeddingApiLimits } from "../options.ts";
import { tokensOf, type VectorSource } from "../vectors.ts";

interface EmbedRequest {
  model?: unknown;
  content?: { parts?: { text?: unknown }[] };
  outputDimensionality?: unknown;
  output_dimensionality?: unknown;
}

/** Answers for a model's `:embedContent` and `:batchEmbedContents`, and for the requests of batch jobs. */
export interface GeminiEmbeddings {
  one(model: string, request: unknown, fault?: VectorFault): Promise<Answer>;
  many(model: string, body: unknown, fault?: VectorFault): Promise<Answer>;
}

export function createGeminiEmbeddings(context: {
  vectors: VectorSource;
  limits: EmbeddingApiLimits;
}): GeminiEmbeddings {
  const { items = 100, inputTokens = Infinity, requestTokens = Infinity } = context.limits;

  /** The vectors of the requests, or the refusal of the first that is wrong. */
  async function embed(
    model: string,
    requests: readonly unknown[],
    fault: VectorFault | undefined,
  ): Promise<{ values: (number | null)[][]; tokens: number } | Answer> {
    const texts: string[] = [];
    let dimensions: number | undefined;
    for (const [index, item] of requests.entries()) {
      const request = (item ?? {}) as EmbedRequest;
      const text = textOf(request);
      const place = requests.length > 1 ? `requests[${index}].` : "";
      if (text === "") return geminiError(400, `* ${place}content: contents is not specified`);
      if (request.model !== undefined && request.model !== `models/${model}`)
        return geminiError(400, `* ${place}model: the model of each request has to be models/${model}`);
      const width = request.outputDimensionality ?? request.output_dimensionality;
      if (typeof width === "number") dimensions = width;
      texts.push(text);
    }
    const longest = Math.max(...texts.map((text) => tokensOf([text])));
    if (longest > inputTokens) return tooMany(longest, inputTokens);
    if (tokensOf(texts) > requestTokens) return tooMany(tokensOf(texts), requestTokens);
    const { vectors, tokens } = await context.vectors.embed(model, texts, dimensions);
    return { values: spoiled(vectors, fault).map((vector) => Array.from(vector)), tokens };
  }

  return {
    async one(model, request, fault) {
      const made = await embed(model, [request], fault);
      if ("status" in made) return made;
      const [values = []] = made.values;
      return ok({ embedding: { values }, usageMetadata: { promptTokenCount: made.tokens } });
    },
    async many(model, body, fault) {
      const { requests } = (body ?? {}) as { requests?: unknown };
      if (!Array.isArray(requests) || requests.length === 0)
        return geminiError(400, "* BatchEmbedContentsRequest.requests: requests is not specified");
      if (requests.length > items)
        return geminiError(400, `* BatchEmbedContentsRequest.requests: at most ${items} requests can be in one batch`);
      const made = await embed(model, requests, fault);
      if ("status" in made) return made;
      return ok({
        embeddings: made.values.map((values) => ({ values })),
        usageMetadata: { promptTokenCount: made.tokens },
      });
    },
  };
}

function textOf({ content }: EmbedRequest): string {
  return (content?.parts ?? []).map(({ text }) => (typeof text === "string" ? text : "")).join("\n");
}

function tooMany(tokens: number, limit: number): Answer {
  return geminiError(400, `The input token count (${tokens}) exceeds the maximum number of tokens allowed (${limit}).`);
}
