import { lazily } from "@memslot/core";
import { languageOfQuestion } from "../text/languages/languages.ts";
import zh from "../text/languages/zh.json" with { type: "json" };
import type { WeightedTerm } from "./bm25.ts";

const wordMarks = /[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu;
const possessive = /['’]s$/u;
/** `MongoDB`: a name, whatever stands around it. */
const capitalInside = /\p{Ll}\p{Lu}/u;
/** What stands before a German noun that is no name: an article or its like, or an adjective by its ending. */
const determiner =
  /^(?:d(?:er|ie|as|en|em|es)|(?:ein|kein|mein|dein|sein|ihr|unser|euer|eur|dies|jed|jen|welch)(?:e[mnrs]?)?|i[mns]s?|a[mn]s?|zu[mr]|vom|beim|\p{Ll}{3,}e[mnrs]?)$/u;

/** Terms of a question, by index. */
export interface NamedTerms {
  named: ReadonlySet<number>;
  /** Those of them that may be nouns after all, which notes call otherwise. */
  unsure: ReadonlySet<number>;
  /** The names that the terms are parts of, where they are no words of their own. */
  wholes: ReadonlyMap<number, string>;
}

/**
 * Which terms of a question name somebody or something: words that are written like names inside a sentence or own something,
 * and identifiers. Where all nouns are written so, as in German, or all words, those are taken for names, and not for sure,
 * that no note holds and before which there is no article.
 */
export function namedTerms(
  query: string,
  terms: readonly WeightedTerm[],
  /** How many chunks hold each term. */
  frequencies: readonly number[],
  /** The best chunks: as they write it, a capital at the beginning of the question is that of a name or of the sentence. */
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

/**
 * Words that may be names, of those that no note holds: in small letters what owns something or stands there without an
 * article, as `gustav` in "the shoe size of gustav", and the first word of a question that does not begin in small letters.
 */
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

/**
 * Whether a term such as `ice-cream` is made of words that stand in one chunk each for itself: notes may write it as two. What
 * has a figure in it is a number of something, and no words. `held`: what each chunk holds, by the index of the term.
 */
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

/**
 * The commonest family names; those that are as often a word of their own (钱, 马, 方, 高), which are a name only with a title
 * behind them; and those of two characters.
 */
const [familyNames, otherFamilyNames] = [new Set(zh.names.family), new Set(zh.names.otherFamily)];
const doubleNames = new Set(zh.names.double.split(" "));
/** Titles; and what stands behind a name and is no part of one. */
const [titles, noGivenName] = [new RegExp(zh.names.titles, "u"), new RegExp(zh.names.noGivenName, "u")];

const numbered = /[一二两兩三四五六七八九十几幾这這那每多半\d]$/u;

interface ChineseName {
  name: string;
  /** The characters that tell it from others: what is behind them may belong to the next word. */
  pairs: readonly string[];
}

const segmenter = lazily(() => new Intl.Segmenter("zh", { granularity: "word" }));

/**
 * The names of people in a Chinese question, where nothing sets them apart in writing: a family name with what no word is
 * made of behind it (`王|芳`, `李|小龙`), or with a title (`陈医生`), or with 老, 小 or 阿 before it.
 */
export function chineseNames(query: string): ChineseName[] {
  if (!/\p{Script=Han}/u.test(query)) return [];
  const words = [...segmenter().segment(query)].map(({ segment }) => segment);
  const names: ChineseName[] = [];
  for (let at = 0; at < words.length; at++) {
    const [before, word, next] = [words[at - 1] ?? "", words[at] ?? "", words[at + 1] ?? ""];
    // 两张门票, 第三周: a measure word.
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

/** What stands behind a family name and is no word, without what does not belong to it: 芳和 is 芳. */
function givenName(first: string, second: string): string {
  if (!/^\p{Script=Han}{1,2}$/u.test(first) || noGivenName.test(first)) return "";
  if (first.length === 2) return noGivenName.test(first.slice(1)) ? first.slice(0, 1) : first;
  const isLonger = /^\p{Script=Han}$/u.test(second) && !noGivenName.test(second);
  return first + (isLonger ? second : "");
}
