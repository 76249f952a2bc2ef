import { lazily } from "@memslot/core/host";
import zh from "../text/languages/zh.json" with { type: "json" };
import { languageOfQuestion } from "../text/languages/detect-language.ts";
import { headingOf } from "../text/note-head.ts";
import { initialsOf, namesIn, nameOfNote, isTemplateName } from "../text/note-context.ts";
import type { TermScanner } from "../text/languages/chunk-terms.ts";
import { remembered } from "../text/word-cache.ts";
import { foldWord } from "../text/word-forms.ts";
import { scanTerms, termOfWord } from "../text/index-terms.ts";
import type { WeightedTerm } from "../text/bm25.ts";

const furtherChunkShare = 0.85;
const headShare = 0.6;
const tagShare = 0.6;
const headingShare = 0.8;
const upperHeadingShare = 0.6;
const wholeNameBonus = 1;
const formShare = 0.8;

/** What is compared with names: the terms of the query, and how much they weigh together. */
export interface NamedQuery {
  /** What stands for a word of the query is that word, however it is written. */
  terms: ReadonlyMap<string, WeightedTerm>;
  count: number;
  weight: number;
  initials: ReadonlyMap<string, readonly WeightedTerm[]>;
  letters: string;
  known: Map<string, NameFit>;
}

/** How a name fits a query. */
export interface NameFit {
  /** 0 to 1: share of the query's weight it has, times the root of the share of its words in the query. */
  share: number;
  found: ReadonlySet<WeightedTerm>;
  /** It is the query, word for word. */
  isWhole: boolean;
}

export function namedQuery(terms: readonly WeightedTerm[], query = ""): NamedQuery {
  const words = new Map<string, WeightedTerm>();
  for (const entry of terms)
    if (entry.kind !== "whole" && entry.role !== "function")
      for (const form of [entry.term, ...(entry.forms ?? [])]) words.set(form, entry);
  const own = new Set(words.values());
  const weight = [...own].reduce((sum, { idf }) => sum + idf, 0);
  return {
    terms: words,
    count: own.size,
    weight,
    initials: initialsIn(terms),
    letters: lettersOf(query),
    known: new Map(),
  };
}

const numberWords = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];

export const lettersOf: (text: string) => string = remembered((text) =>
  foldWord(text).replaceAll(/[^\p{L}\p{N}]/gu, ""),
);

/** The initials of three to six words in a row, as `2fa` of "two factor authentication". */
function initialsIn(terms: readonly WeightedTerm[]): Map<string, readonly WeightedTerm[]> {
  const words = terms.filter(({ kind }) => kind === "word");
  const initials = new Map<string, readonly WeightedTerm[]>();
  const letters = words.map(({ written = "" }) => {
    const number = numberWords.indexOf(written.toLowerCase());
    return number < 0 ? foldWord(written).slice(0, 1) : String(number);
  });
  for (let from = 0; from < words.length; from++)
    for (let to = from + 3; to <= Math.min(words.length, from + 6); to++)
      initials.set(letters.slice(from, to).join(""), words.slice(from, to));
  return initials;
}

/** Name match of a chunk, 0 to 1, by file name, title, aliases, headings or tags. */
export function nameMatch(
  query: NamedQuery,
  chunk: { path: string; startLine: number; context: string; lines: readonly string[] },
  scan: TermScanner = scanTerms,
  names: readonly string[] = namesOfNote(chunk),
): number {
  if (query.weight === 0) return 0;
  const { titles, tags } = namesIn(chunk.context);
  const isHead = chunk.startLine === 1 && chunk.lines[0]?.trimEnd() === "---";
  const noteShare = isHead ? headShare : chunk.startLine === 1 ? 1 : furtherChunkShare;
  let best = 0;
  const take = (text: string, share: number, isOfNote = false): void => {
    const { share: fits, isWhole } = fitOf(query, text, scan);
    best = Math.max(best, share * (fits + (isOfNote && isWhole ? wholeNameBonus : 0)));
  };
  for (const text of names) take(text, noteShare, true);
  for (const line of chunk.lines) if (line.startsWith("#")) take(headingOf(line)?.title ?? "", headingShare);
  for (const [index, title] of titles.entries())
    take(title, index === titles.length - 1 ? noteShare : upperHeadingShare);
  for (const tag of tags) take(tag, tagShare);
  return best;
}

const placeNumber = /^\d{2,3} (?=\p{L})/u;

/** The names of the note of a chunk: its file's, its title, and others. */
export function namesOfNote(chunk: { path: string; context: string; lines: readonly string[] }): string[] {
  const { titles, aliases } = namesIn(chunk.context);
  const first = headingOf(chunk.lines.find((line) => line.trim() !== "") ?? "");
  const title = first?.level === 1 && titles.length === 0 ? first.title : undefined;
  const name = nameOfNote(chunk.path);
  const names = [name, name?.replace(placeNumber, ""), title, titles[0], ...aliases];
  return [...new Set(names)].filter((each) => each !== undefined);
}

const bracketed = /^(.*\S)\s*\(([^()]+)\)$/u;
const noFit: NameFit = { share: 0, found: new Set(), isWhole: false };

/** How a name, or the part of it in or before brackets, fits a query. */
export function fitOf(query: NamedQuery, name: string, scan: TermScanner): NameFit {
  const known = query.known.get(name);
  if (known !== undefined) return known;
  const parts = isTemplateName(name) ? [] : [name, ...(bracketed.exec(name)?.slice(1) ?? [])];
  const fit = parts
    .map((part) => fitPart(query, part, scan))
    .reduce((best, other) => (other.share > best.share ? other : best), noFit);
  query.known.set(name, fit);
  return fit;
}

function fitPart({ terms, count, weight, initials, letters }: NamedQuery, name: string, scan: TermScanner): NameFit {
  // Also where the words are joined in another way, or words that say nothing are part of the name, as in `useRouter`.
  const own = lettersOf(name);
  if (letters !== "" && own === letters) return { share: 1, found: new Set(terms.values()), isWhole: true };
  const found = new Map<WeightedTerm, number>();
  for (const each of (name.length <= 12 && initials.get(own)) || []) found.set(each, 1);
  for (const abbreviation of initialsOf(name)) {
    const each = terms.get(termOfWord(abbreviation));
    if (each !== undefined) found.set(each, 1);
  }
  let words = found.size;
  if (words === 0)
    scan(name, (term, _start, _end, kind) => {
      if (kind === "whole") return;
      if (kind !== "stem") words++;
      const held = terms.get(term);
      if (held !== undefined) found.set(held, 1);
      else if (kind === "word")
        for (const [form, each] of terms) if (!found.has(each) && isForm(form, term)) found.set(each, formShare);
    });
  if (found.size === 0 || words === 0) return noFit;
  let sum = 0;
  for (const [{ idf }, share] of found) sum += share * idf;
  const isWhole = found.size === count && found.size >= words;
  const share = (sum / weight) * Math.sqrt(Math.min(1, found.size / words));
  return { share: isWhole ? Math.max(0.95, share) : share, found: new Set(found.keys()), isWhole };
}

/** Whether two terms are forms of one word: same beginning (5 letters or two thirds), other ending. */
function isForm(one: string, other: string): boolean {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  if (short.length < 4) return false;
  let shared = 0;
  while (shared < short.length && short[shared] === long[shared]) shared++;
  const [tail, longTail] = [short.length - shared, long.length - shared];
  return tail <= 1 && longTail <= 3 && (shared >= 5 || shared >= (2 / 3) * long.length);
}

const wordMarks = /[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu;
const possessive = /['’]s$/u;
/** `MongoDB`: a name, whatever stands around it. */
const capitalInside = /\p{Ll}\p{Lu}/u;
const determiner =
  /^(?:d(?:er|ie|as|en|em|es)|(?:ein|kein|mein|dein|sein|ihr|unser|euer|eur|dies|jed|jen|welch)(?:e[mnrs]?)?|i[mns]s?|a[mn]s?|zu[mr]|vom|beim|\p{Ll}{3,}e[mnrs]?)$/u;

export interface NamedTerms {
  named: ReadonlySet<number>;
  /** Those of them that may be nouns after all, which notes call otherwise. */
  unsure: ReadonlySet<number>;
  wholes: ReadonlyMap<number, string>;
}

/** Query terms that are names: capitalised inside a sentence, possessive, or identifiers. */
export function namedTerms(
  query: string,
  terms: readonly WeightedTerm[],
  frequencies: readonly number[],
  /** The best chunks, to tell names from capitals at the beginning of the query. */
  lines: readonly string[] = [],
): NamedTerms {
  const words = [...query.matchAll(wordMarks)].map(([word], place, all) => {
    const begins = place === 0 || /[.!?:。！？：]\s*$/u.test(query.slice(0, all[place]?.index));
    return { word, begins, before: all[place - 1]?.[0] ?? "" };
  });
  const isTitle = words.length > 1 && words.every(({ word }) => isCapital(word));
  const texts = words.map(({ word }) => word);
  const isSure = !isTitle && languageOfQuestion(texts, ["de"]) !== "de";
  const names = words.filter(({ word, begins, before }) => {
    if (!isCapital(word)) return false;
    if (isTitle) return true;
    if (begins) return possessive.test(word) || (isSure && isWrittenAsName(word, lines));
    return isSure || !determiner.test(before);
  });
  const written = new Set(names.map(({ word }) => withoutPossessive(word)));
  const [named, unsure] = [new Set<number>(), new Set<number>()];
  for (const [index, { kind, identifier, written: own = "" }] of terms.entries()) {
    if (kind === "whole" && (identifier || capitalInside.test(own))) named.add(index);
    if (kind !== "word" || !written.has(withoutPossessive(own))) continue;
    if (isSure || frequencies[index] === 0) named.add(index);
    if (!isSure && frequencies[index] === 0) unsure.add(index);
  }
  const wholes = new Map<number, string>();
  for (const { name, pairs } of chineseNames(query))
    for (const [index, { kind, term }] of terms.entries())
      if (kind === "pair" && pairs.includes(term)) wholes.set(index, name);
  for (const index of wholes.keys()) {
    named.add(index);
    unsure.add(index);
  }
  return { named, unsure, wholes };
}

/** Whether lines write a word with a capital inside a sentence, and never without. */
function isWrittenAsName(word: string, lines: readonly string[]): boolean {
  const place = new RegExp(String.raw`(?<![\p{L}\p{N}])${word}(?![\p{L}\p{N}])`, "giu");
  const text = lines.join("\n");
  const places = [...text.matchAll(place)];
  const isInside = places.some(
    ({ 0: found, index }) => found === word && /\p{Ll}[,;]? $/iu.test(text.slice(Math.max(0, index - 4), index)),
  );
  return isInside && places.every(({ 0: found }) => found === word);
}

/** Stands before a name, or before what has an article in English and German, but for what is many or much. */
const beforeName = /^(?:of|for|by|from|with|about|does|did|has|had|von|für|bei|mit|hat|hatte)$/u;

/** Possible names among unmatched terms. */
export function maybeNames(
  query: string,
  terms: readonly WeightedTerm[],
  frequencies: readonly number[],
): ReadonlySet<string> {
  const words = [...query.matchAll(wordMarks)].map(([word]) => word);
  const isAsked = /[?？]\s*$/u.test(query);
  const found = words.filter((word, place) => {
    if (place === 0 && words.length > 1 && !isAsked && /^\p{Lu}\p{Ll}+$/u.test(word)) return true;
    return /^\p{Ll}+(?:['’]s)?$/u.test(word) && (possessive.test(word) || beforeName.test(words[place - 1] ?? ""));
  });
  return new Set(
    found.filter((word) => {
      const own = terms.keys().filter((index) => isSameName(terms[index], word));
      const indexes = [...own];
      return indexes.length > 0 && indexes.every((index) => frequencies[index] === 0);
    }),
  );
}

function isSameName(term: WeightedTerm | undefined, word: string): boolean {
  return term?.kind === "word" && withoutPossessive(term.written ?? "") === withoutPossessive(word);
}

/** Whether a compound such as `ice-cream` is written as two words. `held`: terms by chunk. */
export function isWrittenApart(
  index: number,
  terms: readonly WeightedTerm[],
  held: readonly Pick<ReadonlyMap<number, unknown>, "has">[],
): boolean {
  const parts = (terms[index]?.written ?? "").split("-");
  if (parts.length < 2 || !parts.every((part) => /^\p{L}+$/u.test(part))) return false;
  const words = parts.map((part) => terms.findIndex(({ kind, written }) => kind === "word" && written === part));
  return held.some((chunk) => words.every((word) => chunk.has(word)));
}

/** A name in small letters, without the ending that says whose something is. */
export function withoutPossessive(name: string): string {
  return name.replace(/['’]s?$/u, "").toLowerCase();
}

function isCapital(word: string): boolean {
  return /^\p{Lu}/u.test(word);
}

/** Frequent Chinese family names; those that are also words (only with a title); and two-character names. */
const [familyNames, otherFamilyNames] = [new Set(zh.names.family), new Set(zh.names.otherFamily)];
const doubleNames = new Set(zh.names.double.split(" "));
/** Titles; and what follows a name and is no part of one. */
const [titles, noGivenName] = [new RegExp(zh.names.titles, "u"), new RegExp(zh.names.noGivenName, "u")];

const numbered = /[一二两兩三四五六七八九十几幾这這那每多半\d]$/u;

interface ChineseName {
  name: string;
  /** The characters that tell it from others: what is behind them may belong to the next word. */
  pairs: readonly string[];
}

const segmenter = lazily(() => new Intl.Segmenter("zh", { granularity: "word" }));

/** Chinese names in a query: family name and non-word characters (`王|芳`), a title, or a prefix. */
export function chineseNames(query: string): ChineseName[] {
  if (!/\p{Script=Han}/u.test(query)) return [];
  const words = [...segmenter().segment(query)].map(({ segment }) => segment);
  const names: ChineseName[] = [];
  for (let at = 0; at < words.length; at++) {
    const [before, word, next] = [words[at - 1] ?? "", words[at] ?? "", words[at + 1] ?? ""];
    if (numbered.test(before)) continue;
    const isDouble = doubleNames.has(word);
    const isFamily = familyNames.has(word) || isDouble;
    const given = isFamily ? givenName(next, words[at + 2] ?? "") : "";
    if ((isFamily || otherFamilyNames.has(word)) && titles.test(next)) names.push(nameOf(word + next, isDouble));
    else if (given !== "") names.push(nameOf(word + given, isDouble));
    else if (/^[老小阿]\p{Script=Han}$/u.test(word) && familyNames.has(word.slice(1))) names.push(nameOf(word, false));
    else if (/^[老小阿]$/u.test(word) && familyNames.has(next)) names.push(nameOf(word + next, false));
  }
  return names;
}

function nameOf(name: string, isDouble: boolean): ChineseName {
  const pairs = isDouble ? [name.slice(0, 2), name.slice(1, 3)] : [name.slice(0, 2)];
  return { name, pairs };
}

/** What follows a family name and is no word, without what does not belong to it: 芳和 is 芳. */
function givenName(first: string, second: string): string {
  if (!/^\p{Script=Han}{1,2}$/u.test(first) || noGivenName.test(first)) return "";
  if (first.length === 2) return noGivenName.test(first.slice(1)) ? first.slice(0, 1) : first;
  const isLonger = /^\p{Script=Han}$/u.test(second) && !noGivenName.test(second);
  return first + (isLonger ? second : "");
}
