// oxlint-disable-next-line typescript/triple-slash-reference -- the package has no types, and who compiles this file is to find ours.
/// <reference path="./opencc-js.d.ts" />

import type { HeldLanguages } from "../../text/languages/chunk-terms.ts";
import { isJoining } from "../../text/languages/detect-language.ts";
import type { ChunkRow, IndexKeywordAnswer } from "../../index-row-types.ts";
import { isLarge } from "../../text/bm25.ts";
import { foldWord } from "../../text/word-forms.ts";
import { searchedText } from "../../text/note-context.ts";
import type { SearchTerm } from "../../text/query-terms.ts";
import { scanTerms } from "../../text/index-terms.ts";
import {
  countWords,
  storeTerms,
  termFor,
  type WordSource,
  writtenIn,
  writtenTogether,
  writtenUnderName,
} from "./word-source.ts";
import data from "./spellings.json" with { type: "json" };

const maxWords = 8;
const maxMistyped = 4;
/** Longer words are not corrected: the number of candidates grows with the length. */
const maxLetters = 64;
/** Limit of one-letter variants per query in a large index. A word of eight letters has 450. */
const maxSpellings = 1000;
/** Places where a compound may be cut, and typing errors, that are examined in the notes. */
const looksAt = 3;
const fewChunks = 10;

interface SearchedNotes {
  source: WordSource;
  languages: HeldLanguages | undefined;
}

/** Corrects terms with no match: joined, other letters, prefix, split, one typo. `found`: chunk counts. */
export async function correctTerms(
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

/** Numbers that begin with these digits; groups of digits are joined as a whole only. */
async function longerNumber(digits: SearchTerm, source: WordSource): Promise<SearchTerm | undefined> {
  const longer = new Set<string>();
  for (const row of (await source.find([{ term: digits.term, prefix: true }])).rows)
    scanTerms(searchedText(row), (term, _start, _end, kind) => {
      if (kind === "word" && term.startsWith(digits.term)) longer.add(term);
    });
  const [term, ...forms] = longer;
  return term === undefined ? undefined : { ...digits, term, forms };
}

function isLongNumber({ term }: SearchTerm): boolean {
  return /^\d{3,}$/u.test(term);
}

/** A compound whose parts occur together, or as name and content in compounding languages. */
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

/** A word with one typo. The word or a form of it must occur; a shared stem is not enough. */
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

function commonest<Item>(items: readonly Item[], countOf: (index: number) => number): Item[] {
  const counted = items.map((item, index) => ({ item, count: countOf(index) })).filter(({ count }) => count > 0);
  const sorted = counted.toSorted((left, right) => right.count - left.count);
  return sorted.slice(0, looksAt).map(({ item }) => item);
}

async function lookIn(
  source: WordSource,
  terms: readonly SearchTerm[],
  look: (rows: readonly ChunkRow[]) => string | undefined,
): Promise<string | undefined> {
  const { rows: few } = await source.find(storeTerms(terms), { most: fewChunks });
  const told = look(few);
  if (told !== undefined || few.length < fewChunks) return told;
  return look((await source.find(storeTerms(terms))).rows);
}

/** Endings are what forms of a word differ in, where it was found by its stem in another language than English. */
const longestEnding = 3;

/** Whether a text has a form of a corrected word; in English only the plural counts. */
function isFormOf(found: string, other: string, isStem: boolean): boolean {
  if (found === other || found === `${other}s` || `${found}s` === other) return true;
  const shared = Math.max(found.length, other.length) - longestEnding;
  return isStem && shared > 3 && found.slice(0, shared) === other.slice(0, shared);
}

export interface OtherReading {
  word: string;
  by: readonly SearchTerm[];
  /** As the notes write it, where that is known already. */
  as?: string | undefined;
  /** False for corrections that need no report: a prefix, or other case. */
  isTold: boolean;
}

/** A word that the notes do not know is tried as the beginning of one, from this length on. */
const minPrefixLength = 3;

/** All corrections of a word that one look-up answers, in groups, likeliest first: joined, other letters, prefix. */
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

const latin = "abcdefghijklmnopqrstuvwxyz";
const cyrillic = "абвгдежзийклмнопрстуфхцчшщъыьэюя";
const minLength = 5;
const maxLength = 24;
const firstLetterFrom = 7;

/** Words one edit away (Damerau 1964), for long words in Latin and Cyrillic only. */
export function oneErrorAway(word: string): string[] {
  const alphabet = /^[a-zßøæłđ]+$/u.test(word) ? latin : /^[а-яё]+$/u.test(word) ? cyrillic : "";
  if (alphabet === "" || word.length < minLength || word.length > maxLength) return [];
  const from = word.length >= firstLetterFrom ? 0 : 1;
  const words = new Set<string>();
  for (let at = from; at <= word.length; at++) {
    const [head, tail] = [word.slice(0, at), word.slice(at)];
    if (tail !== "") words.add(head + tail.slice(1));
    for (const letter of alphabet) {
      words.add(head + letter + tail);
      if (tail !== "") words.add(head + letter + tail.slice(1));
    }
  }
  for (let at = 0; at + 1 < word.length; at++)
    words.add(word.slice(0, at) + word.charAt(at + 1) + word.charAt(at) + word.slice(at + 2));
  words.delete(word);
  return [...words];
}

/** Letters that are written as two where a keyboard lacks them, and the one that is left of each without its mark. */
const spelledOut = data.spelledOut.map(([from = "", to = ""]) => [new RegExp(from, "g"), to] as const);
/** Letters that only keyboards of one language have, by their replacement. */
const barred: Readonly<Record<string, string>> = data.barred;
const inTwo: Readonly<Record<string, string>> = data.inTwo;

/** Other spellings of a word with or without marks: `Mueller` for `Müller` and vice versa. */
export function otherSpellings(written: string, folded: string): string[] {
  const lower = written.normalize("NFC").toLowerCase();
  const words = [lower.replaceAll(/[äöüåøæß]/g, (letter) => inTwo[letter] ?? letter)];
  for (const [from, to] of spelledOut) words.push(folded.replaceAll(from, to));
  for (const [at, letter] of [...folded].entries()) {
    const other = barred[letter];
    if (other !== undefined) words.push(folded.slice(0, at) + other + folded.slice(at + 1));
  }
  return [...new Set(words)].filter((word) => word !== lower && word !== folded && word.length > 2);
}

const links = ["", "s", "n", "en", "es", "er", "e"];
const minPart = 3;

/** Words that two neighbours may form together. `isLinked`: in a compounding language, in either order. */
function joinedWords(first: string, second: string, isLinked: boolean): string[] {
  if (first.length + second.length <= minPart) return [];
  if (!isLinked || first.length < minPart || second.length < minPart) return [first + second];
  return links.flatMap((link) => [first + link + second, second + link + first]);
}

function splitWord(word: string, isLinked: boolean): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = minPart; at + minPart <= word.length; at++) {
    const [head, tail] = [word.slice(0, at), word.slice(at)];
    for (const link of isLinked ? links : [""]) {
      if (head.endsWith(link) && head.length - link.length >= minPart)
        pairs.push([head.slice(0, head.length - link.length), tail]);
    }
  }
  return pairs;
}

// oxlint-disable-next-line typescript/triple-slash-reference -- the package has no types, and who compiles this file is to find ours.
/// <reference path="./opencc-js.d.ts" />

/** The other ways to write a character, simplified and traditional. */
type CharacterVariants = (character: string) => readonly string[];

/** Loaded when a word of Chinese characters stands nowhere: the tables of OpenCC, one character for one, 60 kB. */
export async function loadCharacterVariants(): Promise<CharacterVariants> {
  const tables = await Promise.all([import("opencc-js/dict/STCharacters"), import("opencc-js/dict/TSCharacters")]);
  const variants = new Map<string, Set<string>>();
  const add = (from: string, to: string): void => void variants.set(from, (variants.get(from) ?? new Set()).add(to));
  for (const { default: table } of tables) {
    for (const entry of table.split("|")) {
      const [from = "", ...others] = entry.split(" ");
      // One simplified character stands for several traditional ones, and its table names the usual one alone.
      for (const to of others) {
        add(from, to);
        add(to, from);
      }
    }
  }
  return (character) => {
    const near = [...(variants.get(character) ?? [])];
    const all = new Set([...near, ...near.flatMap((other) => [...(variants.get(other) ?? [])])]);
    all.delete(character);
    return [...all];
  };
}

/** Most characters have one other form, few have five. */
const most = 40;

export function otherCharacters(run: string, variants: CharacterVariants): string[] {
  let runs = [""];
  for (const character of run) {
    const all = [character, ...variants(character)];
    runs = runs.flatMap((begun) => all.map((one) => begun + one)).slice(0, most);
  }
  return runs.filter((other) => other !== run);
}
