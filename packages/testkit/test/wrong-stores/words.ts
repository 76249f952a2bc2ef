import type { Chunk } from "@memslot/indexing";
import type { InMemoryStore } from "@memslot/testkit";
import { type WrongStore, everySource } from "./wrong-store.ts";

export const wrongWithWords: readonly WrongStore[] = [
  {
    fault: "filters by source after the limit",
    caughtBy: "keyword: sources are filtered before the limit",
    spoil: (right) => ({
      async searchKeyword(query) {
        const answer = await right.searchKeyword({ ...query, sources: everySource });
        return { ...answer, rows: answer.rows.filter((row) => query.sources.includes(row.source)) };
      },
    }),
  },
  {
    fault: "hands on the negative scores of its engine",
    caughtBy: "keyword: rows come best first and every score is positive",
    spoil: (right) => ({
      async searchKeyword(query) {
        const answer = await right.searchKeyword(query);
        return { ...answer, rows: answer.rows.map((row) => ({ ...row, score: -row.score })) };
      },
    }),
  },
  {
    fault: "wants all of the terms",
    caughtBy: "keyword: a chunk matches when it holds one of the terms",
    spoil: (right) => ({
      async searchKeyword(query) {
        const each = await Promise.all(query.terms.map((term) => right.searchKeyword({ ...query, terms: [term] })));
        const answer = await right.searchKeyword(query);
        const isIn = (path: string): boolean => each.every(({ rows }) => rows.some((row) => row.path === path));
        return { ...answer, rows: answer.rows.filter(({ path }) => isIn(path)) };
      },
    }),
  },
  {
    fault: "ignores the prefix mark",
    caughtBy: "keyword: a prefix finds every word that begins with it, a whole term only itself",
    spoil: (right) => ({
      searchKeyword: (query) =>
        right.searchKeyword({ ...query, terms: query.terms.map(({ term }) => ({ term, prefix: false })) }),
    }),
  },
  {
    fault: "splits terms at punctuation",
    caughtBy: "keyword: a term is taken as it stands, with its punctuation",
    spoil: (right) => ({
      replaceFiles: (files) =>
        right.replaceFiles(
          files.map((file) => ({
            ...file,
            chunks: file.chunks.map((chunk) => ({ ...chunk, terms: chunk.terms.replaceAll(/[-./]/g, " ") })),
          })),
        ),
    }),
  },
  {
    fault: "passes terms to a query language",
    caughtBy: "keyword: hostile terms raise nothing and find nothing",
    spoil: (right) => ({
      async searchKeyword(query) {
        if (query.terms.some(({ term }) => term.includes('"'))) throw new Error("fts5: syntax error");
        return right.searchKeyword(query);
      },
    }),
  },
  {
    fault: "counts document frequencies over the rows it gives",
    caughtBy: "keyword: counts say how many chunks there are and how many hold each term",
    spoil: (right) => ({
      async searchKeyword(query) {
        const answer = await right.searchKeyword(query);
        return {
          ...answer,
          documentFrequencies: answer.documentFrequencies.map((count) => Math.min(count, answer.rows.length)),
        };
      },
    }),
  },
  {
    fault: "gives rows without a hash",
    caughtBy: "keyword: a row names its chunk and has a score, and no more is needed of it",
    spoil: (right) => ({
      async searchKeyword(query) {
        const answer = await right.searchKeyword(query);
        return { ...answer, rows: answer.rows.map((row) => ({ ...row, hash: "" })) };
      },
    }),
  },
  {
    fault: "looks for words in the texts and the headings, too",
    caughtBy: "keyword: only the terms are searched, not the text and not the headings",
    spoil: (right) => eachTerms(right, ({ terms, text, context }) => `${terms} ${text} ${context}`),
  },
  {
    fault: "stems words once more",
    caughtBy: "keyword: a term is taken as it stands, with its punctuation",
    spoil: (right) => ({
      ...eachTerms(right, ({ terms }) => terms.replaceAll(/n?ing\b/g, "")),
      searchKeyword: (query) =>
        right.searchKeyword({
          ...query,
          terms: query.terms.map((term) => ({ ...term, term: term.term.replace(/n?ing$|s$/, "") })),
        }),
    }),
  },
  {
    fault: "leaves out stop words",
    caughtBy: "keyword: a term is taken as it stands, with its punctuation",
    spoil: (right) => eachTerms(right, ({ terms }) => terms.replaceAll(/\bthe\b/g, "")),
  },
  {
    fault: "folds accents",
    caughtBy: "keyword: terms that look alike are different ones",
    spoil: (right) => ({
      ...eachTerms(right, ({ terms }) => folded(terms)),
      searchKeyword: (query) =>
        right.searchKeyword({ ...query, terms: query.terms.map((term) => ({ ...term, term: folded(term.term) })) }),
    }),
  },
  {
    fault: "finds nothing by a word that is everywhere",
    caughtBy: "keyword: a term in every chunk still finds them, with positive scores",
    spoil: (right) => ({
      async searchKeyword(query) {
        const answer = await right.searchKeyword(query);
        const isCommon = answer.documentFrequencies.every((count) => count === answer.chunkCount);
        return isCommon ? { ...answer, rows: [] } : answer;
      },
    }),
  },
  {
    fault: "counts the chunks of the asked sources alone, without a scope",
    caughtBy: "keyword: counts say how many chunks there are and how many hold each term",
    spoil: (right) => ({
      searchKeyword: (query) => right.searchKeyword({ scope: { within: [""], without: [] }, ...query }),
    }),
  },
  {
    fault: "ignores the limit",
    caughtBy: "keyword: limit cuts the worst",
    spoil: (right) => ({ searchKeyword: (query) => right.searchKeyword({ ...query, limit: 1000 }) }),
  },
];

function eachTerms(right: InMemoryStore, termsOf: (chunk: Chunk) => string): Pick<InMemoryStore, "replaceFiles"> {
  return {
    replaceFiles: (files) =>
      right.replaceFiles(
        files.map((file) => ({
          ...file,
          chunks: file.chunks.map((chunk) => ({ ...chunk, terms: termsOf(chunk) })),
        })),
      ),
  };
}

function folded(text: string): string {
  return text.normalize("NFKD").replaceAll(/\p{Mark}/gu, "");
}
