import type { FileKey, KeywordQuery, PathScope } from "@memslot/indexing";
import type { InMemoryStore } from "@memslot/testkit";
import { type WrongStore, everySource } from "./wrong-store.ts";

type Searches = Pick<InMemoryStore, "searchKeyword" | "searchVector">;
type Asked = Pick<KeywordQuery, "sources" | "scope" | "limit">;

const byPath = "a scope finds what is within and not without, by path and by folder";
const asWritten = "a scope takes paths as they are written, whatever they hold";

interface ScopeFault {
  fault: string;
  caughtBy: string;
  spoil(right: InMemoryStore): Searches;
}

const faults: readonly ScopeFault[] = [
  {
    fault: "filters by scope after the limit",
    caughtBy: "a scope is filtered before the limit",
    spoil: (right) => filterAfterwards(right, (query) => query, isWithin(beginsWith)),
  },
  {
    fault: "forgets what is without",
    caughtBy: byPath,
    spoil: (right) => ask(right, (query) => ({ ...query, scope: query.scope && { ...query.scope, without: [] } })),
  },
  {
    fault: "takes every path for a prefix",
    caughtBy: byPath,
    spoil: (right) => filterAfterwards(right, allRows, isWithin(beginsWith)),
  },
  {
    fault: "takes a scope within nothing for no scope",
    caughtBy: byPath,
    spoil: (right) =>
      ask(right, (query) => ({ ...query, scope: query.scope?.within.length === 0 ? undefined : query.scope })),
  },
  {
    fault: "matches paths as a pattern of its engine",
    caughtBy: asWritten,
    spoil: (right) => filterAfterwards(right, allRows, isWithin(isLike)),
  },
  {
    fault: "looks at paths in lower case",
    caughtBy: asWritten,
    spoil: (right) =>
      filterAfterwards(
        right,
        allRows,
        isWithin((path, place) => isAt(path.toLowerCase(), place.toLowerCase())),
      ),
  },
  {
    fault: "looks at paths in one form of Unicode",
    caughtBy: asWritten,
    spoil: (right) =>
      filterAfterwards(
        right,
        allRows,
        isWithin((path, place) => isAt(path.normalize(), place.normalize())),
      ),
  },
  {
    fault: "counts the characters of a folder otherwise than those of a path",
    caughtBy: asWritten,
    spoil: (right) =>
      filterAfterwards(
        right,
        allRows,
        isWithin(
          (path, place) =>
            place === path || (place.endsWith("/") && path.slice(0, [...place].length) === place) || place === "",
        ),
      ),
  },
  {
    fault: "asks every source when there is a scope",
    caughtBy: "a scope narrows the sources that are asked, and adds none",
    spoil: (right) => ask(right, (query) => (query.scope ? { ...query, sources: everySource } : query)),
  },
  {
    fault: "takes no more places than its engine",
    caughtBy: "a scope may name thousands of places",
    spoil: (right) =>
      ask(right, (query) => {
        if ((query.scope?.within.length ?? 0) > 998) throw new Error("too many SQL variables");
        return query;
      }),
  },
];

/** Each fault in one leg at a time. */
export const wrongWithScopes: readonly WrongStore[] = faults.flatMap(({ fault, caughtBy, spoil }) => [
  {
    fault: `${fault}, for words`,
    caughtBy: `keyword: ${caughtBy}`,
    spoil: (right) => ({ searchKeyword: spoil(right).searchKeyword }),
  },
  {
    fault: `${fault}, for vectors`,
    caughtBy: `vector: ${caughtBy}`,
    spoil: (right) => ({ searchVector: spoil(right).searchVector }),
  },
]);

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
