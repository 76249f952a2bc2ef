import { signal } from "@preact/signals";
import { pathWith } from "../../state/api-client.ts";
import { query } from "../../state/page-address.ts";
import { keep, kept } from "../../state/preferences.ts";

/** Options of the search in the address; `shared`: as in a group or channel. */
const options = ["max", "tokens", "min", "shared"] as const;

/** The path of a request for the query, with the options in the address. */
export function searchPath(route: string, given: Parameters<typeof pathWith>[1]): string {
  return pathWith(route, {
    ...Object.fromEntries(options.map((name) => [name, query.value.get(name) ?? ""])),
    ...given,
  });
}

export interface KeptQuestion {
  text: string;
  isPinned: boolean;
}

const mostRecent = 12;

/** Questions of this browser: pinned ones first, then the latest. */
export const questions = signal<readonly KeptQuestion[]>(readQuestions());

/** Keeps an asked question. */
export function remember(text: string): void {
  const known = questions.value.find((each) => each.text === text);
  if (text.trim() === "" || known?.isPinned === true) return;
  write([{ text, isPinned: false }, ...questions.value.filter((each) => each !== known)]);
}

export function pin(text: string, isPinned: boolean): void {
  write([{ text, isPinned }, ...questions.value.filter((each) => each.text !== text)]);
}

export function isPinned(text: string): boolean {
  return questions.value.some((each) => each.text === text && each.isPinned);
}

function write(all: readonly KeptQuestion[]): void {
  const recent = all.filter((each) => !each.isPinned).slice(0, mostRecent);
  questions.value = [...all.filter((each) => each.isPinned), ...recent];
  keep("questions", JSON.stringify(questions.value));
}

function readQuestions(): KeptQuestion[] {
  try {
    const all: unknown = JSON.parse(kept("questions") ?? "[]");
    return Array.isArray(all) ? (all as KeptQuestion[]).filter(({ text }) => typeof text === "string") : [];
  } catch {
    return []; // Written by another version.
  }
}
