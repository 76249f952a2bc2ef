import { countedUnits, edge, type Language, oneOf, wordsOf } from "./language.ts";

/** The parts that the patterns of a language are put together from. */
export interface Pieces {
  start: string;
  end: string;
  /** Groups `d`, a figure, or `dw`, a word. */
  day: string;
  /** Group `m`. */
  month: string;
  /** Group `y`, or `yy` for '23, with what stands before it. */
  year: string;
  /** Group `y` of a year that a word of the language stands beside. */
  yearFigures: readonly string[];
  of: string;
  /** Between two days; group `and` where it is the word that may also list them. */
  until: string;
  weekday: string;
  weekdays: string;
  /** Months, seasons and feasts. */
  names: string;
  days: string;
  /** Group `n`. */
  count: string;
  /** Group `o`. */
  ordinal: string;
  unit: string;
  /** Groups `early`, `middle` and `late`. */
  part: string;
  /** Groups `bl`, `bt`, `bn` and `al`, `at`, `an`: last, this, next. */
  step: { before: string; after: string };
}

/** Neither within a word nor within a number such as 1.12 or an identifier such as QF-12. */
const start = `(?<!${edge}|\\d[.,:/-]|${edge}-(?=\\d)|[#$€£]|v\\.)`;
const end = `(?!${edge}|%|[.:/-]\\d)`;
const figures = String.raw`(?:1[5-9]|20)\d{2}`;

export function piecesOf(language: Language): Pieces {
  const { months, weekdays, ordinals, article, last, next } = language;
  const of = `(?:${oneOf(language.of)}(?:\\s+|(?<=')))`;
  const yearEnd = language.year.after === "" ? "" : `(?:\\s*${oneOf(language.year.after)})?`;
  const yearWord = language.year.before === "" ? "" : `(?:${oneOf(language.year.before)}\\s+)?`;
  const seasons = Object.values(language.seasons);
  return {
    start,
    end,
    day: `(?:(?<d>0?[1-9]|[12]\\d|3[01])${oneOf(language.ordinalEnd)}?|(?<dw>${wordsOf(...ordinals)}))`,
    month: `(?<m>${wordsOf(...months)})`,
    // A winter or a school year may be 2023/24.
    year: `(?:[.,]{0,2}(?:\\s+|\\s*[-/]|(?<=[.,]))${of}?${yearWord}(?:(?<y>${figures})(?:/\\d\\d(?!\\d))?|'(?<yy>\\d\\d))${yearEnd})`,
    yearFigures: [
      `${oneOf(language.year.before)}\\s+(?<y>${figures})`,
      `(?<y>${figures})\\s*${oneOf(language.year.after)}`,
    ],
    of,
    until: `(?:\\s*-\\s*|\\s+${oneOf(language.to, language.until)}\\s+|(?<and>\\s+${oneOf(language.and)}\\s+))`,
    weekday: `(?:${oneOf(...weekdays)}[,.]?\\s+(?:${oneOf(article)}\\s+)?)`,
    weekdays: wordsOf(...weekdays),
    names: wordsOf(...months, ...seasons, ...Object.values(language.feasts)),
    days: wordsOf(...Object.keys(language.relativeDays)),
    count: `(?<n>\\d{1,3}|${wordsOf(language.few, ...language.numbers)})`,
    ordinal: `(?<o>${wordsOf(...ordinals)})`,
    unit: wordsOf(...countedUnits.map((name) => language.units[name])),
    part: `(?:${Object.entries(language.parts)
      .map(([name, given]) => `(?<${name}>${given})`)
      .join("|")})`,
    step: {
      before: `(?:(?<bl>${wordsOf(last.before)})|(?<bt>${wordsOf(language.this.before)})|(?<bn>${wordsOf(next.before)}))`,
      after: `(?:(?<al>${wordsOf(last.after)})|(?<at>${wordsOf(language.this.after)})|(?<an>${wordsOf(next.after)}))`,
    },
  };
}
