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
        const answer = await right.searchKeyword(query);
        return {
          ...answer,
          rows: answer.rows.filter((row) => query.terms.every(({ term }) => row.text.includes(term))),
        };
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
    fault: "ignores the limit",
    caughtBy: "keyword: limit cuts the worst",
    spoil: (right) => ({ searchKeyword: (query) => right.searchKeyword({ ...query, limit: 1000 }) }),
  },
];
