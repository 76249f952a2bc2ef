import { lazily } from "@memslot/core/host";
import {
  languageOfQuestion,
  anyOf,
  englishWords,
  functionWords,
  isFunctionWord,
  type LanguageCode,
  stopWords,
} from "./languages/detect-language.ts";
import { endingTerm, isEnding } from "./word-forms.ts";
import type { Value } from "./number-values.ts";
import { mayHoldParticles, scanTerms, type TermKind, type TermSink } from "./index-terms.ts";

/** A term of a query. `identifier` marks one that is meant as written: it holds a digit or punctuation. */
export interface SearchTerm {
  term: string;
  prefix: boolean;
  kind: TermKind;
  identifier: boolean;
  /** `function`: probably a function word, weighs little. `question`: part of a phrase such as "how much". */
  role?: "function" | "question" | undefined;
  written?: string | undefined;
  /** Further terms that count as this one: its stems in the languages of the notes. Found as they are. */
  forms?: readonly string[] | undefined;
  /** Terms of words that end with this one. What is found by them counts half. */
  endings?: readonly Pick<SearchTerm, "term" | "prefix">[] | undefined;
}

export interface QueryValue {
  term: SearchTerm;
  written: readonly SearchTerm[];
}

const holdsDigitOrJoiner = /[\p{N}\-./:@#+&_]/u;
const maxQueryTerms = 64;
const valueTerm = { prefix: false, kind: "word", identifier: true } as const;

const asking = lazily(() => anyOf("questionWords", "giu"));

/** Distinct query terms in order, at most 64. `held`: languages whose stop words are dropped. */
export function queryTerms(query: string, held: readonly LanguageCode[] = []): SearchTerm[] {
  return readQuery(query, held).terms;
}

export function readQuery(
  query: string,
  held: readonly LanguageCode[] = [],
): { terms: SearchTerm[]; values: QueryValue[] } {
  const found = new Map<
    string,
    { own: SearchTerm; role: SearchTerm["role"]; isStopped: boolean; start: number; end: number }
  >();
  const values: Value[] = [];
  const language = languageOf(query, held);
  const stopped = language === undefined || language === "en" ? undefined : functionWords[language];
  const phrases = [...query.matchAll(asking())].map(({ index, 0: text }) => [index, index + text.length] as const);
  let before: TermKind | undefined;
  let last: SearchTerm | undefined;
  const sink: TermSink = (term, start, end, kind) => {
    const endsPairs = kind === "single" && before === "pair";
    before = kind;
    if (kind === "stem") addReading(last, term);
    if (endsPairs || kind === "stem" || found.has(term)) return;
    const identifier = (kind === "word" && /\p{N}/u.test(term)) || (kind === "whole" && holdsDigitOrJoiner.test(term));
    const written = query.slice(start, end);
    const lower = written.toLowerCase();
    const isStopped = kind === "word" && (stopWords.has(lower) || stopWords.has(term) || stopped?.has(lower) === true);
    const isLight = kind === "word" && language === undefined && isFunctionWord(lower, held);
    const asks = phrases.some(([from, to]) => start < to && end > from);
    const role = asks ? "question" : isLight ? "function" : undefined;
    // The last character of a run is indexed alone and all others begin a pair, so that a single character matches as a
    // prefix.
    last = { term, prefix: kind === "single", kind, identifier, written };
    found.set(term, { own: last, role, isStopped, start, end });
    if (kind === "word" && term.length > 2 && mayHoldParticles(term)) addReading(last, endingTerm(term));
  };
  scanTerms(query, sink, (value) => values.push(value));
  const all = [...found.values()];
  const telling = all.filter(({ isStopped }) => !isStopped);
  const isTold = telling.some(
    ({ own: { kind, written = "" } }) => kind !== "word" || !englishWords.has(written.toLowerCase()),
  );
  const placed = (isTold ? telling : all).slice(0, maxQueryTerms);
  const isAbout = (isTold ? telling : all).some(({ role }) => role === undefined);
  for (const { own, role } of placed) if (isAbout && role !== undefined) own.role = role;
  return {
    terms: placed.map(({ own }) => own),
    values: values.slice(0, maxQueryTerms).map(({ start, end, terms: [term = "", ...forms], isExact }) => ({
      term: { ...valueTerm, term, written: query.slice(start, end), forms: isExact === true ? [] : forms },
      written: placed.filter((place) => place.start >= start && place.end <= end).map(({ own }) => own),
    })),
  };
}

function addReading(word: SearchTerm | undefined, term: string): void {
  if (word === undefined) return;
  if (isEnding(term)) word.endings = [...(word.endings ?? []), { term, prefix: false }];
  else {
    word.forms = [...(word.forms ?? []), term];
    addReading(word, endingTerm(term));
  }
}

function languageOf(query: string, held: readonly LanguageCode[]): LanguageCode | "en" | undefined {
  const words: string[] = [];
  scanTerms(query, (_term, start, end, kind) => void (kind === "word" && words.push(query.slice(start, end))));
  return languageOfQuestion(words, held);
}
