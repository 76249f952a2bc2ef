import type { SearchInput, SearchOutcome } from "../search-outcome.ts";
import type { AskedQuery } from "./asked-query.ts";
import { withFilters } from "./filtered-search.ts";

/**
 * The same for a backend that finds in a way of its own: it is asked for the words alone, in the sources and in the order
 * that are asked for, and leaves out itself what does not fit (`fittingPart`).
 */
export async function findFiltered(
  input: SearchInput & { asked: AskedQuery },
  find: (input: SearchInput) => Promise<SearchOutcome>,
): Promise<SearchOutcome> {
  const { asked, options } = input;
  const outcome = await find({ ...input, query: asked.words, options: { ...options, sources: asked.sources } });
  return { ...outcome, report: withFilters(outcome.report, asked, outcome.undated ?? 0) };
}
