import { isoDate } from "../times/calendar.ts";
import { daysInText } from "../times/note-days.ts";
import { indexTerms, scanTerms, type TermSink } from "../index-terms.ts";
import { backwardTerm, foldWord } from "../word-forms.ts";
import {
  languageOfCompounds,
  languageOfText,
  functionWords,
  type LanguageCode,
  mayBeCompound,
} from "./detect-language.ts";
import { lazily } from "@memslot/core/host";
import { remembered } from "../word-cache.ts";

const mark = "~";

export function stemTerm(stem: string): string {
  return mark + stem;
}

export function languageTerm(code: LanguageCode): string {
  return mark + mark + code;
}

function stemTerms(word: string, stem: string, code: LanguageCode): string[] {
  if (stem === "") return [];
  const isCompound = stem.length >= shortestCompound && mayBeCompound(word, code);
  return isCompound ? [stemTerm(stem), backwardTerm(stem)] : [stemTerm(stem)];
}

const shortestCompound = 8;

/** Terms of a text as indexed: words, stems, dates. `ofFile`: language for unclear texts. */
export function chunkTerms(text: string, stemmers: Stemmers, ofFile?: () => LanguageCode | undefined): string {
  const days = daysInText(text)
    .map(({ from }) => isoDate(from))
    .filter((day) => !text.includes(day));
  const language = languageOfText(text) ?? ofFile?.() ?? languageOfCompounds(text);
  if (language === undefined || language === "en") return [indexTerms(text), ...days].join(" ");
  const terms: string[] = [];
  const words: string[] = [];
  scanTerms(text, (term, start, end, kind) => {
    terms.push(term);
    if (kind === "word") words.push(text.slice(start, end));
  });
  const stemmed = words.filter((word) => !functionWords[language].has(word.toLowerCase()));
  const stems = stemmed.flatMap((word) => stemTerms(word, stemmers[language](word), language));
  return [...terms, ...stems, languageTerm(language), ...days].join(" ");
}

export interface HeldLanguages {
  stemmers: Stemmers;
  held: readonly LanguageCode[];
}

export type TermScanner = (text: string, sink: TermSink) => void;

/** Returns a scanner for the lines of a chunk, equal to its index terms. `held`: languages to consider. */
export function scannerFor(lines: readonly string[], { stemmers, held }: HeldLanguages): TermScanner {
  const language = languageOfText(lines.join("\n"));
  const codes = language === undefined ? held : held.filter((code) => code === language);
  if (codes.length === 0) return scanTerms;
  return (text, sink) =>
    scanTerms(text, (term, start, end, kind) => {
      sink(term, start, end, kind);
      if (kind !== "word") return;
      const word = text.slice(start, end);
      for (const code of codes)
        for (const own of stemTerms(word, stemmers[code](word), code)) sink(own, start, end, "stem");
    });
}

/** Returns the stem of a word, folded as terms are, or an empty text if the word has none. */
type Stemmer = (word: string) => string;
export type Stemmers = Readonly<Record<LanguageCode, Stemmer>>;

const maxStemsKept = 50_000;
const maxLetters = 64;

/** The Snowball stemmers (Porter 2001), loaded on demand: 40 kB, about 10 ms. */
export const loadStemmers: () => Promise<Stemmers> = lazily(async () => {
  const stemmers = Object.entries(await import("./stemmer-modules.ts"));
  return Object.fromEntries(stemmers.map(([code, stem]) => [code, keeping(stem)])) as unknown as Stemmers;
});

/** Caches stems. Accents are removed last, since suffixes depend on them. */
function keeping(stem: Stemmer): Stemmer {
  const kept = remembered((word) => foldWord(stem(word.normalize("NFC").toLowerCase())), maxStemsKept);
  return (word) => (word.length > maxLetters ? "" : kept(word));
}
