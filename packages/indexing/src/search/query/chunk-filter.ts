import type { ChunkRow } from "../../index-row-types.ts";
import { namesIn, nameOfNote } from "../../text/note-context.ts";
import { type AskedQuery, folded } from "./query-filters.ts";
import { headingOf } from "../../text/note-head.ts";
import type { Days } from "../../text/times/calendar.ts";
import { timeOfPath } from "../../text/times/note-days.ts";
import type { SearchOrder } from "@memslot/core";
import { holdsPhrase, phraseOf } from "./parse-query.ts";

export type FilteredRow = Pick<ChunkRow, "path" | "source" | "text" | "context">;

/** The part of a chunk that matches: all, or its lines of the requested days; undefined if none. */
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

/** Phrases do not cross headings, names and text. */
function fitsText({ path, text, context }: FilteredRow, { phrases, excluded }: AskedQuery): boolean {
  if (phrases.length === 0 && excluded.length === 0) return true;
  const { titles, aliases, tags } = namesIn(context);
  const texts = [text, nameOfNote(path) ?? "", ...titles, ...aliases, ...tags].map(phraseOf);
  const holds = (phrase: AskedQuery["phrases"][number]): boolean => texts.some((own) => holdsPhrase(own, phrase));
  return phrases.every(holds) && !excluded.some(holds);
}

type DatedRow = Pick<ChunkRow, "path" | "context" | "text">;

/** Whether the days of a chunk depend on its text: not those of a note that is of one day by its name. */
export function needsText({ path }: Pick<ChunkRow, "path">): boolean {
  return timeOfPath(path)?.unit !== "day";
}

interface DatedLines {
  days: Days | undefined;
  first: number;
  end: number;
}

/** The days of a chunk by file name, front matter, messages or more specific headings; empty if unknown. */
export function daysOfChunk(row: DatedRow): Days[] {
  return datedLines(row).flatMap(({ days }) => days ?? []);
}

export function daysOfLine(row: DatedRow, line: number): Days[] {
  const part = datedLines(row).findLast(({ first }) => first <= line);
  return part?.days ? [part.days] : daysOfChunk(row);
}

/** The lines of a chunk from the first to the last that are of some of these days; undefined if there are none. */
export function linesWithin<Row extends DatedRow & Pick<ChunkRow, "startLine" | "endLine">>(
  row: Row,
  isAsked: (days: Days) => boolean,
): Row | undefined {
  const parts = datedLines(row);
  const fitting = parts.filter(({ days }) => days !== undefined && isAsked(days));
  const [first, last] = [fitting[0], fitting.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  if (fitting.length === parts.length) return row;
  const lines = row.text.split("\n").slice(first.first, last.end);
  while (lines.at(-1)?.trim() === "") lines.pop();
  const startLine = row.startLine + first.first;
  return { ...row, startLine, endLine: startLine + Math.max(0, lines.length - 1), text: lines.join("\n") };
}

function datedLines({ path, context, text }: DatedRow): DatedLines[] {
  const ofNote = timeOfPath(path);
  const lines = text.split("\n");
  if (ofNote?.unit === "day") return [{ days: ofNote, first: 0, end: lines.length }];
  const within = (title: string, outer: Days | undefined): Days | undefined => {
    const days = timeOfPath(title);
    return days && (outer === undefined || (outer.from <= days.from && days.to <= outer.to)) ? days : undefined;
  };
  let above: Days | undefined = ofNote;
  for (const title of namesIn(context).titles) above = within(title, above) ?? above;
  const parts: DatedLines[] = [{ days: above, first: 0, end: lines.length }];
  let level = 0;
  for (const [index, line] of lines.entries()) {
    const heading = line.startsWith("#") ? headingOf(line) : undefined;
    if (heading === undefined) continue;
    const days = within(heading.title, ofNote);
    if (days === undefined && (level === 0 || heading.level > level)) continue;
    level = days === undefined ? 0 : heading.level;
    const last = parts.at(-1);
    if (last) last.end = index;
    parts.push({ days: days ?? ofNote, first: index, end: lines.length });
  }
  const isEmpty = ({ first, end }: DatedLines): boolean => lines.slice(first, end).every((line) => line.trim() === "");
  return parts.filter((part) => parts.length === 1 || !isEmpty(part));
}

/** Stable order by date, latest first unless `oldest`; undated items last. */
export function byDay<Item>(items: readonly Item[], order: SearchOrder, daysOf: (item: Item) => Days[]): Item[] {
  const isOldest = order === "oldest";
  const keys = new Map(
    items.map((item) => {
      const own = daysOf(item).map(({ from, to }) => (isOldest ? from : -to));
      return [item, own.length === 0 ? Infinity : Math.min(...own)];
    }),
  );
  return items.toSorted((a, b) => {
    const [left = Infinity, right = Infinity] = [keys.get(a), keys.get(b)];
    return left === right ? 0 : left - right;
  });
}
