import { EmbeddingError } from "@memslot/core";
import type { Endpoint } from "./endpoint.ts";
import { httpFailure, noVectorsFailure, withoutSecrets } from "./http-failures.ts";
import { isRecord, readVectors } from "./read-vectors.ts";

type Result = ArrayLike<number> | EmbeddingError | undefined;

/**
 * Puts what the lines say to the places in `results` that they name. Gives the tokens that they say it has cost. Texts
 * that were not worked on, because the job expired or was cancelled, keep `undefined`.
 */
export async function collectLines(
  lines: AsyncIterable<string>,
  results: Result[],
  about: { endpoint: Endpoint; model: string },
): Promise<number> {
  const asked = { ...about, path: "/embeddings" };
  let tokens = 0;
  for await (const line of lines) {
    const row = parsed(line);
    if (!isRecord(row)) continue;
    const index = /^\d+$/.test(String(row["custom_id"])) ? Number(row["custom_id"]) : results.length;
    if (index >= results.length) continue;
    const { response, error } = row;
    if (isRecord(response)) {
      const { status_code: status, body } = response;
      const answer = readVectors(body);
      if (typeof status === "number" && (status < 200 || status > 299))
        results[index] = httpFailure({ status, body }, asked);
      else results[index] = answer?.vectors[0] ?? noVectorsFailure(body, asked);
      tokens += answer?.tokens ?? 0;
    } else if (isRecord(error)) results[index] = lineFailure(error, about.endpoint);
  }
  return tokens;
}

function lineFailure({ code, message }: Record<string, unknown>, endpoint: Endpoint): EmbeddingError | undefined {
  if (code === "batch_expired" || code === "batch_cancelled") return undefined;
  const words = withoutSecrets(`${String(code)}: ${String(message)}`, endpoint);
  return new EmbeddingError("transient", `the batch job failed for this text with ${words}`);
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // A line that was cut short names no text: it counts as not worked on.
  }
}
