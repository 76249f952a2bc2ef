import type { ChunkRow } from "../../chunk-index.ts";
import { namesIn, nameOfNote } from "../../text/note-context.ts";
import { type AskedQuery, folded } from "./asked-query.ts";
import { daysOfChunk } from "./chunk-days.ts";
import { holdsPhrase, phraseOf } from "./phrase.ts";

/** A chunk as far as it is filtered. */
export type FilteredRow = Pick<ChunkRow, "path" | "source" | "text" | "context">;

/** Whether a chunk is one that is asked for. */
export function fitsQuery(row: FilteredRow, asked: AskedQuery): boolean {
  return fitsPlace(row, asked) && fitsTags(row, asked) && fitsDays(row, asked) === true && fitsText(row, asked);
}

export function fitsPlace({ path, source }: Pick<ChunkRow, "path" | "source">, asked: AskedQuery): boolean {
  if (!asked.sources.includes(source)) return false;
  if (asked.excludedPaths.some((pattern) => pattern.matches(path))) return false;
  return asked.paths.length === 0 || asked.paths.some((pattern) => pattern.matches(path));
}

export function fitsTags({ context }: Pick<ChunkRow, "context">, { tags, excludedTags }: AskedQuery): boolean {
  if (tags.length === 0 && excludedTags.length === 0) return true;
  const own = namesIn(context).tags.map(folded);
  const has = (wanted: string): boolean => own.some((tag) => tag === wanted || tag.startsWith(`${wanted}/`));
  return tags.every(has) && !excludedTags.some(has);
}

/** Whether any of its days is asked for; `undated` where none is known. */
export function fitsDays(row: Pick<ChunkRow, "path" | "context" | "text">, asked: AskedQuery): boolean | "undated" {
  const { from = -Infinity, to = Infinity } = asked;
  if (asked.from === undefined && asked.to === undefined) return true;
  const days = daysOfChunk(row);
  if (days.length === 0) return "undated";
  return days.some((own) => own.to >= from && own.from <= to);
}

/** A heading, a name and the text are each by itself: no phrase goes from one into the other. */
function fitsText({ path, text, context }: FilteredRow, { phrases, excluded }: AskedQuery): boolean {
  if (phrases.length === 0 && excluded.length === 0) return true;
  const { titles, aliases, tags } = namesIn(context);
  const texts = [text, nameOfNote(path) ?? "", ...titles, ...aliases, ...tags].map(phraseOf);
  const holds = (phrase: AskedQuery["phrases"][number]): boolean => texts.some((own) => holdsPhrase(own, phrase));
  return phrases.every(holds) && !excluded.some(holds);
}
