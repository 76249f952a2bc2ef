import { stopWords } from "@memslot/indexing/engine";
import type { QmdSearch } from "../process/qmd-client.ts";

const maxLength = 1000;
/** Lists that qmd takes in one call. */
export const maxLists = 10;
const maxWords = maxLists - 1;
const maxPairs = 9;

const unspaced = String.raw`[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー々〆〻]`;
const spaced = String.raw`(?:(?!${unspaced})[\p{L}\p{M}\p{N}_])+`;
// Runs of letters and digits with the punctuation inside: `QX-7919`, `node.js`.
const wordPattern = new RegExp(String.raw`${unspaced}+|${spaced}(?:[-.]${spaced})*`, "gu");
const isUnspaced = new RegExp(`^${unspaced}`, "u");

/**
 * The word lists of a question, at most ten. A qmd list matches files with all its words: first all words, then each
 * one; runs without spaces also as pairs of characters.
 */
export function lexicalLists(question: string): QmdSearch[][] {
  const found = wordsOf(question);
  if (found.length === 0) return [];
  const words = rarest(found, maxWords);
  const lines = [...(words.length > 1 ? [words.join(" ")] : []), ...words];
  const pairs = [...new Set(found.filter((word) => isUnspaced.test(word)).flatMap(pairsOf))];
  const more = spread(
    pairs.filter((pair) => !lines.includes(pair)),
    Math.max(0, maxLists - lines.length) + maxPairs,
  );
  const all = [...lines, ...more].map((query): QmdSearch => ({ type: "lex", query }));
  return [all.slice(0, maxLists), all.slice(maxLists)].filter((lists) => lists.length > 0);
}

/** The list of a semantic search, which takes no line end and no word with a minus before it. */
export function semanticList(question: string): QmdSearch | undefined {
  const query = clean(question)
    .replaceAll(/(^|\s)-+(?=[\w"])/g, "$1")
    .trim();
  return query === "" ? undefined : { type: "vec", query };
}

/** Distinct words without stop words, or with them if there are no others. */
function wordsOf(question: string): string[] {
  const all = [...new Set(clean(question).match(wordPattern) ?? [])].filter((word) => /[\p{L}\p{N}]/u.test(word));
  const content = all.filter((word) => !stopWords.has(word.toLowerCase()));
  return content.length > 0 ? content : all;
}

function clean(question: string): string {
  return question
    .toWellFormed()
    .normalize("NFC")
    .slice(0, maxLength)
    .toWellFormed()
    .replaceAll(/\p{Cf}/gu, "")
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\ufffd]/gu, " ");
}

/** Words with digits or punctuation first, then the longest, which are mostly the rarest; in the order of the question. */
function rarest(words: readonly string[], limit: number): string[] {
  const weight = (word: string): number => word.length + (/[\p{N}\-._]/u.test(word) ? 100 : 0);
  const kept = new Set(words.toSorted((left, right) => weight(right) - weight(left)).slice(0, limit));
  return words.filter((word) => kept.has(word));
}

function pairsOf(run: string): string[] {
  const characters = [...run];
  if (characters.length <= 2) return [];
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}

function spread(items: readonly string[], limit: number): string[] {
  if (items.length <= limit) return [...items];
  return Array.from({ length: limit }, (_, index) => items[Math.floor((index * items.length) / limit)] ?? "");
}
