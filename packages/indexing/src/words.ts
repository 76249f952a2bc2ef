import { stemmer } from "stemmer";
import { irregularForms } from "./irregular-forms.ts";
import { stopWords } from "./stop-words.ts";

/** Part of every recipe: raise it when the same text gives other terms, so that indexes are brought up to date. */
export const wordsVersion = 1;

/** Receives each term of a text, with the range of the text that it stands for (UTF-16 units, end exclusive). */
export type TermSink = (term: string, start: number, end: number, kind: TermKind) => void;

/**
 * `word`: one word. `whole`: words held together by punctuation or capitals (`QX-7919`, `node.js`, `memorySearch`),
 * whose parts come as words besides. `pair`: two neighbouring characters of a script written without spaces.
 * `single`: the last character of such a run.
 */
export type TermKind = "word" | "whole" | "pair" | "single";

const separator = 0;
const wordCharacter = 1;
const unspacedCharacter = 2;
const joiner = 3;

const unspacedScripts =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー々〆〻]/u;
const lettersDigitsMarks = /[\p{L}\p{N}\p{M}_]/u;
const joiners = "-./:@#+&'’";

const maxWholeLength = 100;
const maxPartLength = 64;
const maxStemsKept = 50_000;

const classes = new Uint8Array(0x10000).fill(255);

function classOf(text: string, index: number): number {
  const unit = text.charCodeAt(index);
  const known = classes[unit] as number;
  if (known !== 255) return known;
  if (unit >= 0xd800 && unit <= 0xdfff) {
    // Characters outside the basic plane: both halves of a pair get the class of the pair, and are not remembered.
    const start = unit >= 0xdc00 ? index - 1 : index;
    const character = String.fromCodePoint(text.codePointAt(Math.max(0, start)) ?? 0x20);
    return character.length === 2 ? classify(character) : separator;
  }
  return (classes[unit] = classify(String.fromCharCode(unit)));
}

function classify(character: string): number {
  if (unspacedScripts.test(character)) return unspacedCharacter;
  if (lettersDigitsMarks.test(character)) return wordCharacter;
  return joiners.includes(character) ? joiner : separator;
}

/**
 * The one tokenizer: index, query, snippet and marking all use it, so that a word means the same everywhere.
 * Terms come in the order of the text. They hold no spaces.
 */
export function scanTerms(text: string, sink: TermSink): void {
  const length = text.length;
  let index = 0;
  while (index < length) {
    const kind = classOf(text, index);
    if (kind === wordCharacter) {
      const start = index;
      let joined = false;
      index++;
      while (index < length) {
        const next = classOf(text, index);
        if (next === wordCharacter) index++;
        else if (next === joiner && index + 1 < length && classOf(text, index + 1) === wordCharacter) {
          joined = true;
          index += 2;
        } else break;
      }
      if (joined) scanJoined(text, start, index, sink);
      else scanPart(text, start, index, sink);
      index = scanSuffix(text, start, index, sink);
    } else if (kind === unspacedCharacter) {
      const start = index;
      while (index < length && classOf(text, index) === unspacedCharacter) index++;
      scanUnspaced(text, start, index, sink);
    } else index++;
  }
}

/** `c++`, `c#`, `f#`: a short name whose punctuation is what tells it from a letter. */
function scanSuffix(text: string, start: number, end: number, sink: TermSink): number {
  if (end - start > 2) return end;
  let stop = end;
  while (stop < text.length && stop < end + 2 && (text[stop] === "+" || text[stop] === "#")) stop++;
  if (stop === end || (stop < text.length && classOf(text, stop) === wordCharacter)) return end;
  if (text[end] === "+" && stop - end !== 2) return end;
  sink(text.slice(start, stop).toLowerCase(), start, stop, "whole");
  return stop;
}

function scanJoined(text: string, start: number, end: number, sink: TermSink): void {
  let onlyApostrophes = true;
  let partStart = start;
  for (let index = start; index <= end; index++) {
    if (index < end && classOf(text, index) !== joiner) continue;
    const apostropheBefore = partStart > start && isApostrophe(text, partStart - 1);
    // The tail of a contraction ("it's", "we'll") says nothing.
    if (!(apostropheBefore && index - partStart <= 2)) scanPart(text, partStart, index, sink);
    if (index < end && !isApostrophe(text, index)) onlyApostrophes = false;
    partStart = index + 1;
  }
  if (!onlyApostrophes && end - start <= maxWholeLength) {
    sink(foldWord(text.slice(start, end)).replaceAll("’", "'"), start, end, "whole");
  }
}

function isApostrophe(text: string, index: number): boolean {
  const character = text[index];
  return character === "'" || character === "’";
}

const capitalInside = /[\p{Ll}\p{N}]\p{Lu}|\p{Lu}{2}\p{Ll}/u;
const capitalBoundary = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})|_+/u;

function scanPart(text: string, start: number, end: number, sink: TermSink): void {
  const part = end - start > maxPartLength ? text.slice(start, start + maxPartLength) : text.slice(start, end);
  if (part.includes("_") || capitalInside.test(part)) {
    const pieces = part.split(capitalBoundary).filter((piece) => piece !== "");
    if (pieces.length > 1) {
      let from = start;
      for (const piece of pieces) {
        const at = text.indexOf(piece, from);
        sink(stemOf(piece), at, at + piece.length, "word");
        from = at + piece.length;
      }
      sink(foldWord(part), start, end, "whole");
      return;
    }
  }
  sink(stemOf(part), start, end, "word");
}

function scanUnspaced(text: string, start: number, end: number, sink: TermSink): void {
  const run = text.slice(start, end);
  // Half-width kana and separate Hangul letters become the usual characters. Only then can offsets differ, and then
  // every term stands for the whole run.
  const folded = run.normalize("NFKC");
  const exact = folded.length === run.length;
  let previous = "";
  let previousStart = start;
  let position = start;
  for (const character of folded) {
    const from = exact ? position : start;
    const to = exact ? position + character.length : end;
    if (previous !== "") sink(previous + character, exact ? previousStart : start, to, "pair");
    previous = character;
    previousStart = from;
    position += character.length;
  }
  if (previous !== "") sink(previous, previousStart, end, "single");
}

const asciiOnly = /^[\x20-\x7e]*$/;
// Latin, Greek and Cyrillic accents, Hebrew points, Arabic vowel signs: written or left out at will.
const optionalMarks = /[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]/g;

function foldWord(word: string): string {
  const lower = word.toLowerCase();
  if (asciiOnly.test(lower)) return lower;
  return lower.normalize("NFKD").replaceAll(optionalMarks, "").replaceAll("ß", "ss").normalize("NFC");
}

const stems = new Map<string, string>();
const latinLetters = /^[a-z]{3,}$/;

/** The form a word is indexed under: lower case, without accents, stemmed where it is written in Latin letters. */
function stemOf(word: string): string {
  const known = stems.get(word);
  if (known !== undefined) return known;
  const folded = foldWord(word);
  const base = irregularForms.get(folded) ?? folded;
  const stem = latinLetters.test(base) ? stemmer(base) : base;
  // A pure cache: it changes no answer, only how fast it comes.
  if (stems.size >= maxStemsKept) stems.clear();
  stems.set(word, stem);
  return stem;
}

/** The terms of a text, joined by spaces: what a store indexes. */
export function indexTerms(text: string): string {
  const terms: string[] = [];
  scanTerms(text, (term) => terms.push(term));
  return terms.join(" ");
}

/** A term of a query. `identifier` marks one that is meant as written: it holds a digit or punctuation. */
export interface SearchTerm {
  term: string;
  prefix: boolean;
  kind: TermKind;
  identifier: boolean;
}

const holdsDigitOrJoiner = /[\p{N}\-./:@#+&_]/u;
const maxQueryTerms = 64;

/**
 * The distinct terms of a query in their order, without stop words, unless it holds nothing else. At most 64.
 */
export function queryTerms(query: string): SearchTerm[] {
  const found = new Map<string, SearchTerm>();
  const stopped: SearchTerm[] = [];
  let pairs = 0;
  scanTerms(query, (term, start, end, kind) => {
    if (kind === "pair") pairs++;
    if (found.has(term)) return;
    const identifier = (kind === "word" && /\p{N}/u.test(term)) || (kind === "whole" && holdsDigitOrJoiner.test(term));
    const entry: SearchTerm = { term, prefix: false, kind, identifier };
    if (kind === "word" && (stopWords.has(query.slice(start, end).toLowerCase()) || stopWords.has(term)))
      stopped.push(entry);
    else found.set(term, entry);
  });
  // The last character of a run is indexed by itself and every other one begins a pair, so that one character on its
  // own is found as the beginning of a term. Beside pairs it adds nothing.
  for (const [term, entry] of found) {
    if (entry.kind !== "single") continue;
    if (pairs > 0) found.delete(term);
    else entry.prefix = true;
  }
  const terms = found.size > 0 ? [...found.values()] : stopped;
  return terms.slice(0, maxQueryTerms);
}
