import { stat } from "node:fs/promises";
import { unlessMissing } from "@memslot/core/files";
import { timeOfPath } from "@memslot/indexing";
import type { PlacedResult } from "../format/shown-path.ts";
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
