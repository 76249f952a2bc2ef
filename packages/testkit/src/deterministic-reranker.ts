import { MemoryError, type Reranker } from "@memslot/core";
import { indexTerms } from "@memslot/indexing";

/** A reranker without a model: the score of a text is the share of the query's terms that it holds, 0 to 1. */
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
