import { languageOfQuestion } from "../../text/languages/detect-language.ts";
import type { WeightedTerm } from "../line-scores.ts";

const wordMarks = /[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu;

/**
 * Which terms of a question name somebody or something, by index: words that are written like names inside a sentence, and
 * identifiers. Where all nouns are written so, as in German, or all words, none is told from the others.
 */
export function namedTerms(query: string, terms: readonly WeightedTerm[]): Set<number> {
  const words = [...query.matchAll(wordMarks)];
  const isCapital = (word: string): boolean => /^\p{Lu}/u.test(word);
  const hasCapitalNouns =
    languageOfQuestion(
      words.map(([word]) => word),
      ["de"],
    ) === "de" || words.every(([word]) => isCapital(word));
  const names = new Set<string>();
  for (const [place, match] of words.entries()) {
    const begins = place === 0 || /[.!?:。！？：]\s*$/u.test(query.slice(0, match.index));
    if (!hasCapitalNouns && !begins && isCapital(match[0])) names.add(match[0].replace(/['’]s?$/u, "").toLowerCase());
  }
  const named = new Set<number>();
  for (const [index, { kind, identifier, written = "" }] of terms.entries()) {
    if (kind === "whole" ? identifier : kind === "word" && names.has(written.replace(/['’]s?$/u, "").toLowerCase()))
      named.add(index);
  }
  return named;
}
