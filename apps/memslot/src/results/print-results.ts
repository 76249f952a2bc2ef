import { type FoundCounts, type SearchReport, visibleName } from "@memslot/core";
import { formatResult } from "../format/format-result.ts";
import { createMatcher } from "@memslot/indexing";
import { counted } from "../open/report-failed-files.ts";
import type { Output } from "../terminal/output.ts";
import { UsageError } from "../terminal/usage-error.ts";
import type { SortOrder } from "./sort-results.ts";
import type { PlacedResult } from "../format/shown-path.ts";

export interface ResultOptions {
  json?: boolean;
  explain?: boolean;
  context?: number;
  paths?: boolean;
  null?: boolean;
  count?: boolean;
  sort?: SortOrder;
}

/** The maximum number of results of a search, used by `--count`. */
export const countLimit = 200;

/** Throws `UsageError` for options that exclude each other. */
export function refuseMixed(options: ResultOptions): void {
  const kinds = (["json", "paths", "count"] as const).filter((name) => options[name] === true);
  const details = (["context", "explain"] as const).filter((name) => options[name] !== undefined);
  const [kind, other] = kinds;
  if (kind !== undefined && other !== undefined) throw new UsageError(`use either --${kind} or --${other}`);
  const detail = details.find((name) => kind !== undefined && !(kind === "json" && name === "explain"));
  if (kind !== undefined && detail !== undefined) throw new UsageError(`--${detail} cannot be combined with --${kind}`);
  if (options.null === true && options.paths !== true) throw new UsageError("--null requires --paths");
}

/** Prints the results in their order. Prints nothing for an empty list, except its count. */
export function printResults(
  output: Output,
  results: readonly PlacedResult[],
  query: string,
  options: ResultOptions,
  found: FoundCounts,
): void {
  if (options.count === true) output.print(countText(found));
  else if (options.paths === true) printPaths(output, results, options.null === true);
  else if (results.length > 0) {
    const matcher = createMatcher(query);
    output.write(`${results.map((result) => formatResult(result, matcher, output, options)).join("\n\n")}\n`);
  }
}

/** The number of matches, also if the memory reports only how many it excluded. */
export function foundIn(report: SearchReport | undefined, results: readonly PlacedResult[]): FoundCounts {
  if (report?.found !== undefined) return report.found;
  const left = (report?.dropped.limit ?? 0) + (report?.dropped.tokens ?? 0);
  const notes = new Set(results.map(({ result }) => `${result.source} ${result.path}`));
  return { passages: results.length + left, notes: notes.size, more: left > 0 };
}

function countText({ passages, notes, more }: FoundCounts): string {
  return `${more ? "at least " : ""}${counted(passages, "passage")} in ${counted(notes, "note")}`;
}

/** How many more passages match; undefined if none. */
export function moreText(found: FoundCounts, shown: number): string | undefined {
  const left = found.passages - shown;
  if (left <= 0) return undefined;
  return `${found.more ? "At least " : ""}${counted(left, "passage")} more: raise --max-results and --max-tokens to see them.`;
}

/** Makes invisible characters in names visible, except with NUL separators in a pipe. */
function printPaths(output: Output, results: readonly PlacedResult[], isNull: boolean): void {
  const names = [...new Set(results.map(({ path }) => path.name))];
  const isRaw = isNull && !output.isTerminal;
  for (const name of names) output.write(`${isRaw ? name : visibleName(name)}${isNull ? "\0" : "\n"}`);
}
