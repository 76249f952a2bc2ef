import type { NoteName } from "../../state/notes-list.ts";
import { matching } from "../../components/option-list.tsx";
import { foldersOf } from "../notes/note-addresses.ts";

const operators = ["path:", "tag:", "source:", "after:", "before:"];
const most = 8;

export interface Completion {
  /** The value, or the operator. */
  text: string;
  /** Number of notes. */
  count?: number | undefined;
  /** The query with it. */
  query: string;
}

/** What the query can be completed from. */
export interface CompletionData {
  notes: readonly NoteName[];
  /** With their number of notes. */
  tags: Readonly<Record<string, number>>;
  sources: readonly string[];
  /** `YYYY-MM-DD` */
  today: string;
}

/** Completions of the last word of a query: an operator that begins so, or the values of one. */
export function completions(query: string, data: CompletionData): Completion[] {
  const [, before = "", operator, typed = ""] =
    /^(.*?)(?:(path|tag|source|after|before):"?([^"\s]*))?$/su.exec(query) ?? [];
  if (operator === undefined) {
    const word = /(?:^|\s)([a-z]{3,})$/u.exec(query)?.[1];
    const names = word === undefined ? [] : operators.filter((name) => name.startsWith(word));
    return names.map((text) => ({ text, query: query.slice(0, -(word?.length ?? 0)) + text }));
  }
  const counts = new Map<string, number | undefined>();
  if (operator === "tag") for (const [tag, notes] of Object.entries(data.tags)) counts.set(tag, notes);
  if (operator === "path")
    for (const folder of data.notes.flatMap(({ path }) => foldersOf(path)))
      counts.set(folder, (counts.get(folder) ?? 0) + 1);
  if (operator === "source") for (const source of data.sources) counts.set(source, undefined);
  if (operator === "after" || operator === "before")
    for (const day of daysBefore(data.today)) counts.set(day, undefined);
  const fits = matching(
    [...counts].toSorted(([, a = 0], [, b = 0]) => b - a),
    typed,
    ([name]) => name,
  );
  return fits
    .filter(([name]) => name !== typed)
    .slice(0, most)
    .map(([text, of]) => ({
      text,
      count: of,
      query: `${before}${operator}:${/\s/u.test(text) ? `"${text}"` : text} `,
    }));
}

/** Today, yesterday, a week ago, and the starts of the month and year. */
function daysBefore(today: string): string[] {
  const back = (days: number): string => new Date(Date.parse(today) - days * 86_400_000).toISOString().slice(0, 10);
  return [...new Set([today, back(1), back(7), back(30), today.slice(0, 7), today.slice(0, 4)])];
}
