import {
  type Chunk,
  type FileKey,
  type KeywordQuery,
  type PathScope,
  type QueryTerm,
  type ScoredChunk,
  isAsked,
} from "@memslot/indexing";
import type { InMemoryStore } from "@memslot/testkit";
import { type WrongStores, beforeCalls, changeAnswers, eachChunk, everySource } from "../wrong.ts";

export const wrongWithWords: WrongStores = {
  "scopes.sources": {
    "filters by source after the limit": (right) => ({
      async searchKeyword(query) {
        const answer = await right.searchKeyword({ ...query, sources: everySource });
        return { ...answer, rows: answer.rows.filter((row) => query.sources.includes(row.source)) };
      },
    }),
  },
  "keyword.order": {
    "hands on the negative scores of its engine": (right) =>
      changeWordRows(right, (rows) => rows.map((row) => ({ ...row, score: -row.score }))),
    "ignores the limit": (right) => ({ searchKeyword: (query) => right.searchKeyword({ ...query, limit: 1000 }) }),
  },
  "keyword.any-term": {
    "wants all of the terms": (right) => ({
      async searchKeyword(query) {
        const each = await Promise.all(query.terms.map((term) => right.searchKeyword({ ...query, terms: [term] })));
        const answer = await right.searchKeyword(query);
        const isIn = (path: string): boolean => each.every(({ rows }) => rows.some((row) => row.path === path));
        return { ...answer, rows: answer.rows.filter(({ path }) => isIn(path)) };
      },
    }),
    "gives rows without a hash": (right) => changeWordRows(right, (rows) => rows.map((row) => ({ ...row, hash: "" }))),
  },
  "keyword.prefix": {
    "ignores the prefix mark": (right) => askTerms(right, ({ term }) => ({ term, prefix: false })),
  },
  "keyword.as-written": {
    "splits terms at punctuation": (right) => eachTerms(right, ({ terms }) => terms.replaceAll(/[-./]/g, " ")),
    "stems words once more": (right) => ({
      ...eachTerms(right, ({ terms }) => terms.replaceAll(/n?ing\b/g, "")),
      ...askTerms(right, ({ term, prefix }) => ({ term: term.replace(/n?ing$|s$/, ""), prefix })),
    }),
    "leaves out stop words": (right) => eachTerms(right, ({ terms }) => terms.replaceAll(/\bthe\b/g, "")),
    "folds accents": (right) => ({
      ...eachTerms(right, ({ terms }) => folded(terms)),
      ...askTerms(right, ({ term, prefix }) => ({ term: folded(term), prefix })),
    }),
  },
  "keyword.hostile": {
    "passes terms to a query language": (right) =>
      beforeCalls(right, {
        searchKeyword(query) {
          if (query.terms.some(({ term }) => term.includes('"'))) throw new Error("fts5: syntax error");
        },
      }),
  },
  "keyword.counts": {
    "counts document frequencies over the rows it gives": (right) =>
      changeAnswers(right, {
        searchKeyword: ({ documentFrequencies, ...answer }) => ({
          ...answer,
          documentFrequencies: documentFrequencies.map((count) => Math.min(count, answer.rows.length)),
        }),
      }),
    "counts the chunks of the asked sources alone, without a scope": (right) => ({
      searchKeyword: (query) => right.searchKeyword({ scope: { within: [""], without: [] }, ...query }),
    }),
  },
  "keyword.only-terms": {
    "looks for words in the texts and the headings, too": (right) =>
      eachTerms(right, ({ terms, text, context }) => `${terms} ${text} ${context}`),
  },
  "keyword.in-every-chunk": {
    "finds nothing by a word that is everywhere": (right) =>
      changeAnswers(right, {
        searchKeyword: (answer) =>
          answer.documentFrequencies.every((count) => count === answer.chunkCount) ? { ...answer, rows: [] } : answer,
      }),
  },
};

function eachTerms(right: InMemoryStore, termsOf: (chunk: Chunk) => string): Pick<InMemoryStore, "replaceFiles"> {
  return eachChunk(right, (chunk) => ({ ...chunk, terms: termsOf(chunk) }));
}

/** Changes the rows that a search for words returns. */
function changeWordRows(
  right: InMemoryStore,
  change: (rows: readonly ScoredChunk[]) => ScoredChunk[],
): Partial<InMemoryStore> {
  return changeAnswers(right, { searchKeyword: (answer) => ({ ...answer, rows: change(answer.rows) }) });
}

/** Searches for other words than those of the question. */
function askTerms(right: InMemoryStore, change: (term: QueryTerm) => QueryTerm): Pick<InMemoryStore, "searchKeyword"> {
  return { searchKeyword: (query) => right.searchKeyword({ ...query, terms: query.terms.map(change) }) };
}

function folded(text: string): string {
  return text.normalize("NFKD").replaceAll(/\p{Mark}/gu, "");
}

type Searches = Pick<InMemoryStore, "searchKeyword" | "searchVector">;
type Asked = Pick<KeywordQuery, "sources" | "scope" | "limit">;

const faults: Readonly<Record<string, Readonly<Record<string, (right: InMemoryStore) => Searches>>>> = {
  "scopes.limit": {
    "filters by scope after the limit": (right) => filterAfterwards(right, (query) => query, isWithin(beginsWith)),
  },
  "scopes.places": {
    "forgets what is without": (right) =>
      ask(right, (query) => ({ ...query, scope: query.scope && { ...query.scope, without: [] } })),
    "takes every path for a prefix": (right) => filterAfterwards(right, allRows, isWithin(beginsWith)),
    "takes a scope within nothing for no scope": (right) =>
      ask(right, (query) => ({ ...query, scope: query.scope?.within.length === 0 ? undefined : query.scope })),
  },
  "scopes.as-written": {
    "matches paths as a pattern of its engine": (right) => filterAfterwards(right, allRows, isWithin(isLike)),
    "looks at paths in lower case": (right) =>
      filterAfterwards(
        right,
        allRows,
        isWithin((path, place) => isAt(path.toLowerCase(), place.toLowerCase())),
      ),
    "looks at paths in one form of Unicode": (right) =>
      filterAfterwards(
        right,
        allRows,
        isWithin((path, place) => isAt(path.normalize(), place.normalize())),
      ),
    "counts the characters of a folder otherwise than those of a path": (right) =>
      filterAfterwards(
        right,
        allRows,
        isWithin(
          (path, place) =>
            place === path || (place.endsWith("/") && path.slice(0, [...place].length) === place) || place === "",
        ),
      ),
  },
  "scopes.and-sources": {
    "asks every source when there is a scope": (right) =>
      ask(right, (query) => (query.scope ? { ...query, sources: everySource } : query)),
  },
  "scopes.thousands": {
    "takes no more places than its engine": (right) =>
      ask(right, (query) => {
        if ((query.scope?.within.length ?? 0) > 998) throw new Error("too many SQL variables");
        return query;
      }),
  },
};

/** Each fault in one retriever at a time. */
export const wrongWithScopes: WrongStores = Object.fromEntries(
  Object.entries(faults).map(([caughtBy, spoils]) => [
    caughtBy,
    Object.fromEntries(
      Object.entries(spoils).flatMap(([fault, spoil]) =>
        (["searchKeyword", "searchVector"] as const).map((search) => [
          `${fault}, in ${search}`,
          (right: InMemoryStore) => ({ [search]: spoil(right)[search] }),
        ]),
      ),
    ),
  ]),
);

/** Asks something else than was wanted. */
function ask(right: InMemoryStore, change: <Query extends Asked>(query: Query) => Query): Searches {
  return {
    searchKeyword: async (query) => right.searchKeyword(change(query)),
    searchVector: async (query) => right.searchVector(change(query)),
  };
}

/** Asks without the scope and drops rows from the answer. */
function filterAfterwards(
  right: InMemoryStore,
  change: <Query extends Asked>(query: Query) => Query,
  isWanted: (row: FileKey, scope: PathScope) => boolean,
): Searches {
  const open = <Query extends Asked>(query: Query): Query => ({ ...change(query), scope: undefined });
  const cut = <Row extends FileKey>(rows: readonly Row[], { scope, limit }: Asked): Row[] =>
    rows.filter((row) => scope === undefined || isWanted(row, scope)).slice(0, limit);
  return {
    async searchKeyword(query) {
      const answer = await right.searchKeyword(open(query));
      return { ...answer, rows: cut(answer.rows, query) };
    },
    searchVector: async (query) => ({ rows: cut((await right.searchVector(open(query))).rows, query) }),
  };
}

function allRows<Query extends Asked>(query: Query): Query {
  return { ...query, limit: 10_000 };
}

function isWithin(matches: (path: string, place: string) => boolean): (row: FileKey, scope: PathScope) => boolean {
  return ({ path }, { within, without }) =>
    within.some((place) => matches(path, place)) && !without.some((place) => matches(path, place));
}

function isAt(path: string, place: string): boolean {
  return place === "" || path === place || (place.endsWith("/") && path.startsWith(place));
}

function beginsWith(path: string, place: string): boolean {
  return path.startsWith(place);
}

/** `%` and `_` stand for others. */
function isLike(path: string, place: string): boolean {
  const escaped = place.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  const pattern = escaped.replaceAll("%", "[^]*").replaceAll("_", "[^]");
  const end = place === "" || place.endsWith("/") ? "" : "$";
  return new RegExp(`^${pattern}${end}`, "u").test(path);
}

const unscoped = (query: KeywordQuery): KeywordQuery => ({ ...query, scope: undefined, limit: 10_000 });

export const wrongWithScopeCounts: WrongStores = {
  "scopes.counts": {
    "counts the whole index where a scope is given": (right) => ({
      async searchKeyword(query) {
        const { chunkCount, documentFrequencies } = await right.searchKeyword(unscoped(query));
        return { ...(await right.searchKeyword(query)), chunkCount, documentFrequencies };
      },
    }),
  },
  "scopes.unaffected": {
    "weighs what is within a scope by the words of the whole index": (right) => ({
      async searchKeyword(query) {
        const answer = await right.searchKeyword(query);
        const all = await right.searchKeyword(unscoped(query));
        const scores = new Map(all.rows.map((row) => [nameOf(row), row.score]));
        return { ...answer, rows: answer.rows.map((row) => ({ ...row, score: scores.get(nameOf(row)) ?? row.score })) };
      },
    }),
    "looks for no beginning of a word that is common outside the scope": (right) => ({
      async searchKeyword(query) {
        const { documentFrequencies } = await right.searchKeyword(unscoped(query));
        const terms = query.terms.map((term, index) =>
          term.prefix && (documentFrequencies[index] ?? 0) > 30 ? { ...term, prefix: false } : term,
        );
        return right.searchKeyword({ ...query, terms });
      },
    }),
    "measures nearness by the nearest of all": (right) => ({
      async searchVector(query) {
        const [nearest] = (await right.searchVector({ ...query, scope: undefined, limit: 1 })).rows;
        const { rows } = await right.searchVector(query);
        return { rows: rows.map((row) => ({ ...row, score: row.score / Math.max(0.01, nearest?.score ?? 1) })) };
      },
    }),
    "looks among the nearest twenty of all for those within the scope": (right) => ({
      async searchVector(query) {
        const nearest = await right.searchVector({ ...query, scope: undefined, limit: 20 });
        return { rows: nearest.rows.filter((row) => isAsked(row, query)).slice(0, query.limit) };
      },
    }),
  },
  "scopes.common-words": {
    "leaves out words that are common outside the scope": (right) => ({
      async searchKeyword(query) {
        const { chunkCount, documentFrequencies } = await right.searchKeyword(unscoped(query));
        const isRare = (index: number): boolean => (documentFrequencies[index] ?? 0) <= chunkCount / 5;
        const rare = query.terms.filter((_, index) => isRare(index));
        if (chunkCount < 5000 || rare.length === 0) return right.searchKeyword(query);
        const answer = await right.searchKeyword({ ...query, terms: rare });
        return { ...answer, documentFrequencies: query.terms.map(() => 1) };
      },
    }),
    "finds a very common word only beside a rare one": (right) => ({
      async searchKeyword(query) {
        const { chunkCount, documentFrequencies } = await right.searchKeyword(unscoped(query));
        const isCommon = chunkCount > 5000 && documentFrequencies.every((count) => count > chunkCount / 2);
        const answer = await right.searchKeyword(query);
        return isCommon ? { ...answer, rows: [] } : answer;
      },
    }),
  },
};

function nameOf({ path, startLine, hash }: ScoredChunk): string {
  return `${path}:${startLine} ${hash}`;
}
