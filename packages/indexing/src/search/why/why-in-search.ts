import path from "node:path";
import type {
  ManagerSearchOptions,
  MemoryPluginContext,
  MemorySearchResult,
  SearchWhy,
  WhyTarget,
} from "@memslot/core";
import type { ChunkIndex } from "../../chunk-index.ts";
import type { Embedder } from "../../embedding/embedder.ts";
import type { IndexSync } from "../../sync/index-sync.ts";
import { askedQuery } from "../query/asked-query.ts";
import type { SearchInput, SearchTrace } from "../search-outcome.ts";
import { whyOf } from "./why.ts";
import { problemWith, whyNotIndexed } from "./why-not-indexed.ts";

/** Runs the search that is asked about, and says of the target what came of it there. */
export async function whyInSearch(
  { query, target, options }: { query: string; target: WhyTarget; options: ManagerSearchOptions },
  parts: {
    context: MemoryPluginContext;
    store: ChunkIndex;
    index: IndexSync;
    vectors: Embedder | undefined;
    search(
      query: string,
      options: ManagerSearchOptions,
      trace: SearchInput["trace"],
    ): Promise<readonly MemorySearchResult[]>;
  },
): Promise<SearchWhy> {
  const { store, vectors, index } = parts;
  const asked = askedQuery(query, options, new Date());
  let trace: SearchTrace | undefined;
  await parts.search(query, { ...options, explain: true }, (given) => (trace = given));
  const { sources } = index.facts();
  return await whyOf({
    store,
    vectors,
    asked: trace?.input.asked ?? asked,
    options,
    target:
      target.path === undefined ? target : { ...target, path: pathInIndex(target.path, parts.context.workspaceDir) },
    trace,
    whyNotIndexed: (file) => whyNotIndexed(file, parts.context, sources),
    problemOf: (file) => problemWith(file, sources),
  });
}

/** As the index writes it: relative to the workspace, with `/`. */
function pathInIndex(given: string, workspaceDir: string): string {
  const relative = path.relative(workspaceDir, path.resolve(workspaceDir, given));
  return relative === "" ? given : relative.split(path.sep).join("/");
}
