import { stopWords } from "@memslot/indexing";
import type { QmdSearch } from "../qmd-contract.ts";

const maxLength = 1000;
/** qmd takes ten lists at most; the first is all words together. */
const maxTokens = 9;
/** Lists of a run of Chinese, Japanese or Korean: as many again, in a second question. */
const maxPairs = 9;

const unspaced = String.raw`[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー々〆〻]`;
const spaced = String.raw`(?:(?!${unspaced})[\p{L}\p{M}\p{N}_])+`;
// Runs of letters and digits with what holds them together inside: `QX-7919`, `node.js`.
const tokenPattern = new RegExp(String.raw`${unspaced}+|${spaced}(?:[-.]${spaced})*`, "gu");
const isUnspaced = new RegExp(`^${unspaced}`, "u");

/**
 * The lists that a question becomes, at most ten for each call; none where it holds no word. qmd wants all words of a
 * list in one file, and with a sentence it finds nothing: so the first list is all words, and then each word is one.
 * A run of characters without spaces is a phrase to qmd, and a question of ten characters stands nowhere: its
 * neighbouring pairs are lists too, as in every other search here.
 */
export function buildQuery(question: string): QmdSearch[][] {
  const tokens = tokensOf(question);
  if (tokens.length === 0) return [];
  const words = preferred(tokens, maxTokens);
  const lines = [...(words.length > 1 ? [words.join(" ")] : []), ...words];
  const pairs = tokens.filter((token) => isUnspaced.test(token)).flatMap(pairsOf);
  const more = spread(
    [...new Set(pairs)].filter((pair) => !lines.includes(pair)),
    Math.max(0, 10 - lines.length) + maxPairs,
  );
  const all = [...lines, ...more].map((query): QmdSearch => ({ type: "lex", query }));
  return [all.slice(0, 10), all.slice(10)].filter((lists) => lists.length > 0);
}

/** The same question for a search by meaning, which takes no line end and no word with a minus before it. */
export function meaningQuery(question: string): QmdSearch | undefined {
  const query = clean(question)
    .replaceAll(/(^|\s)-+(?=[\w"])/g, "$1")
    .trim();
  return query === "" ? undefined : { type: "vec", query };
}

function tokensOf(question: string): string[] {
  const all = [...new Set(clean(question).match(tokenPattern) ?? [])].filter((token) => /[\p{L}\p{N}]/u.test(token));
  const telling = all.filter((token) => !stopWords.has(token.toLowerCase()));
  return telling.length > 0 ? telling : all;
}

/** Composed, on one line, without control characters, not too long. */
function clean(question: string): string {
  const text = question.toWellFormed().normalize("NFC");
  return text
    .slice(0, maxLength)
    .toWellFormed()
    .replaceAll(/\p{Cf}/gu, "")
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\ufffd]/gu, " ");
}

/** So many of them in their order: those with digits or punctuation first, then the longest, which are the rarest mostly. */
function preferred(tokens: readonly string[], limit: number): string[] {
  const weight = (token: string): number => token.length + (/[\p{N}\-._]/u.test(token) ? 100 : 0);
  const kept = new Set(tokens.toSorted((left, right) => weight(right) - weight(left)).slice(0, limit));
  return tokens.filter((token) => kept.has(token));
}

/** The neighbouring pairs of a run that is longer than one pair. */
function pairsOf(run: string): string[] {
  const characters = [...run];
  return characters.length <= 2
    ? []
    : characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}

/** So many of a list, taken evenly over all of it. */
function spread(items: readonly string[], limit: number): string[] {
  if (items.length <= limit) return [...items];
  return Array.from({ length: limit }, (_, index) => items[Math.floor((index * items.length) / limit)] ?? "");
}
