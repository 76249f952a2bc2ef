import type { ChunkRow } from "../../chunk-index.ts";
import { namesIn, nameOfNote } from "../../text/note-context.ts";
import { type AskedQuery, folded } from "./asked-query.ts";
import type { Days } from "../../text/times/calendar.ts";
import { daysOfChunk, linesWithin } from "./chunk-days.ts";
import { holdsPhrase, phraseOf } from "./parse-query.ts";

/** A chunk as far as it is filtered. */
export type FilteredRow = Pick<ChunkRow, "path" | "source" | "text" | "context">;

/** What of a chunk is asked for: all of it, or its lines that are of the days; undefined where there is nothing. */
export function fittingPart<Row extends FilteredRow & Pick<ChunkRow, "startLine" | "endLine">>(
  row: Row,
  asked: AskedQuery,
): Row | undefined {
  if (!fitsPlace(row, asked) || !fitsTags(row, asked)) return undefined;
  const part = limitsDays(asked) ? linesWithin(row, (days) => isAskedDay(days, asked)) : row;
  return part && fitsText(part, asked) ? part : undefined;
}

export function fitsPlace({ path, source }: Pick<ChunkRow, "path" | "source">, asked: AskedQuery): boolean {
  if (!asked.sources.includes(source)) return false;
  if (asked.excludedPaths.some((pattern) => pattern.matches(path))) return false;
  return asked.paths.length === 0 || asked.paths.some((pattern) => pattern.matches(path));
}

export function fitsTags({ context }: Pick<ChunkRow, "context">, { tags, excludedTags }: AskedQuery): boolean {
  if (tags.length === 0 && excludedTags.length === 0) return true;
  const own = namesIn(context).tags.map(folded);
  const hasTag = (wanted: string): boolean => own.some((tag) => tag === wanted || tag.startsWith(`${wanted}/`));
  // A tag of two words is kept as two tags, or written as one with a sign between.
  const has = (wanted: string): boolean =>
    ["-", "_"].some((sign) => hasTag(wanted.replaceAll(/\s+/gu, sign))) || wanted.split(/\s+/u).every(hasTag);
  return tags.every(has) && !excludedTags.some(has);
}

/** Whether any of its days is asked for; `undated` where none is known. */
export function fitsDays(row: Pick<ChunkRow, "path" | "context" | "text">, asked: AskedQuery): boolean | "undated" {
  if (!limitsDays(asked)) return true;
  const days = daysOfChunk(row);
  if (days.length === 0) return "undated";
  return days.some((own) => isAskedDay(own, asked));
}

export function limitsDays({ from, to }: AskedQuery): boolean {
  return from !== undefined || to !== undefined;
}

function isAskedDay(days: Days, { from = -Infinity, to = Infinity }: AskedQuery): boolean {
  return days.to >= from && days.from <= to;
}

/** Of these chunks, how many notes have no day in any of those that fit otherwise. */
export function undatedIn(chunks: readonly ChunkRow[], asked: AskedQuery): number {
  const [dated, undated] = [new Set<string>(), new Set<string>()];
  for (const chunk of chunks)
    if (fitsPlace(chunk, asked) && fitsTags(chunk, asked))
      (fitsDays(chunk, asked) === "undated" ? undated : dated).add(chunk.path);
  return undated.difference(dated).size;
}

/** A heading, a name and the text are each by itself: no phrase goes from one into the other. */
function fitsText({ path, text, context }: FilteredRow, { phrases, excluded }: AskedQuery): boolean {
  if (phrases.length === 0 && excluded.length === 0) return true;
  const { titles, aliases, tags } = namesIn(context);
  const texts = [text, nameOfNote(path) ?? "", ...titles, ...aliases, ...tags].map(phraseOf);
  const holds = (phrase: AskedQuery["phrases"][number]): boolean => texts.some((own) => holdsPhrase(own, phrase));
  return phrases.every(holds) && !excluded.some(holds);
}
