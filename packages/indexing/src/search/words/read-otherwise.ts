import type { HeldLanguages } from "../../text/languages/chunk-terms.ts";
import { isJoining } from "../../text/languages/languages.ts";
import type { ChunkRow, IndexKeywordAnswer } from "../../chunk-index.ts";
import { isLarge } from "../bm25.ts";
import { foldWord } from "../../text/fold-word.ts";
import type { SearchTerm } from "../../text/query-terms.ts";
import { scanTerms } from "../../text/words.ts";
import { type CharacterVariants, loadCharacterVariants, otherCharacters } from "./chinese-characters.ts";
import { joinedWords, oneErrorAway, otherSpellings, splitWord } from "./spellings.ts";
import { textOf, writtenIn, writtenTogether, writtenUnderName } from "./word-places.ts";
import { countWords, storeTerms, termFor, type WordSource } from "./word-source.ts";

/** Of a long question, so many words are read otherwise: each costs the look-up of others. */
const maxWords = 8;
const maxMistyped = 4;
/** A longer word is not corrected: it has a candidate for each place where it may be cut, each as long as the word. */
const maxLetters = 64;
/** Words with one letter changed that are looked up for one question in a large index. A word of eight letters has 450. */
const maxSpellings = 1000;
/** Places where a compound may be cut, and typing errors, that are looked at in the notes. */
const looksAt = 3;
/** Chunks in which it is looked for first how a word is written: as a rule one of them tells. */
const fewChunks = 10;

/** The notes that are searched, and their languages. */
interface SearchedNotes {
  source: WordSource;
  languages: HeldLanguages | undefined;
}

/**
 * Reads the words that stand nowhere in another way, in this order: joined with a neighbour, written with other letters, as
 * the beginning of a longer word, as two words that stand together, with one typing error. What is not in the notes in
 * any way stays as it is. `found`: how many chunks there are, and how many of them hold each of the terms.
 */
export async function readOtherwise(
  terms: readonly SearchTerm[],
  found: Pick<IndexKeywordAnswer, "chunkCount" | "documentFrequencies">,
  notes: SearchedNotes,
): Promise<Map<SearchTerm, OtherReading>> {
  const unknown = terms.filter((term, index) => found.documentFrequencies[index] === 0 && mayBeReadOtherwise(term));
  const readings = await readWritten(unknown, terms, notes);
  for (const term of unknown.filter((each) => isLongNumber(each) && !readings.has(each))) {
    const longer = await longerNumber(term, notes.source);
    if (longer !== undefined) readings.set(term, { word: term.term, by: [longer], isTold: true });
  }
  const left = (): SearchTerm[] =>
    unknown.filter((term) => term.kind === "word" && !term.identifier && !readings.has(term));
  for (const term of left().slice(0, maxWords)) {
    const reading = await readSplit(term, notes);
    if (reading) readings.set(term, reading);
  }
  let spellings = 0;
  for (const term of left().slice(0, maxMistyped)) {
    const others = oneErrorAway(foldWord(term.written ?? term.term));
    spellings += others.length;
    if (spellings > maxSpellings && isLarge(found.chunkCount)) break;
    const reading = await readMistyped(term, others, notes);
    if (reading) readings.set(term, reading);
  }
  return readings;
}

function mayBeReadOtherwise({ kind, prefix, term, written = term }: SearchTerm): boolean {
  const isWord = kind === "word" || kind === "pair" || (kind === "whole" && term.startsWith("^"));
  return isWord && !prefix && written.length <= maxLetters;
}

/** What one look-up answers: words that are written otherwise, with their neighbours or alone. */
async function readWritten(
  unknown: readonly SearchTerm[],
  terms: readonly SearchTerm[],
  { source, languages }: SearchedNotes,
): Promise<Map<SearchTerm, OtherReading>> {
  const hasPairs = unknown.some(({ kind }) => kind === "pair");
  const variants = hasPairs ? await loadCharacterVariants() : () => [];
  const words = terms.filter(({ kind, term, written = term }) => kind === "word" && written.length <= maxLetters);
  const groups = unknown.flatMap((term) =>
    writtenOtherwise(term, words, { languages, variants }).map((group) => ({ term, group })),
  );
  const counts = await countWords(
    source,
    groups.flatMap(({ group }) => group.flatMap(({ by }) => by)),
  );
  const readings = new Map<SearchTerm, OtherReading>();
  let at = 0;
  for (const { term, group } of groups) {
    const own = counts.slice(at, at + group.length);
    at += group.length;
    const most = Math.max(0, ...own);
    const reading = most > 0 ? group[own.indexOf(most)] : undefined;
    if (reading && !readings.has(term)) readings.set(term, reading);
  }
  return readings;
}

/** The numbers that begin with these digits and are written in one piece: groups of digits are joined as a whole only. */
async function longerNumber(digits: SearchTerm, source: WordSource): Promise<SearchTerm | undefined> {
  const longer = new Set<string>();
  for (const row of (await source.find([{ term: digits.term, prefix: true }])).rows)
    scanTerms(textOf(row), (term, _start, _end, kind) => {
      if (kind === "word" && term.startsWith(digits.term)) longer.add(term);
    });
  const [term, ...forms] = longer;
  return term === undefined ? undefined : { ...digits, term, forms };
}

/** Digits as many as a word needs to be the beginning of one. */
function isLongNumber({ term }: SearchTerm): boolean {
  return /^\d{3,}$/u.test(term);
}

/**
 * A compound whose parts stand together somewhere, or, in a language that joins words, whose first part names what holds the
 * second. That they stand in the notes says nothing yet.
 */
async function readSplit(term: SearchTerm, { source, languages }: SearchedNotes): Promise<OtherReading | undefined> {
  const { written = term.term } = term;
  const isLinked = isJoining(languages?.held ?? []);
  const pairs = splitWord(foldWord(written), isLinked).map(
    ([head, tail]) => [termFor(head, languages), termFor(tail, languages)] as const,
  );
  const counts = await countWords(source, pairs.flat());
  const known = commonest(pairs, (index) => Math.min(counts[2 * index] ?? 0, counts[2 * index + 1] ?? 0));
  for (const look of isLinked ? [writtenTogether, writtenUnderName] : [writtenTogether]) {
    for (const pair of known) {
      const as = await lookIn(source, pair, (rows) => look(rows, pair, languages));
      if (as !== undefined) return { word: written, by: pair, as, isTold: true };
    }
  }
  return undefined;
}

/** A word with one typing error. Its stem alone would not do: the word itself, or a form of it, has to stand there. */
async function readMistyped(
  term: SearchTerm,
  spelled: readonly string[],
  { source, languages }: SearchedNotes,
): Promise<OtherReading | undefined> {
  const { written = term.term } = term;
  const meant = Map.groupBy(
    spelled.map((other) => termFor(other, languages)),
    ({ term: stem, forms = [] }) => [stem, ...forms].join(" "),
  );
  const others = [...meant.values()];
  const counts = await countWords(
    source,
    others.map(([first]) => first as SearchTerm),
  );
  for (const spellings of commonest(others, (index) => counts[index] ?? 0)) {
    const [by] = spellings;
    if (by === undefined) continue;
    const isMeant = (found: string, isStem: boolean): boolean =>
      spellings.some((other) => isFormOf(foldWord(found), other.written ?? "", isStem));
    const as = await lookIn(source, [by], (rows) => writtenIn(rows, by, languages, isMeant));
    if (as !== undefined) return { word: written, by: [by], as, isTold: true };
  }
  return undefined;
}

/** Those that most chunks hold, without what none holds. */
function commonest<Item>(items: readonly Item[], countOf: (index: number) => number): Item[] {
  const counted = items.map((item, index) => ({ item, count: countOf(index) })).filter(({ count }) => count > 0);
  const sorted = counted.toSorted((left, right) => right.count - left.count);
  return sorted.slice(0, looksAt).map(({ item }) => item);
}

/** Looks into chunks that hold one of the words for what they tell, into a few first. */
async function lookIn(
  source: WordSource,
  terms: readonly SearchTerm[],
  look: (rows: readonly ChunkRow[]) => string | undefined,
): Promise<string | undefined> {
  const { rows: few } = await source.find(storeTerms(terms), fewChunks);
  const told = look(few);
  if (told !== undefined || few.length < fewChunks) return told;
  return look((await source.find(storeTerms(terms))).rows);
}

/** Endings are what forms of a word differ in, where it was found by its stem in another language than English. */
const longestEnding = 3;

/**
 * Whether a word stands in a text that was made up from a mistyped one. In English but for the plural: its stems are those of
 * words that do not exist, too ("bothing" is "both").
 */
function isFormOf(found: string, other: string, isStem: boolean): boolean {
  if (found === other || found === `${other}s` || `${found}s` === other) return true;
  const shared = Math.max(found.length, other.length) - longestEnding;
  return isStem && shared > 3 && found.slice(0, shared) === other.slice(0, shared);
}

/** How a word of the question may be read that stands nowhere. */
export interface OtherReading {
  /** The word, or the words that it was joined with, as they are written. */
  word: string;
  by: readonly SearchTerm[];
  /** As the notes write it, where that is known already. */
  as?: string | undefined;
  /** False for what needs no telling: the beginning of a longer word, a name without its capitals. */
  isTold: boolean;
}

/** A word that the notes do not know is tried as the beginning of one, from this length on. */
const minPrefixLength = 3;

/**
 * All the ways to write a word of the question that one look-up answers, in groups, the likeliest first: joined with a
 * neighbour, with other letters, as the beginning of a longer word.
 */
function writtenOtherwise(
  term: SearchTerm,
  words: readonly SearchTerm[],
  { languages, variants }: { languages: HeldLanguages | undefined; variants: CharacterVariants },
): OtherReading[][] {
  const { written = term.term } = term;
  if (term.kind === "whole") return [[{ word: written, by: [termFor(written, languages)], isTold: false }]];
  if (term.kind === "pair") {
    const others = otherCharacters(term.term, variants);
    return [others.map((as) => ({ word: term.term, by: [{ ...term, term: as, written: as }], as, isTold: true }))];
  }
  const reading = (word: string, other: string, isEnding: boolean): OtherReading => {
    return { word, by: [termFor(other, languages, isEnding)], isTold: true };
  };
  const isLinked = isJoining(languages?.held ?? []);
  const at = words.indexOf(term);
  const joined = [at - 1, at].flatMap((from): OtherReading[] => {
    const [first, second] = [words[from]?.written, words[from + 1]?.written];
    if (first === undefined || second === undefined) return [];
    return joinedWords(foldWord(first), foldWord(second), isLinked).map((other) =>
      reading(`${first} ${second}`, other, false),
    );
  });
  const spelled = otherSpellings(written, foldWord(written)).map((other) => reading(written, other, true));
  const isBeginning = term.term.length >= minPrefixLength && !isLongNumber(term);
  return [
    joined,
    spelled,
    isBeginning ? [{ word: written, by: [{ ...term, prefix: true, forms: undefined }], isTold: false }] : [],
  ];
}
