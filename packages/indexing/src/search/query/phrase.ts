import { scanTerms } from "../../text/words.ts";

/** Words that stand one behind the other. */
export interface Phrase {
  text: string;
  words: readonly PhraseWord[];
}

/** The form that a word is indexed under, and those of words that begin with it and are one (`memorySearch`, `c++`). */
interface PhraseWord {
  term: string;
  /** By their length in words. */
  wholes: ReadonlyMap<number, string>;
}

/**
 * The words of a text as the index has them, in their order. A character of a script without spaces is a word. Signs
 * between words do not count, other than those that a name ends with (`c++`).
 */
export function phraseOf(text: string): Phrase {
  const words: { term: string; wholes: Map<number, string>; start: number }[] = [];
  scanTerms(text, (term, start, _end, kind) => {
    if (kind === "stem") return;
    if (kind !== "whole") {
      words.push({ term: kind === "pair" ? firstOf(term) : term, wholes: new Map(), start });
      return;
    }
    const first = words.findLastIndex((word) => word.start === start);
    if (first >= 0) words[first]?.wholes.set(words.length - first, term);
  });
  return { text, words };
}

/** Whether the phrase stands somewhere in the text. */
export function holdsPhrase(text: Phrase, phrase: Phrase): boolean {
  return phrase.words.length > 0 && text.words.some((_, at) => standsAt(text, at, phrase, 0));
}

function standsAt(text: Phrase, at: number, phrase: Phrase, from: number): boolean {
  const wanted = phrase.words[from];
  if (wanted === undefined) return true;
  const word = text.words[at];
  if (word === undefined) return false;
  const name = wanted.wholes.get(1);
  if (name !== undefined && word.wholes.get(1) !== name) return false;
  if (word.term === wanted.term && standsAt(text, at + 1, phrase, from + 1)) return true;
  for (const [length, whole] of word.wholes)
    if (length > 1 && whole === wanted.term && standsAt(text, at + length, phrase, from + 1)) return true;
  for (const [length, whole] of wanted.wholes)
    if (length > 1 && whole === word.term && standsAt(text, at + 1, phrase, from + length)) return true;
  return false;
}

function firstOf(pair: string): string {
  return String.fromCodePoint(pair.codePointAt(0) ?? 0);
}
