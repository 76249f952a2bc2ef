/** What an answer with vectors holds. */
export interface IndexVectorAnswer {
  vectors: ArrayLike<number>[];
  /** Undefined where it does not say. */
  tokens: number | undefined;
}

/**
 * Reads the body of an answer: vectors in base64 or as numbers, by their `index` where they have one. Whether they are
 * right in count, size and numbers is for the host to see. Undefined for what is no answer of this kind.
 */
export function readVectors(body: unknown): IndexVectorAnswer | undefined {
  if (!isRecord(body) || !Array.isArray(body["data"])) return undefined;
  const rows: { index: number; vector: ArrayLike<number> }[] = [];
  for (const [place, row] of body["data"].entries()) {
    const vector = isRecord(row) ? readVector(row["embedding"]) : undefined;
    if (!isRecord(row) || vector === undefined) return undefined;
    rows.push({ index: typeof row["index"] === "number" ? row["index"] : place, vector });
  }
  rows.sort((left, right) => left.index - right.index);
  const usage = isRecord(body["usage"]) ? body["usage"]["total_tokens"] : undefined;
  // Some servers say 0 of everything.
  const tokens = typeof usage === "number" && usage > 0 ? usage : undefined;
  return { vectors: rows.map(({ vector }) => vector), tokens };
}

/** What is no number in a vector becomes NaN, and `null` an empty vector: the host knows by that which text failed. */
function readVector(embedding: unknown): ArrayLike<number> | undefined {
  if (embedding === null) return [];
  if (Array.isArray(embedding)) {
    if (embedding.every((value) => typeof value === "number")) return embedding;
    // A list of vectors has one for each token; with a single one that is the vector of the text.
    if (embedding.some(Array.isArray)) return embedding.length === 1 ? readVector(embedding[0]) : undefined;
    return embedding.map((value) =>
      typeof value === "string" && value.trim() !== "" ? Number(value) : (value ?? Number.NaN),
    );
  }
  if (typeof embedding !== "string") return undefined;
  const bytes = Buffer.from(embedding, "base64");
  if (bytes.length === 0 || bytes.length % 4 !== 0) return undefined;
  const vector = new Float32Array(bytes.length / 4);
  new Uint8Array(vector.buffer).set(bytes);
  return vector;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
