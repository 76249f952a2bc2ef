import { isoDate } from "../times/calendar.ts";
import { daysInText } from "../times/days-in-text.ts";
import { indexTerms, scanTerms, type TermSink } from "../words.ts";
import { backwardTerm } from "../word-forms.ts";
import { languageOfCompounds, languageOfText, functionWords, type LanguageCode, mayBeCompound } from "./languages.ts";
import type { Stemmers } from "./stemmers.ts";

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
  const told = languageOfText(text) ?? ofFile?.() ?? languageOfCompounds(text);
  if (told === undefined || told === "en") return [indexTerms(text), ...days].join(" ");
  const terms: string[] = [];
  const words: string[] = [];
  scanTerms(text, (term, start, end, kind) => {
    terms.push(term);
    if (kind === "word") words.push(text.slice(start, end));
  });
  const stemmed = words.filter((word) => !functionWords[told].has(word.toLowerCase()));
  const stems = stemmed.flatMap((word) => stemTerms(word, stemmers[told](word), told));
  return [...terms, ...stems, languageTerm(told), ...days].join(" ");
}

export interface HeldLanguages {
  stemmers: Stemmers;
  held: readonly LanguageCode[];
}

export type TermScanner = (text: string, sink: TermSink) => void;

/** Returns a scanner for the lines of a chunk, equal to its index terms. `held`: languages to consider. */
export function scannerFor(lines: readonly string[], { stemmers, held }: HeldLanguages): TermScanner {
  const told = languageOfText(lines.join("\n"));
  const codes = told === undefined ? held : held.filter((code) => code === told);
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
