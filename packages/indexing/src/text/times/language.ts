import type { Holiday, Part, Season } from "./calendar.ts";

/**
 * Date words of a language with spaces. Each string is the inside of a regular expression over folded text:
 * alternatives with `|`, no capturing groups, empty if there is no such word.
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
  holidays: Readonly<Partial<Record<Holiday, string>>>;
  /** 1 first. */
  numbers: readonly string[];
  /** "A few". */
  few: string;
  /** 1 first. */
  ordinals: readonly string[];
  /** What follows the figure of a day: "12th", "12.". */
  ordinalEnd: string;
  units: Readonly<Record<CountedUnit, string>>;
  half: string;
  /** Beside the figure of a year: "of the year 2024", "2024 года". */
  year: Around;
  /** Before or after what they are about: "last week", "semaine dernière". */
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
  /** One of a unit needs no number: неделю назад. */
  countMayLack?: boolean | undefined;
  /** How many days from today; the longer first where one begins with another. */
  relativeDays: Readonly<Record<string, number>>;
  /** Between a day, a month and a year: "5th of March". */
  of: string;
  /** Words that serve a time: "on", "in the". After one of them "May" is a month. */
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
  /** "1990s", "90er Jahre", with DECADE for the figure. */
  decade: string;
  /** "12 March" only, or "March 12" too. */
  monthFirst: boolean;
  /** Words that look like a time of this language and are something else. */
  doubts?: readonly Doubt[] | undefined;
  /** Filler words of queries that ask only for a date: "what did I do", "notes of". */
  fillers: string;
}

/** A language, as its file `<code>.json` describes it. Lists of words are in small letters, separated by spaces. */
export interface LanguageFile {
  name: string;
  /** Module of `@orama/stemmers`. Absent: words are taken as they are, or stemmed with those of all texts (English). */
  stemmer?: string;
  /** Words of a question that are not searched for, whatever language the notes are in. */
  stopWords?: string;
  /** Function words: excluded from queries in the language, and used to detect it. Keep it short. */
  functionWords?: string;
  /**
   * For a language that writes two words as one: groups of letters that its long words have, as a pattern with `|`
   * between them.
   */
  longWords?: string;
  /**
   * Those of them that are words of English too, or part of names ("de la Rosa"): alone they tell nothing of a
   * language.
   */
  ambiguous?: string;
  /** Words of English that questions are about, though another language has them as function words. */
  contentWords?: string;
  /**
   * Phrases that ask and name nothing that is asked for ("how much", "tell me about"), as patterns with `|` between
   * them.
   */
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

/**
 * A pattern per part: the words, the text before and after, the whole text, the words as written. `${served}` is a part
 * of `patterns.json`.
 */
export type Doubt = Readonly<Partial<Record<DoubtedPart, string>>> & {
  weekday?: boolean;
};

export type DoubtedPart = "words" | "before" | "after" | "text" | "written";
