import type { Season } from "./calendar.ts";

/**
 * Date words of a language, as regular expressions without capturing groups. Those that only the forms of
 * `patterns.json` use have no type here; every language has the fields of `en.json`.
 */
export interface Language {
  /** January first. */
  months: readonly string[];
  /** Those that are nothing else, so that they are read without a word such as "in" before them. */
  loneMonths: string;
  /** Monday first. */
  weekdays: readonly string[];
  seasons: Readonly<Record<Season, string>>;
  /** The longer first where one begins with another. */
  holidays: Readonly<Record<string, string>>;
  /** 1 first. */
  numbers: readonly string[];
  few: string;
  /** 1 first. */
  ordinals: readonly string[];
  units: Readonly<Record<CountedUnit, string>>;
  /** How many days from today; the longer first where one begins with another. */
  relativeDays: Readonly<Record<string, number>>;
  decade: string;
  /** Words that look like a time of this language and are something else. */
  doubts?: readonly Doubt[] | undefined;
}

export interface LanguageFile {
  name: string;
  /** Module of `@orama/stemmers`. Absent: words are taken as they are, or stemmed with those of all texts (English). */
  stemmer?: string;
  /** Words of a question that are not searched for, whatever language the notes are in. */
  stopWords?: string;
  functionWords?: string;
  /** For compounding languages: groups of letters of long words, separated by `|`. */
  longWords?: string;
  /** Function words that are also English words or parts of names: ignored alone. */
  ambiguous?: string;
  /** Words of English that questions are about, though another language has them as function words. */
  contentWords?: string;
  /** Phrases that only ask ("how much", "tell me about"), separated by `|`. */
  questionWords: string;
  /** What says that an answer is not known or was not found. */
  noAnswer: string;
  /** How people call themselves, and whom they talk to, as patterns with `|` between them. */
  speaker: string;
  spokenTo: string;
  /** Absent: dates are not read in words of this language. */
  dates?: Language;
}

/** The longer first where one begins with another. */
export const countedUnits = ["weekend", "week", "day", "month", "quarter", "year"] as const;
export type CountedUnit = (typeof countedUnits)[number];

/** A pattern per part: the words, the text before and after, the whole text, the words as written. */
export type Doubt = Readonly<Partial<Record<DoubtedPart, string>>> & {
  weekday?: boolean;
};

export type DoubtedPart = "words" | "before" | "after" | "text" | "written";
