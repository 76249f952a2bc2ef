import { namedPattern } from "../named-pattern.ts";
import {
  type CountedUnit,
  countedUnits,
  edge,
  indexOf,
  type Language,
  noLetterBefore,
  oneOf,
  type Part,
} from "./language.ts";

/** The words of a language that stand before and between times, as patterns. */
export interface WordsAround {
  name: string;
  /** Between two times that are one: "March of last year". */
  joins: RegExp;
  /** "First week of", with what is counted in a group of its own. */
  counted: RegExp;
  /** Which of the ordinals a word is, 1 for the first; 0 for the last. */
  ordinalOf(word: string): number;
  parts: readonly (readonly [Part, RegExp])[];
  /** Between the ends of a span. */
  to: RegExp;
  and: RegExp;
  between: RegExp;
  betweenOrFrom: RegExp;
  since: RegExp;
  before: RegExp;
  after: RegExp;
  until: RegExp;
  /** "The week before", "two days after", with the number and the unit. */
  distance: Readonly<Record<"before" | "after", RegExp>>;
  /** Undefined for a word that is no number, such as "the". */
  numberOf(word: string): number | undefined;
  unitOf(word: string): CountedUnit | undefined;
  /** "On the", "from": they are there for the time alone. */
  serving: RegExp;
  /** What a question holds that asks for nothing but a time. */
  filler: RegExp;
}

/** How far before a time its words are looked for. */
const reach = 60;

/** Where words that stand right before a place begin. */
export function startOf(text: string, end: number, words: RegExp): number | undefined {
  const from = Math.max(0, end - reach);
  const match = words.exec(text.slice(from, end));
  return match ? from + match.index : undefined;
}

export function wordsAround(language: Language): WordsAround {
  const { of, in: within, article, units, ordinals, half, last, to, until, and, between, from, parts } = language;
  const gap = "(?:\\s+|(?<='))";
  const served = `(?:${oneOf(article, within)}${gap})*`;
  const leading = (...words: string[]): RegExp =>
    namedPattern(`${noLetterBefore}${oneOf(...words)}(?:[\\s-]+|(?<='))${served}$`);
  const distance = (words: string): RegExp =>
    namedPattern(
      `${noLetterBefore}(?:(?<n>\\d{1,3}|${oneOf(...language.numbers, article, last.before)})\\s+)?` +
        `(?<u>${oneOf(...countedUnits.map((unit) => units[unit]))})\\s+${oneOf(words)}(?:\\s+|(?<='))${served}$`,
    );
  return {
    name: language.name,
    joins: namedPattern(`^[\\s,]*(?:${oneOf(of, within, article)}${gap})*$`),
    counted: namedPattern(
      `${noLetterBefore}(?<o>${oneOf(...ordinals, last.before, last.after)}|\\d{1,2}${oneOf(language.ordinalEnd)})\\s+` +
        `(?:(?<week>${oneOf(units.week)})|(?<weekend>${oneOf(units.weekend)})|(?<half>${oneOf(half)})|(?<day>${oneOf(units.day)}))\\s+` +
        `(?:${oneOf(of, within, article, language.year.before)}${gap})*$`,
    ),
    ordinalOf: (word) => (/^\d/.test(word) ? Number.parseInt(word, 10) : indexOf(ordinals, word) + 1),
    parts: (["early", "middle", "late"] as const).map((part) => [part, leading(parts[part])] as const),
    to: namedPattern(`^(?:\\s*-\\s*|\\s+${oneOf(to, until)}\\s+${served})$`),
    and: namedPattern(`^\\s+${oneOf(and)}\\s+${served}$`),
    between: leading(between),
    betweenOrFrom: leading(between, from),
    since: leading(language.since),
    before: leading(language.before),
    after: leading(language.after),
    until: leading(until),
    distance: { before: distance(language.before), after: distance(language.after) },
    numberOf: (word) => {
      const number = /^\d/.test(word) ? Number.parseInt(word, 10) : indexOf(language.numbers, word) + 1;
      return number > 0 ? number : undefined;
    },
    unitOf: (word) => countedUnits.find((unit) => indexOf([units[unit]], word) === 0),
    serving: namedPattern(`(?<!${edge}|')(?:${oneOf(within, article, between, from)}${gap})+$`),
    // An elided word stands before another: "qu'avons".
    filler: namedPattern(`^(?:${oneOf(language.fillers)}'?)?(?:${oneOf(language.fillers)})?$`),
  };
}
