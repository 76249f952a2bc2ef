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
  const fits = matching(valuesOf(operator, data), typed, ([name]) => name).filter(([name]) => name !== typed);
  return fits.slice(0, most).map(([text, count]) => {
    return { text, count, query: `${before}${operator}:${/\s/u.test(text) ? `"${text}"` : text} ` };
  });
}

/** With their number of notes, most first. */
function valuesOf(operator: string, { tags, notes, sources, today }: CompletionData): [string, number?][] {
  if (operator === "source") return sources.map((source) => [source]);
  if (operator === "after" || operator === "before") return daysBefore(today).map((day) => [day]);
  const counts: Record<string, number> = operator === "tag" ? { ...tags } : {};
  for (const folder of operator === "path" ? notes.flatMap(({ path }) => foldersOf(path)) : [])
    counts[folder] = (counts[folder] ?? 0) + 1;
  return Object.entries(counts).toSorted(([, a], [, b]) => b - a);
}

/** Today, yesterday, a week ago, and the starts of the month and year. */
function daysBefore(today: string): string[] {
  const back = (days: number): string => new Date(Date.parse(today) - days * 86_400_000).toISOString().slice(0, 10);
  return [...new Set([today, back(1), back(7), back(30), today.slice(0, 7), today.slice(0, 4)])];
}
