import type { HeldLanguages } from "../../text/languages/chunk-terms.ts";
import { isJoining } from "../../text/languages/languages.ts";
import { foldWord } from "../../text/fold-word.ts";
import type { SearchTerm } from "../../text/query-terms.ts";
import { type CharacterVariants, otherCharacters } from "./chinese-characters.ts";
import { joinedWords } from "./compounds.ts";
import { otherSpellings } from "./spellings.ts";
import { termFor } from "./word-source.ts";

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
export function writtenOtherwise(
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
  const isBeginning = term.term.length >= minPrefixLength;
  return [
    joined,
    spelled,
    isBeginning ? [{ word: written, by: [{ ...term, prefix: true, forms: undefined }], isTold: false }] : [],
  ];
}
