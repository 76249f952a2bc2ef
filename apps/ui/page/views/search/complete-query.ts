import { matching, type Option } from "../../components/option-list.tsx";
import { facts } from "../../state/api-client.ts";
import type { NoteNames } from "../../state/notes-list.ts";
import { status } from "../../state/server-events.ts";
import { foldersOf } from "../notes/note-addresses.ts";

const operators = ["path:", "tag:", "source:", "after:", "before:"];
const most = 8;

/**
 * Completions of the last word of a query: an operator that begins so, or the values of one, with their number of notes.
 * `take` gets the query with it.
 */
export function completions(query: string, names: NoteNames | undefined, take: (query: string) => void): Option[] {
  const [, before = "", operator, typed = ""] =
    /^(.*?)(?:(path|tag|source|after|before):"?([^"\s]*))?$/su.exec(query) ?? [];
  if (operator === undefined) {
    const word = /(?:^|\s)([a-z]{3,})$/u.exec(query)?.[1];
    const found = word === undefined ? [] : operators.filter((name) => name.startsWith(word));
    return found.map((text) => ({ id: text, text, run: () => take(query.slice(0, -(word?.length ?? 0)) + text) }));
  }
  const fits = matching(valuesOf(operator, names), typed, ([name]) => name).filter(([name]) => name !== typed);
  return fits.slice(0, most).map(([text, count]) => {
    const value = /\s/u.test(text) ? `"${text}"` : text;
    return { id: text, text, hint: count?.toString(), run: () => take(`${before}${operator}:${value} `) };
  });
}

/** With their number of notes, most first. */
function valuesOf(operator: string, names: NoteNames | undefined): [string, number?][] {
  if (operator === "source") return (status.value?.sources ?? []).map((source) => [source]);
  if (operator === "after" || operator === "before") return daysBefore(facts.value?.today).map((day) => [day]);
  const counts: Record<string, number> = operator === "tag" ? { ...names?.tags } : {};
  for (const folder of operator === "path" ? (names?.notes ?? []).flatMap(({ path }) => foldersOf(path)) : [])
    counts[folder] = (counts[folder] ?? 0) + 1;
  return Object.entries(counts).toSorted(([, a], [, b]) => b - a);
}

/** Today, yesterday, a week ago, and the starts of the month and year. */
function daysBefore(today: string | undefined): string[] {
  if (today === undefined) return [];
  const back = (days: number): string => new Date(Date.parse(today) - days * 86_400_000).toISOString().slice(0, 10);
  return [...new Set([today, back(1), back(7), back(30), today.slice(0, 7), today.slice(0, 4)])];
}
