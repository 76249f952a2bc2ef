/** How often each of the terms that were asked for stands in a text, and how many words it has. */
export interface CountedText {
  /** By the index of the term. */
  counts: ReadonlyMap<number, number>;
  length: number;
}

/** Saturation and length normalisation of BM25 (Robertson and Zaragoza 2009), as in SQLite's FTS5. */
const k1 = 1.2;
const b = 0.75;

/** Inverse document frequency, never negative: log(1 + (N - n + 0.5) / (n + 0.5)), Robertson and Spärck Jones. */
export function inverseDocumentFrequency(chunkCount: number, documentFrequency: number): number {
  const count = Math.min(documentFrequency, chunkCount);
  return Math.log(1 + (chunkCount - count + 0.5) / (count + 0.5));
}

/** What one term of this weight adds to the score of a text that holds it `count` times. `share`: its length by the usual one. */
export function termScore(idf: number, count: number, share: number): number {
  return (idf * count * (k1 + 1)) / (count + k1 * (1 - b + b * share));
}

/** What a term adds to a text that is nothing but that term, however short texts are usually. */
export function idealTermScore(idf: number): number {
  return (idf * (k1 + 1)) / (1 + k1 * (1 - b));
}

/**
 * BM25 of texts, from nothing but what is given: for a search within a scope, where the figures of a whole index would
 * tell what stands outside. `texts` are those that hold any of the terms; the usual length is theirs.
 */
export function bm25Within(
  texts: readonly CountedText[],
  { chunkCount, documentFrequencies }: { chunkCount: number; documentFrequencies: readonly number[] },
): number[] {
  const weights = documentFrequencies.map((holders) => inverseDocumentFrequency(chunkCount, holders));
  const usualLength = texts.reduce((sum, { length }) => sum + length, 0) / Math.max(1, texts.length);
  return texts.map(({ counts, length }) => {
    const share = usualLength > 0 ? length / usualLength : 1;
    let score = 0;
    // In the order of the terms: a sum of the same numbers in another order is another number.
    for (const [index, weight] of weights.entries()) {
      score += termScore(weight, counts.get(index) ?? 0, share);
    }
    return score;
  });
}

/** In more chunks than this, very common terms do not choose the candidates: the cost of a search follows its matches. */
const manyChunks = 5000;
/** Chunks that may hold a term, as a share of all, before it counts as very common. */
const commonShare = 0.2;

/** Whether there are so many chunks that a search may not look at all that hold a word. */
export function isLarge(chunkCount: number): boolean {
  return chunkCount > manyChunks;
}

/** The terms that some chunk contains. Among many chunks the very common ones are apart: `holders` counts the chunks with a term. */
export function byRarity<Term>(
  terms: readonly Term[],
  holders: readonly number[],
  chunkCount: number,
): Record<"rare" | "common", Term[]> {
  const limit = isLarge(chunkCount) ? chunkCount * commonShare : chunkCount;
  const matching = (least: number, most: number): Term[] =>
    terms.filter((_, index) => (holders[index] ?? 0) > least && (holders[index] ?? 0) <= most);
  return { rare: matching(0, limit), common: matching(limit, Infinity) };
}
