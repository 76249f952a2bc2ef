import type { Holiday, Part, Season } from "./calendar.ts";

/** Date words of a language. Strings are regular expressions without capturing groups. */
export interface Language {
  /** January first. */
  months: readonly string[];
  /** Those that are nothing else, so that they are read without a word such as "in" before them. */
  loneMonths: string;
  /** Monday first. */
  weekdays: readonly string[];
  seasons: Readonly<Record<Season, string>>;
  /** The longer first where one begins with another. */
  holidays: Readonly<Partial<Record<Holiday, string>>>;
  /** 1 first. */
  numbers: readonly string[];
  few: string;
  /** 1 first. */
  ordinals: readonly string[];
  /** What follows the figure of a day: "12th", "12.". */
  ordinalEnd: string;
  units: Readonly<Record<CountedUnit, string>>;
  half: string;
  year: Around;
  last: Around;
  /** The one before the last: "the week before last", "vorletzte Woche". */
  beforeLast: Around;
  this: Around;
  next: Around;
  ago: Around;
  /** "The last 3 days" is no one's last week. */
  recent: Around;
  past: string;
  lately: string;
  countMayLack?: boolean | undefined;
  /** How many days from today; the longer first where one begins with another. */
  relativeDays: Readonly<Record<string, number>>;
  of: string;
  in: string;
  article: string;
  parts: Readonly<Record<Part, string>>;
  since: string;
  before: string;
  after: string;
  until: string;
  between: string;
  from: string;
  to: string;
  and: string;
  /** Words of a number of the week: "week 12", "KW 12". */
  weekNumber: string;
  decade: string;
  monthFirst: boolean;
  /** Words that look like a time of this language and are something else. */
  doubts?: readonly Doubt[] | undefined;
  /** Filler words of queries that ask only for a date: "what did I do", "notes of". */
  fillers: string;
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
  /** How people call themselves, and whom they talk to, as patterns with `|` between them. */
  speaker: string;
  spokenTo: string;
  /** Absent: dates are not read in words of this language. */
  dates?: Language;
}

/** The longer first where one begins with another. */
export const countedUnits = ["weekend", "week", "day", "month", "quarter", "year"] as const;
export type CountedUnit = (typeof countedUnits)[number];

interface Around {
  before: string;
  after: string;
}

/** A pattern per part: the words, the text before and after, the whole text, the words as written. */
export type Doubt = Readonly<Partial<Record<DoubtedPart, string>>> & {
  weekday?: boolean;
};

export type DoubtedPart = "words" | "before" | "after" | "text" | "written";
