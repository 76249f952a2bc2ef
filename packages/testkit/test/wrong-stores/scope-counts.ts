import { type KeywordQuery, type ScoredChunk, isAsked } from "@memslot/indexing";
import type { WrongStore } from "./wrong-store.ts";

const stays = "keyword: with a scope, rows, scores and order do not change with what stands outside it";
const vectorStays = "vector: with a scope, rows, scores and order do not change with what stands outside it";

const unscoped = (query: KeywordQuery): KeywordQuery => ({ ...query, scope: undefined, limit: 10_000 });

export const wrongWithScopeCounts: readonly WrongStore[] = [
  {
    fault: "counts the whole index where a scope is given",
    caughtBy: "keyword: with a scope, chunks and terms are counted within it",
    spoil: (right) => ({
      async searchKeyword(query) {
        const { chunkCount, documentFrequencies } = await right.searchKeyword(unscoped(query));
        return { ...(await right.searchKeyword(query)), chunkCount, documentFrequencies };
      },
    }),
  },
  {
    fault: "weighs what is within a scope by the words of the whole index",
    caughtBy: stays,
    spoil: (right) => ({
      async searchKeyword(query) {
        const answer = await right.searchKeyword(query);
        const all = await right.searchKeyword(unscoped(query));
        const scores = new Map(all.rows.map((row) => [nameOf(row), row.score]));
        return { ...answer, rows: answer.rows.map((row) => ({ ...row, score: scores.get(nameOf(row)) ?? row.score })) };
      },
    }),
  },
  {
    fault: "looks for no beginning of a word that is common outside the scope",
    caughtBy: stays,
    spoil: (right) => ({
      async searchKeyword(query) {
        const { documentFrequencies } = await right.searchKeyword(unscoped(query));
        const terms = query.terms.map((term, index) =>
          term.prefix && (documentFrequencies[index] ?? 0) > 30 ? { ...term, prefix: false } : term,
        );
        return right.searchKeyword({ ...query, terms });
      },
    }),
  },
  {
    fault: "leaves out words that are common outside the scope",
    caughtBy: "keyword: among thousands of chunks a word within the scope is found beside one that stands outside it",
    spoil: (right) => ({
      async searchKeyword(query) {
        const { chunkCount, documentFrequencies } = await right.searchKeyword(unscoped(query));
        const isRare = (index: number): boolean => (documentFrequencies[index] ?? 0) <= chunkCount / 5;
        const rare = query.terms.filter((_, index) => isRare(index));
        if (chunkCount < 5000 || rare.length === 0) return right.searchKeyword(query);
        const answer = await right.searchKeyword({ ...query, terms: rare });
        return { ...answer, documentFrequencies: query.terms.map(() => 1) };
      },
    }),
  },
  {
    fault: "measures nearness by the nearest of all",
    caughtBy: vectorStays,
    spoil: (right) => ({
      async searchVector(query) {
        const [nearest] = (await right.searchVector({ ...query, scope: undefined, limit: 1 })).rows;
        const { rows } = await right.searchVector(query);
        return { rows: rows.map((row) => ({ ...row, score: row.score / Math.max(0.01, nearest?.score ?? 1) })) };
      },
    }),
  },
  {
    fault: "looks among the nearest twenty of all for those within the scope",
    caughtBy: vectorStays,
    spoil: (right) => ({
      async searchVector(query) {
        const nearest = await right.searchVector({ ...query, scope: undefined, limit: 20 });
        return { rows: nearest.rows.filter((row) => isAsked(row, query)).slice(0, query.limit) };
      },
    }),
  },
  {
    fault: "finds a very common word only beside a rare one",
    caughtBy: "keyword: among thousands of chunks a word within the scope is found beside one that stands outside it",
    spoil: (right) => ({
      async searchKeyword(query) {
        const { chunkCount, documentFrequencies } = await right.searchKeyword(unscoped(query));
        const isCommon = chunkCount > 5000 && documentFrequencies.every((count) => count > chunkCount / 2);
        const answer = await right.searchKeyword(query);
        return isCommon ? { ...answer, rows: [] } : answer;
      },
    }),
  },
];

function nameOf({ path, startLine, hash }: ScoredChunk): string {
  return `${path}:${startLine} ${hash}`;
}
