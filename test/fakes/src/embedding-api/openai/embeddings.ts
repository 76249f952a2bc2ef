import { type Answer, ok, openaiError } from "../answer.ts";
import { type ApiFault, spoiled, vectorFaultOf } from "../faults.ts";
import type { EmbeddingApiLimits } from "../options.ts";
import { tokensOf, type VectorSource } from "../vectors.ts";

interface EmbeddingsBody {
  input?: unknown;
  model?: unknown;
  dimensions?: unknown;
  encoding_format?: unknown;
}

/** Answers `POST /v1/embeddings`, and each line of a batch job. */
export async function openaiEmbeddings(
  body: unknown,
  options: { vectors: VectorSource; limits: EmbeddingApiLimits; fault?: ApiFault | undefined },
): Promise<Answer> {
  const { input, model, dimensions, encoding_format: wanted } = (body ?? {}) as EmbeddingsBody;
  if (typeof model !== "string" || model === "") return openaiError(400, "you must provide a model parameter");
  const texts = textsOf(input);
  if (texts === undefined || texts.length === 0 || texts.includes(""))
    return openaiError(400, "'$.input' is invalid. Please check the API reference.", { param: "input" });
  const refused = overLimit(texts, options.limits);
  if (refused !== undefined) return refused;
  const width = typeof dimensions === "number" ? dimensions : undefined;
  const { vectors, tokens } = await options.vectors.embed(model, texts, width);
  const fault = vectorFaultOf(options.fault);
  const format = options.fault?.format ?? wanted;
  const data = spoiled(vectors, fault, texts).map((vector, index) => ({
    object: "embedding",
    index,
    embedding: format === "base64" ? base64(vector) : Array.from(vector),
  }));
  if (fault === "reverse") data.reverse();
  return ok({ object: "list", data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } });
}

/** A text, texts, the numbers of tokens, or several runs of these; undefined for anything else. */
function textsOf(input: unknown): string[] | undefined {
  if (typeof input === "string") return [input];
  if (!Array.isArray(input)) return undefined;
  if (input.length > 0 && input.every((item) => typeof item === "number")) return [input.join(" ")];
  const texts = input.map((item) => (Array.isArray(item) ? item.join(" ") : (item as unknown)));
  return texts.every((text) => typeof text === "string") ? texts : undefined;
}

function overLimit(texts: readonly string[], limits: EmbeddingApiLimits): Answer | undefined {
  const { items = 2048, inputTokens = 8192, requestTokens = 300_000 } = limits;
  if (texts.length > items)
    return openaiError(
      400,
      `Invalid 'input': array too long. Expected an array with maximum length ${items}, but got an array with length ${texts.length} instead.`,
      { param: "input", code: "array_above_max_length" },
    );
  const longest = Math.max(...texts.map((text) => tokensOf([text])));
  if (longest > inputTokens)
    return openaiError(
      400,
      `This model's maximum context length is ${inputTokens} tokens, however you requested ${longest} tokens (${longest} in your prompt; 0 for the completion). Please reduce your prompt; or completion length.`,
    );
  const all = tokensOf(texts);
  if (all <= requestTokens) return undefined;
  return openaiError(400, `Requested ${all} tokens, max ${requestTokens} tokens per request`, {
    type: "max_tokens_per_request",
    code: "max_tokens_per_request",
  });
}

/** The bytes of the floats, lowest first. */
function base64(vector: Float32Array): string {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString("base64");
}
