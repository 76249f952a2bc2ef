import { stat } from "node:fs/promises";
import { type FoundCounts, type SearchReport, visibleName } from "@memslot/core";
import { createMatcher, timeOfPath } from "@memslot/indexing";
import { unlessMissing } from "@memslot/core/files";
import { formatResult } from "../format/format-result.ts";
import { counted } from "../open/scan-summary.ts";
import type { Output } from "../terminal/output.ts";
import { UsageError } from "../terminal/exit-code.ts";
import type { PlacedResult } from "../format/shown-path.ts";
import type { CommonOptions } from "../command-context.ts";

export interface ResultOptions extends CommonOptions {
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

/** The values of `--sort`. */
export type SortOrder = "relevance" | "path" | "newest" | "oldest";

const dayMs = 86_400_000;

/** Sorts results for display, stably. The date of a note is the day in its name, else its modification time. */
export async function sortResults(results: readonly PlacedResult[], order: SortOrder): Promise<PlacedResult[]> {
  if (order === "relevance") return [...results];
  if (order === "path") {
    return results.toSorted(
      (a, b) => byCodeUnits(a.result.path, b.result.path) || a.result.startLine - b.result.startLine,
    );
  }
  const timed: { placed: PlacedResult; time: number | undefined }[] = [];
  for (const placed of results) timed.push({ placed, time: await timeOf(placed) });
  const known = timed.flatMap(({ placed, time }) => (time === undefined ? [] : [{ placed, time }]));
  known.sort((a, b) => (order === "newest" ? b.time - a.time : a.time - b.time));
  const unknown = timed.filter(({ time }) => time === undefined);
  return [...known, ...unknown].map(({ placed }) => placed);
}

async function timeOf({ result, path }: PlacedResult): Promise<number | undefined> {
  const named = timeOfPath(result.path);
  if (named) return named.to * dayMs;
  if (path.absolutePath === undefined) return undefined;
  return (await stat(path.absolutePath).catch(unlessMissing))?.mtimeMs;
}

/** Independent of the locale of the machine. */
function byCodeUnits(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
