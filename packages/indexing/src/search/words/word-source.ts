import type { ChunkRow, IndexKeywordAnswer } from "../../index-row-types.ts";
import type { QueryTerm } from "../../chunk-store.ts";
import {
  type HeldLanguages,
  languageTerm,
  scannerFor,
  stemTerm,
  loadStemmers,
} from "../../text/languages/chunk-terms.ts";
import { isJoining, type LanguageCode, languageCodes } from "../../text/languages/detect-language.ts";
import { backwardTerm, foldWord } from "../../text/word-forms.ts";
import type { SearchTerm } from "../../text/query-terms.ts";
import { scanTerms, termOfWord } from "../../text/index-terms.ts";
import { pathNames, searchedText } from "../../text/note-context.ts";

export interface FindOptions {
  /** Wanted chunks per source. Absent: as for a search. */
  most?: number | undefined;
  /** Gets the number of chunks of each term. True: the chunks may be left out. */
  isCountEnough?(counts: readonly number[]): boolean;
}

export interface WordSource {
  find(terms: readonly QueryTerm[], options?: FindOptions): Promise<IndexKeywordAnswer>;
  count(terms: readonly QueryTerm[]): Promise<readonly number[]>;
  /** Gives the languages that are known already, or has them counted. Absent: they are counted. */
  remember?(countLanguages: () => Promise<readonly LanguageCode[]>): Promise<readonly LanguageCode[]>;
}

/** The languages other than English that these notes are in. Undefined if there is none. */
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
/** Compound test head: a stemmer leaves fewer letters of a compound than of its last word alone. */
const head = "boden";

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

/** Chunk counts of each word: those of its most frequent form, so that no chunk counts twice. */
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

/** Places whose languages are kept, and the longest text that names some: a scope may list thousands of paths. */
const keptPlaces = 20;
const longestKey = 10_000;

/** The languages that notes are in, counted once for each state of an index. */
export class LanguageMemory {
  readonly #known = new Map<string, { revision: string; held: readonly LanguageCode[] }>();

  /** Result of `count`, cached by revision. Counted again without one, or if `isWhole` is false. */
  async of(
    places: unknown,
    revision: string | undefined,
    count: () => Promise<readonly LanguageCode[]>,
    isWhole: () => boolean,
  ): Promise<readonly LanguageCode[]> {
    if (revision === undefined) return await count();
    const key = JSON.stringify(places);
    const known = this.#known.get(key);
    if (known?.revision === revision) return known.held;
    const held = await count();
    if (key.length > longestKey || !isWhole()) return held;
    this.#known.delete(key);
    this.#known.set(key, { revision, held });
    for (const old of this.#known.keys()) if (this.#known.size > keptPlaces) this.#known.delete(old);
    return held;
  }
}

interface WordPlace {
  index: number;
  start: number;
  end: number;
  word: number;
  isStem: boolean;
}

/** How a word is written in one of these chunks, or in its name; undefined if it does not stand. */
export function writtenIn(
  rows: readonly ChunkRow[],
  term: SearchTerm,
  languages: HeldLanguages | undefined,
  isMeant: (written: string, isStem: boolean) => boolean = () => true,
): string | undefined {
  for (const row of rows)
    for (const { line, places } of linesIn(searchedText(row), [term], languages)) {
      const place = places.find(({ start, end, isStem }) => isMeant(line.slice(start, end), isStem));
      if (place) return line.slice(place.start, place.end);
    }
  return undefined;
}

/** Parts of a compound have this many words between them at most: "Frist der Steuer", "Versicherung für das Auto". */
const mostBetween = 2;

/** The text in which two words stand next to each other, in either order; undefined if they do not. */
export function writtenTogether(
  rows: readonly ChunkRow[],
  pair: readonly [SearchTerm, SearchTerm],
  languages: HeldLanguages | undefined,
): string | undefined {
  for (const row of rows)
    for (const { line, places } of linesIn(searchedText(row), pair, languages))
      for (const { index, word, start } of places) {
        const isNear = (other: WordPlace): boolean => other.word > word && other.word - word <= mostBetween + 1;
        const second = places.find((other) => other.index !== index && isNear(other));
        if (second) return line.slice(start, second.end);
      }
  return undefined;
}

export function writtenUnderName(
  rows: readonly ChunkRow[],
  [head, tail]: readonly [SearchTerm, SearchTerm],
  languages: HeldLanguages | undefined,
): string | undefined {
  const written = (text: string, term: SearchTerm): string | undefined => {
    const [found] = linesIn(text, [term], languages);
    return found?.line.slice(found.places[0]?.start, found.places[0]?.end);
  };
  for (const row of rows) {
    const name = written([pathNames(row.path, row.context), row.context].join("\n"), head);
    const held = name && written(row.text, tail);
    if (held !== undefined) return `${name} … ${held}`;
  }
  return undefined;
}

function* linesIn(
  text: string,
  terms: readonly SearchTerm[],
  languages: HeldLanguages | undefined,
): Generator<{ line: string; places: WordPlace[] }> {
  const lines = text.split("\n");
  const scan = languages ? scannerFor(lines, languages) : scanTerms;
  for (const line of lines) {
    const places: WordPlace[] = [];
    let word = 0;
    scan(line, (found, start, end, kind) => {
      if (kind === "word" || kind === "pair") word++;
      const index = terms.findIndex(({ term, forms = [] }) => term === found || forms.includes(found));
      if (index >= 0) places.push({ index, start, end, word, isStem: kind === "stem" });
    });
    if (places.length > 0) yield { line, places };
  }
}
