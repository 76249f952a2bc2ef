import type { WordReading } from "@memslot/core";
import type { ChunkRow, IndexKeywordAnswer } from "../../index-row-types.ts";
import type { HeldLanguages } from "../../text/languages/chunk-terms.ts";
import { type QueryValue, readQuery, type SearchTerm } from "../../text/query-terms.ts";
import { type OtherReading, correctTerms } from "./correct-terms.ts";
import {
  countWords,
  languagesOf,
  storeTerms,
  withForms,
  wordCounts,
  type FindOptions,
  type WordSource,
  writtenIn,
} from "./word-source.ts";

export interface WordsFound {
  /** `documentFrequencies` are those of `terms`, each with all its forms. */
  answer: IndexKeywordAnswer;
  terms: SearchTerm[];
  /** Absent: the notes are in English, or in a language whose words are taken as they are. */
  languages?: HeldLanguages | undefined;
  /** Terms without a match, and their corrections. */
  readings: WordReading[];
}

/** Searches the words of a query, as written and by stem, and corrects terms with no match. */
export async function askWords(query: string, source: WordSource): Promise<WordsFound> {
  const languages = await languagesOf(source);
  const read = readQuery(query, languages?.held);
  const written = await withValues(read.terms, read.values, source);
  const terms = written.map((term) => withForms(term, languages));
  // The chunks of known words are useless before unknown words have another reading.
  let isPart = false;
  const isCountEnough = (counts: readonly number[]): boolean => {
    isPart = wordCounts(terms, counts).includes(0);
    return isPart;
  };
  const found = await find(terms, source, { isCountEnough });
  const others = found.documentFrequencies.includes(0)
    ? await correctTerms(terms, found, { source, languages })
    : new Map<SearchTerm, OtherReading>();
  if (others.size === 0) return { answer: isPart ? await find(terms, source) : found, terms, languages, readings: [] };
  const asked = terms.flatMap((term) => others.get(term)?.by ?? [term]);
  const distinct = [...new Map(asked.map((term) => [`${term.term} ${term.prefix}`, term])).values()];
  const answer = await find(distinct, source);
  return { answer, terms: distinct, languages, readings: readingsShown([...others.values()], answer.rows, languages) };
}

const isOfWords = /^(?:\p{L}{3,}-?)+$|^\p{L}+\s/u;

/** Adds values that occur in the notes, as other forms of a term or instead of it. Known words stay. */
async function withValues(
  terms: readonly SearchTerm[],
  values: readonly QueryValue[],
  source: WordSource,
): Promise<SearchTerm[]> {
  if (values.length === 0) return [...terms];
  const asked = values.flatMap(({ term, written }) => [term, ...written]);
  const counts = await countWords(source, asked);
  const known = new Set(asked.filter((_, index) => (counts[index] ?? 0) > 0));
  return values.reduce(
    (result, { term, written }) => {
      if (!known.has(term)) return result;
      const isWhole = (own: SearchTerm): boolean => own.written === term.written || written.length === 1;
      const whole = written.find((own) => known.has(own) && isWhole(own));
      if (whole !== undefined) {
        const forms = [...(whole.forms ?? []), term.term, ...(term.forms ?? [])];
        return result.map((own) => (own === whole ? { ...whole, forms } : own));
      }
      const gone = written.filter((own) => !known.has(own) || !isOfWords.test(term.written ?? ""));
      const at = result.findIndex((own) => written.includes(own));
      return result.toSpliced(Math.max(0, at), 0, term).filter((own) => !gone.includes(own));
    },
    [...terms],
  );
}

async function find(terms: readonly SearchTerm[], source: WordSource, how?: FindOptions): Promise<IndexKeywordAnswer> {
  const answer = await source.find(storeTerms(terms), how);
  return { ...answer, documentFrequencies: wordCounts(terms, answer.documentFrequencies) };
}

function readingsShown(
  readings: readonly OtherReading[],
  rows: readonly ChunkRow[],
  languages: HeldLanguages | undefined,
): WordReading[] {
  const shown: WordReading[] = [];
  for (const { word, by, as, isTold } of readings) {
    if (!isTold) continue;
    const [only] = by;
    const found = as ?? (only && writtenIn(rows, only, languages)) ?? only?.written ?? word;
    const before = shown.at(-1);
    // Neighbouring pairs of characters are one word.
    if (before && isContinued(before, word) && before.as.at(-1) === found.at(0)) {
      shown[shown.length - 1] = { word: before.word + word.slice(1), as: before.as + found.slice(1) };
    } else if (!shown.some((other) => other.word === word && other.as === found)) shown.push({ word, as: found });
  }
  return shown;
}

function isContinued(before: WordReading, word: string): boolean {
  return /^\p{Script=Han}{2}$/u.test(word) && before.word.at(-1) === word.at(0);
}
