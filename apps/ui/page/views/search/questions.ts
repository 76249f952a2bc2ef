import { signal } from "@preact/signals";
import { pathWith } from "../../state/api-client.ts";
import { query } from "../../state/page-address.ts";
import { keep, keptJson } from "../../state/preferences.ts";

/** The path of a request for the query, with the options of the search in the address. */
export function searchPath(route: string, given: Parameters<typeof pathWith>[1]): string {
  return pathWith(route, { ...Object.fromEntries(query.value), tab: undefined, target: undefined, ...given });
}

export interface KeptQuestion {
  text: string;
  isPinned: boolean;
}

const mostRecent = 12;

/** Questions of this browser: pinned ones first, then the latest. */
export const questions = signal<readonly KeptQuestion[]>(
  // Without what another version has written.
  [keptJson("questions")].flat().filter(isQuestion),
);

function isQuestion(kept: unknown): kept is KeptQuestion {
  return typeof (kept as Partial<KeptQuestion> | null | undefined)?.text === "string";
}

/** Keeps an asked question. */
export function remember(text: string): void {
  if (text.trim() !== "" && !isPinned(text)) pin(text, false);
}

export function pin(text: string, isKept: boolean): void {
  const all = [{ text, isPinned: isKept }, ...questions.value.filter((each) => each.text !== text)];
  const recent = all.filter((each) => !each.isPinned).slice(0, mostRecent);
  questions.value = [...all.filter((each) => each.isPinned), ...recent];
  keep("questions", JSON.stringify(questions.value));
}

export function isPinned(text: string): boolean {
  return questions.value.some((each) => each.text === text && each.isPinned);
}
