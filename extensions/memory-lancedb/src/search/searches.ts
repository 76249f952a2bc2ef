import type { CallOptions } from "@memslot/core";
import type { ChunkStore } from "@memslot/indexing";
import pLimit from "p-limit";
import type { LancePlace } from "../place/place.ts";
import type { Known } from "../tables/known.ts";
import { filesTable, spaceId, type Tables } from "../tables/tables.ts";
import { searchKeywords } from "./keyword-search.ts";
import { TermCounts } from "./term-counts.ts";
import { checkVector, compareVectors, searchVectors } from "./vector-search.ts";
import { searchWords } from "./word-search.ts";

type Searches = Pick<ChunkStore, "searchKeyword" | "searchVector">;

/** LanceDB uses all cores for one. However many search at once, a write comes through between them. */
const searchesAtOnce = 4;
/** Of more chunks the index of their words is read piece by piece, as words are asked for. */
const warmedAtMost = 50_000;

/** Searches in the build that answers, with the means that its size and its place ask for. */
export function createSearches(tables: Tables, known: Known, kind: LancePlace["kind"]): Searches {
  const { builds, spaces } = known;
  const counts = new TermCounts();
  const gate = pLimit(searchesAtOnce);
  /** The table and the version whose index of words was read at once. */
  let warmed: string | undefined;

  const searchKeyword: Searches["searchKeyword"] = async (query) => {
    const build = await builds.at(query.at);
    known.expectTold(build);
    if (!build) return { rows: [], chunkCount: 0, documentFrequencies: query.terms.map(() => 0) };
    const { number, table } = build;
    const listing = await known.listing(build);
    const { version, chunkCount } = listing;
    if (listing.hasWords) return searchWords(query, listing);
    const name = filesTable(number);
    if (kind === "bucket" && chunkCount <= warmedAtMost && warmed !== `${name} ${version}`) {
      // Read at once it is a few requests, and word by word it is a few for each.
      await table.prewarmIndex("terms_idx");
      warmed = `${name} ${version}`;
    }
    return await searchKeywords(query, { table, name, version, chunkCount }, listing, counts);
  };

  const searchVector: Searches["searchVector"] = async (query) => {
    checkVector(query.vector, query.space);
    const build = await builds.at(query.at);
    known.expectTold(build);
    const opened = await tables.openSpace(spaceId(query.space), !builds.isTold(query.at));
    if (!build || !opened) return { rows: [] };
    spaces.see(spaceId(query.space));
    const listing = await known.listing(build);
    const vectors = await spaces.inMemory(spaceId(query.space), opened);
    return vectors ? compareVectors(query, vectors, listing) : await searchVectors(query, opened.table, listing);
  };

  /** One that is aborted while it waits for its turn is not begun. */
  const inTurn =
    <Query, Answer>(search: (query: Query) => Promise<Answer>) =>
    async (query: Query, { signal }: CallOptions = {}): Promise<Answer> =>
      await gate(() => {
        signal?.throwIfAborted();
        return search(query);
      });
  return { searchKeyword: inTurn(searchKeyword), searchVector: inTurn(searchVector) };
}
