/**
 * The scores of an answer, in the order of the texts that were sent: of `{results: [{index, relevance_score}]}` (Cohere,
 * Jina, vLLM, llama-server), of `{data: […]}`, or of a list of `{index, score}` (text-embeddings-inference). Each text has
 * to have exactly one.
 */
export function readScores(answer: unknown, count: number): number[] | { problem: string } {
  const rows = rowsOf(answer);
  if (rows === undefined) return { problem: "there is no list of results in it" };
  const scores = new Map<number, number>();
  for (const row of rows) {
    const { index, relevance_score: relevance, score = relevance } = fieldsOf(row);
    if (!Number.isInteger(index) || Number(index) < 0 || Number(index) >= count)
      return { problem: `a result has an index that is none of 0 to ${count - 1}` };
    if (typeof score !== "number" || !Number.isFinite(score)) return { problem: "a result has no score" };
    if (scores.has(Number(index))) return { problem: `text ${Number(index)} has two scores` };
    scores.set(Number(index), score);
  }
  if (scores.size !== count) return { problem: `${scores.size} of ${count} texts have a score` };
  return Array.from({ length: count }, (_, index) => scores.get(index) ?? 0);
}

function rowsOf(answer: unknown): unknown[] | undefined {
  if (Array.isArray(answer)) return answer;
  const { results, data = results } = fieldsOf(answer);
  return Array.isArray(data) ? data : undefined;
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
