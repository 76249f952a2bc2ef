import type { IndexKeywordAnswer } from "../../chunk-index.ts";
import type { QueryTerm } from "../../chunk-store.ts";
import { type HeldLanguages, languageTerm, stemTerm } from "../../text/languages/chunk-terms.ts";
import { isJoining, type LanguageCode, languageCodes } from "../../text/languages/languages.ts";
import { backwardTerm } from "../../text/languages/word-endings.ts";
import { loadStemmers } from "../../text/languages/stemmers.ts";
import { foldWord } from "../../text/fold-word.ts";
import type { SearchTerm } from "../../text/query-terms.ts";
import { termOfWord } from "../../text/words.ts";

/** The notes that a question may see, asked for words. */
export interface WordSource {
  /** `most`: chunks that are wanted of each source, where it is to be seen how a word is written. Absent: as many as a search wants. */
  find(terms: readonly QueryTerm[], most?: number): Promise<IndexKeywordAnswer>;
  /** How many chunks hold each of the terms. */
  count(terms: readonly QueryTerm[]): Promise<readonly number[]>;
  /** Gives the languages that are known already, or has them counted. Absent: they are counted. */
  remember?(countLanguages: () => Promise<readonly LanguageCode[]>): Promise<readonly LanguageCode[]>;
}

/** The languages other than English that these notes are in. Undefined where there is none. */
export async function languagesOf(source: WordSource): Promise<HeldLanguages | undefined> {
  const countLanguages = async (): Promise<readonly LanguageCode[]> => {
    const counts = await source.count(languageCodes.map((code) => ({ term: languageTerm(code), prefix: false })));
    return languageCodes.filter((_, index) => (counts[index] ?? 0) > 0);
  };
  const held = await (source.remember?.(countLanguages) ?? countLanguages());
  return held.length === 0 ? undefined : { held, stemmers: await loadStemmers() };
}

/** Fewer letters, and fewer of a stem, end too many words. */
const shortestEnd = 5;
const shortestEndStem = 4;
/** A stemmer leaves fewer letters of a compound than of its last word alone. */
const head = "boden";

/** The terms of compounds that end with a word. */
function endingsOf(word: string, { held, stemmers }: HeldLanguages): QueryTerm[] {
  if (word.length < shortestEnd || /\P{L}/u.test(word)) return [];
  const ends = held.filter((code) => isJoining([code])).map((code) => stemmers[code](head + word).slice(head.length));
  const long = [...new Set(ends)].filter(({ length }) => length >= shortestEndStem);
  return long.map((end) => ({ term: backwardTerm(end), prefix: true }));
}

/** The same word with its stems in the languages of the notes, and as the end of compounds in them. */
export function withForms(
  term: SearchTerm,
  languages: HeldLanguages | undefined,
  isEnding: boolean = true,
): SearchTerm {
  if (term.kind !== "word" || term.written === undefined || languages === undefined) return term;
  const { held, stemmers } = languages;
  const spellings = [...new Set([term.written, foldWord(term.written)])];
  const stems = held.flatMap((code) => spellings.map((spelling) => stemmers[code](spelling)));
  const distinct = [...new Set(stems)].filter((stem) => stem !== "");
  const endings = [...(term.endings ?? []), ...(isEnding ? endingsOf(foldWord(term.written), languages) : [])];
  return {
    ...term,
    forms: [...(term.forms ?? []), ...distinct.map(stemTerm)],
    ...(endings.length > 0 && { endings }),
  };
}

/** A word that is not in the question. `isEnding`: only where there are few, since finding compounds takes long. */
export function termFor(written: string, languages: HeldLanguages | undefined, isEnding: boolean = false): SearchTerm {
  const term: SearchTerm = { term: termOfWord(written), prefix: false, kind: "word", identifier: false, written };
  return withForms(term, languages, isEnding);
}

/** The terms of a store that words stand for, each after the other with its forms. */
export function storeTerms(terms: readonly SearchTerm[]): QueryTerm[] {
  return terms.flatMap(({ term, prefix, forms = [], endings = [] }) => [
    { term, prefix },
    ...forms.map((form) => ({ term: form, prefix: false })),
    ...endings,
  ]);
}

/**
 * How many chunks hold each of the words, from the counts of `storeTerms`: those of the form that most of them hold. What is in
 * a language holds the stem, whatever other form stands there, so that no chunk is counted twice. Words that end with it
 * count where nothing else does.
 */
export function wordCounts(terms: readonly SearchTerm[], counts: readonly number[]): number[] {
  let at = 0;
  return terms.map(({ forms = [], endings = [] }) => {
    const own = counts.slice(at, (at += 1 + forms.length));
    const ending = counts.slice(at, (at += endings.length));
    return Math.max(0, ...own) || Math.max(0, ...ending);
  });
}

export async function countWords(source: WordSource, terms: readonly SearchTerm[]): Promise<number[]> {
  return terms.length === 0 ? [] : wordCounts(terms, await source.count(storeTerms(terms)));
}
