import type { FoundResult, SearchAnswer } from "../../../src/api/search.ts";

/** One note, with its rank on each side. */
export interface RankChange {
  key: string;
  from: number | undefined;
  to: number | undefined;
  result: FoundResult;
}

/** Every note of both sides, in the order of B, then those only in A. */
export function rowsOf(a: SearchAnswer, b: SearchAnswer): RankChange[] {
  const keyOf = ({ source, path }: FoundResult): string => `${source} ${path}`;
  const place = (results: readonly FoundResult[], key: string): number | undefined => {
    const index = results.findIndex((result) => keyOf(result) === key);
    return index < 0 ? undefined : index + 1;
  };
  const all = new Map([...b.results, ...a.results].toReversed().map((result) => [keyOf(result), result]));
  return [...all]
    .toReversed()
    .map(([key, result]) => ({ key, result, from: place(a.results, key), to: place(b.results, key) }));
}
