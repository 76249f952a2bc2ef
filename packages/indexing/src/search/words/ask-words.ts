import type { WordReading } from "@memslot/core";
import type { IndexKeywordAnswer } from "../../chunk-index.ts";
import type { HeldLanguages } from "../../text/languages/chunk-terms.ts";
import { queryTerms, type SearchTerm } from "../../text/words.ts";
import { readingsShown } from "./readings-shown.ts";
import { readOtherwise } from "./read-otherwise.ts";
import type { OtherReading } from "./written-otherwise.ts";
import { languagesOf, storeTerms, withForms, wordCounts, type WordSource } from "./word-source.ts";

/** From so many terms on they are counted before all that hold them are looked for. */
const manyTerms = 16;

/** What a question found by its words. */
export interface WordsFound {
  /** `documentFrequencies` are those of `terms`, each with all its forms. */
  answer: IndexKeywordAnswer;
  terms: SearchTerm[];
  /** Absent: the notes are in English, or in a language whose words are taken as they are. */
  languages?: HeldLanguages | undefined;
  /** Words that stand in none of these notes, and what was looked for in their place. */
  readings: WordReading[];
}

/**
 * Asks for the words of a question: each as it is written, and with its stem in the languages of the notes. Words that
 * stand in none of these notes are then read otherwise, as far as that stands there.
 */
export async function askWords(query: string, source: WordSource): Promise<WordsFound> {
  const languages = await languagesOf(source);
  const terms = queryTerms(query, languages?.held).map((term) => withForms(term, languages));
  // In a long question some word is usually unknown, and what was found before that was read is of no use.
  const isLong = terms.length >= manyTerms;
  const found = await find(terms, source, isLong ? 1 : undefined);
  const others = found.documentFrequencies.includes(0)
    ? await readOtherwise(terms, found, source, languages)
    : new Map<SearchTerm, OtherReading>();
  if (others.size === 0) return { answer: isLong ? await find(terms, source) : found, terms, languages, readings: [] };
  const asked = terms.flatMap((term) => others.get(term)?.by ?? [term]);
  const distinct = [...new Map(asked.map((term) => [`${term.term} ${term.prefix}`, term])).values()];
  const answer = await find(distinct, source);
  return { answer, terms: distinct, languages, readings: readingsShown([...others.values()], answer.rows, languages) };
}

async function find(terms: readonly SearchTerm[], source: WordSource, most?: number): Promise<IndexKeywordAnswer> {
  const answer = await source.find(storeTerms(terms), most);
  return { ...answer, documentFrequencies: wordCounts(terms, answer.documentFrequencies) };
}
