import { lazily } from "@memslot/core";
import { languages } from "../languages/languages.ts";
import { type WordsAround, wordsAround } from "./combine-times.ts";
import type { Doubt, Language } from "./language.ts";
import { edge, namedPattern, noLetterBefore, oneOf, wordsOf } from "./patterns.ts";
import { type PhraseReader, phraseReader } from "./phrases.ts";

const never = /(?!)/;

/** What stands around times in Chinese. What is said behind a time, such as 以来, is read with it. */
const chineseWords: WordsAround = {
  name: "chinese",
  joins: /^的?$/,
  counted: never,
  ordinalOf: () => 0,
  parts: [],
  to: /^\s*(?:到|至|-)\s*$/,
  and: /^[和与跟]$/,
  between: /在$/,
  betweenOrFrom: /[从自在]$/,
  openings: [],
  distances: [],
  numberOf: () => undefined,
  unitOf: () => undefined,
  serving: /[在从于]$/,
  filler: never,
};

/** Where words mean different times, the first one counts. */
const { en, ...others } = languages;
const dated: readonly Language[] = [en, ...Object.values(others)].flatMap(({ name, dates }) =>
  dates === undefined ? [] : { name, ...dates },
);

/** The names of each month in all of these languages, January first. */
export const monthWords: readonly string[] = Array.from({ length: 12 }, (_, index) =>
  wordsOf(...dated.map(({ months }) => months[index] ?? "")),
);

const known = dated.map((language) => {
  return { hint: hintOf(language), read: phraseReader(language), words: lazily(() => wordsAround(language)) };
});
const anyHint = /[\d〇\u4e00-\u9fff]/;

/** Whether a folded text may name a time at all. What it costs is all that most searches pay. */
export function mayNameTime(text: string): boolean {
  return anyHint.test(text) || known.some(({ hint }) => hint.test(text));
}

/** The readers of those languages of which a text holds a word for a time. */
export function readers(text: string): PhraseReader[] {
  return known.filter(({ hint }) => hint.test(text)).map(({ read }) => read);
}

/** The words of all languages, for what is found in figures. */
export function wordsOfAll(): WordsAround[] {
  return [...known.map(({ words }) => words()), chineseWords];
}

/** What words of a language that look like a time may be instead. */
export function doubtsOf(language: string): readonly Doubt[] {
  return dated.find(({ name }) => name === language)?.doubts ?? [];
}

/** Every phrase holds one of these, whatever else is in it. */
function hintOf(language: Language): RegExp {
  const { months, weekdays, seasons, holidays, units, relativeDays } = language;
  const words = oneOf(
    ...[months, weekdays, seasons, holidays, units].flatMap((each) => Object.values<string>(each)),
    ...Object.keys(relativeDays),
    language.lately,
    language.weekNumber,
    language.year.after,
    language.decade.replaceAll("DECADE", "\\d+"),
  );
  return namedPattern(`${noLetterBefore}${words}(?!${edge})`);
}
