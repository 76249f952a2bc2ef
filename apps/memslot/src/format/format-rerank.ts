import type { MemoryProviderStatus, RerankReport } from "@memslot/core";

/** Number of results that `--explain` lists. */
const MOST_PLACES = 12;

export function describeReranker({ rerank }: MemoryProviderStatus): string | undefined {
  if (rerank === undefined) return undefined;
  const { id, model, host, keySource, requested, reason } = rerank;
  if (id === undefined) return `none (requested: ${requested}): ${reason}`;
  const where = host === undefined ? "" : ` at ${host}`;
  return `${id} ${model ?? ""}${where}${keySource === undefined ? "" : ` (key from ${keySource})`}`;
}

/** What a reranker did for a search: one line, then the results that it moved. */
export function describeRerank({ state, reason, id, model, candidates, cached, ms, order = [] }: RerankReport): string {
  const who = [id, model].filter(Boolean).join(" ");
  if (state !== "done") return `${who}, ${state}: ${reason ?? "no reason given"}`;
  const how = cached ? "cached" : `${ms.toFixed(1)} ms`;
  const places = order.slice(0, MOST_PLACES).map(({ path, startLine, before, after, score, rerankScore }) => {
    const from = before === after ? `${after}.` : `${after}. (was ${before}.)`;
    return `  ${from.padEnd(14)} ${path}:${startLine}  score ${score.toFixed(3)}, reranked ${rerankScore.toFixed(3)}`;
  });
  return [`${who}, ${candidates} candidates, ${how}`, ...places].join("\n");
}
