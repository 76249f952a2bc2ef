import { type FoundCounts, type SearchReport, visibleName } from "@memslot/core";
import { formatResult } from "../format/format-result.ts";
import { createMatcher } from "@memslot/indexing";
import { counted } from "../open/report-failed-files.ts";
import type { Output } from "../terminal/output.ts";
import { UsageError } from "../terminal/usage-error.ts";
import type { PlacedResult } from "../format/shown-path.ts";
import type { SortOrder } from "./sort-orders.ts";

/** How results are printed. */
export interface ResultOptions {
  json?: boolean;
  explain?: boolean;
  /** Lines around each line that matches. */
  context?: number;
  /** Only the paths, each once. */
  paths?: boolean;
  /** A NUL character behind each path in place of a line end. */
  null?: boolean;
  /** Only how many there are. */
  count?: boolean;
  sort?: SortOrder;
}

/** As many results as a search gives: `--count` looks as far as that, however few are to be shown. */
export const countLimit = 200;

/** Throws `UsageError` for options that ask for two kinds of answers at once. */
export function refuseMixed(options: ResultOptions): void {
  const kinds = (["json", "paths", "count"] as const).filter((name) => options[name] === true);
  const details = (["context", "explain"] as const).filter((name) => options[name] !== undefined);
  const [kind, other] = kinds;
  if (kind !== undefined && other !== undefined) throw new UsageError(`--${kind} and --${other} exclude each other`);
  const detail = details.find((name) => kind !== undefined && !(kind === "json" && name === "explain"));
  if (kind !== undefined && detail !== undefined) throw new UsageError(`--${detail} has no meaning with --${kind}`);
  if (options.null === true && options.paths !== true) throw new UsageError("--null belongs to --paths");
}

/** Prints what was found, in the order that it has. Nothing is printed of an empty list but its count. */
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

/** What is known of how much matches, where the memory counts only what it leaves out. */
export function foundIn(report: SearchReport | undefined, results: readonly PlacedResult[]): FoundCounts {
  if (report?.found !== undefined) return report.found;
  const left = (report?.dropped.limit ?? 0) + (report?.dropped.tokens ?? 0);
  const notes = new Set(results.map(({ result }) => `${result.source} ${result.path}`));
  return { passages: results.length + left, notes: notes.size, more: left > 0 };
}

/** `12 passages in 3 notes`. */
function countText({ passages, notes, more }: FoundCounts): string {
  return `${more ? "at least " : ""}${counted(passages, "passage")} in ${counted(notes, "note")}`;
}

/** How many passages match beside those that are shown, or nothing where there are none. */
export function moreText(found: FoundCounts, shown: number): string | undefined {
  const left = found.passages - shown;
  if (left <= 0) return undefined;
  return `${found.more ? "At least " : ""}${counted(left, "passage")} more; --max-results and --max-tokens show them.`;
}

/**
 * A name on a line of its own is spelled where it holds what nobody sees, as a line end. Between NUL characters it is the
 * name itself, for `xargs -0`; never on a terminal, which would obey it.
 */
function printPaths(output: Output, results: readonly PlacedResult[], isNull: boolean): void {
  const names = [...new Set(results.map(({ path }) => path.name))];
  const isRaw = isNull && !output.isTerminal;
  for (const name of names) output.write(`${isRaw ? name : visibleName(name)}${isNull ? "\0" : "\n"}`);
}
