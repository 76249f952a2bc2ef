import { lazily } from "@memslot/core/host";
import { stemmer } from "stemmer";
import { foldWord, isDigit, leftOut, endingTerm, withoutParticles } from "./word-forms.ts";
import families from "./irregular-forms.json" with { type: "json" };
import { stopWords } from "./languages/detect-language.ts";
import { surrogateSafe } from "./split-by-tokens.ts";
import { addToHash, remembered, WordCache } from "./word-cache.ts";
import { joinedValues, type Value, valuesAt } from "./number-values.ts";

/** Part of every recipe. Increment it when terms change. */
export const wordsVersion = 7;

/** Receives each term of a text, with the range of the text that it stands for (UTF-16 units, end exclusive). */
export type TermSink = (term: string, start: number, end: number, kind: TermKind) => void;

/** `whole`: joined words such as `node.js`. `pair`, `single`: characters of scripts without spaces. */
export type TermKind = "word" | "whole" | "pair" | "single" | "stem";

const separator = 0;
const wordCharacter = 1;
const unspacedCharacter = 2;
const joiner = 3;
/** Says how the character before it is drawn, or where a line may break: it is in a word without being part of it. */
const invisible = 4;
/** Counts as a word only in a line without other words. */
const emoji = 5;

const unspacedScripts =
  /[\u3099-\u309a\uff70\uff9e-\uff9f\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー々〆〻]/u;
const invisibles = /[\p{Variation_Selector}\u00ad]/u;
const emojiCharacter = /[\p{Extended_Pictographic}\p{RI}]/u;
const emojiPiece = /\p{RI}{2}|[^]/uy;
const lettersDigitsMarks = /[\p{L}\p{N}\p{M}_]/u;
const apostrophes = "'’ʻʼ";
const joiners = `-./:@#+&${apostrophes}`;

const apostrophe = new RegExp(`[${apostrophes}]`, "gu");
const decimalDigit = /\p{Nd}/u;

const maxWholeLength = 100;
const maxPartLength = 64;
const maxStemsKept = 50_000;

/** The terms of words that are one term and nothing besides, wherever they stand. */
const plainWords = new WordCache();

const classes = new Uint8Array(0x10000).fill(255);

function classOf(text: string, index: number): number {
  const unit = text.charCodeAt(index);
  const known = classes[unit] as number;
  if (known !== 255) return known;
  if (unit >= 0xd800 && unit <= 0xdfff) {
    // Surrogates get the class of their pair and are not cached.
    const start = unit >= 0xdc00 ? index - 1 : index;
    const character = String.fromCodePoint(text.codePointAt(Math.max(0, start)) ?? 0x20);
    return character.length === 2 ? classify(character) : separator;
  }
  return (classes[unit] = classify(String.fromCharCode(unit)));
}

function classify(character: string): number {
  if (invisibles.test(character)) return invisible;
  if (joiners.includes(character)) return joiner;
  if (decimalDigit.test(character)) return wordCharacter;
  if (unspacedScripts.test(character)) return unspacedCharacter;
  if (emojiCharacter.test(character)) return emoji;
  return lettersDigitsMarks.test(character) ? wordCharacter : separator;
}

type ValueSink = (value: Value) => void;

function valueSink(sink: TermSink): ValueSink {
  return ({ terms, start, end }) => {
    for (const term of terms) sink(term, start, end, "whole");
  };
}

/** The tokenizer of index, query, snippets and highlighting. Terms come in text order, without spaces. */
export function scanTerms(text: string, sink: TermSink, sinkValue: ValueSink = valueSink(sink)): void {
  const length = text.length;
  let index = 0;
  let alone: number[] | undefined = [];
  let values: readonly Value[] = [];
  let valuesEnd = Infinity;
  while (index < length || valuesEnd <= length) {
    if (index >= valuesEnd) {
      for (const value of values) sinkValue(value);
      valuesEnd = Infinity;
      continue;
    }
    const kind = classOf(text, index);
    if (kind === wordCharacter || kind === unspacedCharacter) alone = undefined;
    if (kind === wordCharacter) {
      const start = index;
      let joined = false;
      let hash = addToHash(0, text.charCodeAt(index));
      index++;
      while (index < length) {
        const next = classOf(text, index);
        if (next === wordCharacter || next === invisible) hash = addToHash(hash, text.charCodeAt(index++));
        else if (next === joiner && index + 1 < length && classOf(text, index + 1) === wordCharacter) {
          joined = true;
          index += 2;
        } else break;
      }
      const known = joined ? undefined : plainWords.get(text, start, index, hash);
      if (known !== undefined) sink(known, start, index, "word");
      else if (joined) scanJoined(text, start, index, sink, sinkValue);
      else scanPart(text, start, index, sink, hash);
      if (valuesEnd === Infinity && (isDigit(text.charCodeAt(start)) || isDigit(text.charCodeAt(index - 1)))) {
        values = valuesAt(text, start, index);
        valuesEnd = values[0]?.end ?? Infinity;
      }
      index = scanSuffix(text, start, index, sink);
    } else if (kind === unspacedCharacter) {
      const start = index;
      while (index < length && isUnspaced(classOf(text, index))) index++;
      scanUnspaced(text, start, index, sink);
    } else if (kind === emoji) {
      alone?.push(index);
      index += emojiAt(text, index).length;
    } else {
      if (text.charCodeAt(index++) !== lineFeed) continue;
      for (const at of alone ?? []) giveEmoji(text, at, sink);
      alone = [];
    }
  }
  for (const at of alone ?? []) giveEmoji(text, at, sink);
}

function giveEmoji(text: string, at: number, sink: TermSink): void {
  const character = emojiAt(text, at);
  sink(character, at, at + character.length, "word");
}

/** A flag is two characters; of other emoji that are joined, each is one. */
function emojiAt(text: string, index: number): string {
  emojiPiece.lastIndex = index;
  return emojiPiece.exec(text)?.[0] ?? "";
}

function isUnspaced(kind: number): boolean {
  return kind === unspacedCharacter || kind === invisible;
}

const lineFeed = 0x0a;
const plusSign = 0x2b;
const numberSign = 0x23;

/** `c++`, `c#`, `f#`: a short name whose punctuation is what tells it from a letter. */
function scanSuffix(text: string, start: number, end: number, sink: TermSink): number {
  const next = text.charCodeAt(end);
  if (next !== plusSign && next !== numberSign) return end;
  let stop = end;
  while (stop < text.length && stop < end + 2 && (text[stop] === "+" || text[stop] === "#")) stop++;
  if (stop === end || (stop < text.length && classOf(text, stop) === wordCharacter)) return end;
  if (text[end] === "+" && stop - end !== 2) return end;
  const name = foldWord(text.slice(start, end));
  if (name === "" || name.length > 2) return end;
  sink(name + text.slice(end, stop), start, stop, "whole");
  return stop;
}

/** The tail of a contraction ("it's", "we'll") says nothing. */
const contracted = /^(?:s|t|d|m|ll|re|ve)$/i;

function scanJoined(text: string, start: number, end: number, sink: TermSink, sinkValue: ValueSink): void {
  let onlyApostrophes = true;
  let partStart = start;
  for (let index = start; index <= end; index++) {
    if (index < end && classOf(text, index) !== joiner) continue;
    const tail =
      partStart > start && isApostrophe(text, partStart - 1) && contracted.test(text.slice(partStart, index));
    if (!tail) scanPart(text, partStart, index, sink);
    if (index < end && !isApostrophe(text, index)) onlyApostrophes = false;
    partStart = index + 1;
  }
  if (!onlyApostrophes && end - start <= maxWholeLength) {
    const { whole, terms } = termsOfRun(text.slice(start, end));
    sink(whole, start, end, "whole");
    if (terms.length > 0) sinkValue({ terms, start, end });
  }
}

/** The terms of a run besides its parts: as it is written, and as a value. */
const termsOfRun = remembered(
  (run) => ({ whole: foldWord(run).replaceAll(apostrophe, "'"), terms: joinedValues(run).map(termOfWord) }),
  maxStemsKept,
);

function isApostrophe(text: string, index: number): boolean {
  return apostrophes.includes(text.charAt(index));
}

const small = String.raw`[\p{Ll}\p{N}]\p{M}*`;
const capital = String.raw`[\p{Lu}\p{Lt}]\p{M}*`;
const capitalInside = new RegExp(String.raw`${small}${capital}|${capital}${capital}\p{Ll}`, "u");
const capitalBoundary = lazily(
  () => new RegExp(String.raw`(?<=${small})(?=${capital})|(?<=${capital})(?=${capital}\p{Ll})|_+`, "u"),
);

/** `hash`: of the whole, where it stands by itself. */
function scanPart(text: string, start: number, end: number, sink: TermSink, hash?: number): void {
  const isLong = end - start > maxPartLength;
  const part = text.slice(start, isLong ? surrogateSafe(text, start + maxPartLength) : end);
  if (!part.includes("_") && !capitalInside.test(part)) {
    const term = termOfWord(part);
    give(term, start, end, "word", sink);
    if (mayHoldParticles(term)) {
      const { noun, rests = [] } = withoutParticles(term) ?? {};
      if (noun !== undefined) sink(noun, start, end, "stem");
      for (const rest of rests) sink(endingTerm(rest), start, end, "stem");
    } else if (isInCapitals(part)) {
      if (!isShouted(text, start, end)) sink(capitalTerm(part), start, end, "whole");
    } else if (hash !== undefined && !isLong && term !== "") plainWords.set(part, hash, term);
    return;
  }
  let from = start;
  for (const piece of part.split(capitalBoundary())) {
    if (piece === "") continue;
    const at = text.indexOf(piece, from);
    from = at + piece.length;
    give(termOfWord(piece), at, from, "word", sink);
  }
  // Stemmed, so that `iPhone` and `iphone` are equal; underscores alone are dropped.
  if (from > start) give(termOfWord(part), start, end, "whole", sink);
}

export function mayHoldParticles(term: string): boolean {
  const unit = term.charCodeAt(0);
  return unit >= 0x5d0 && unit < 0x700;
}

const inCapitals = /^[A-Z]{2,5}$/;
const capitalZ = 0x5a;
const stressed = new Set(["AND", "ARE", "BE", "BEEN", "DO", "DOES", "DID", "IS", "OR", "THE", "THIS", "THAT", "WAS"]);

/** `US`, `IT`, `WHO`: a name that without its capitals is a stop word. */
function isInCapitals(part: string): boolean {
  // Most words have a small second letter.
  return (
    part.length > 1 &&
    part.charCodeAt(1) <= capitalZ &&
    inCapitals.test(part) &&
    stopWords.has(part.toLowerCase()) &&
    !stressed.has(part)
  );
}

function capitalTerm(part: string): string {
  return `^${part.toLowerCase()}`;
}

let looked = { text: "", from: 0, to: -1, isShouted: false };

/** In a line of several words that are all in capitals, these tell nothing. */
function isShouted(text: string, start: number, end: number): boolean {
  if (looked.text !== text || start < looked.from || end > looked.to) {
    const lineEnd = text.indexOf("\n", end);
    const [from, to] = [text.lastIndexOf("\n", start) + 1, lineEnd < 0 ? text.length : lineEnd];
    const line = text.slice(from, to);
    looked = { text, from, to, isShouted: !/\p{Ll}/u.test(line) && (line.match(/\p{Lu}+/gu)?.length ?? 0) > 2 };
  }
  return looked.isShouted;
}

function give(term: string, start: number, end: number, kind: TermKind, sink: TermSink): void {
  if (term !== "") sink(term, start, end, kind);
}

function scanUnspaced(text: string, start: number, end: number, sink: TermSink): void {
  const run = text.slice(start, end);
  // Half-width kana and single Hangul letters are normalised. If offsets change, every term covers the whole run.
  const folded = run.normalize("NFKC").replaceAll(leftOut, "");
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

/** Irregular forms, which a stemmer cannot know. */
const irregularForms: ReadonlyMap<string, string> = new Map(
  Object.entries(families).flatMap(([base, forms]) => forms.split(" ").map((form) => [form, base] as const)),
);

const latinLetters = /^[a-z]{3,}$/;

/** The form a word is indexed under: lower case, without accents, stemmed where it is written in Latin letters. */
export const termOfWord: (word: string) => string = remembered((word) => {
  const folded = foldWord(word);
  const base = irregularForms.get(folded) ?? folded;
  // The stemmer makes an `i` of a `y` that ends a word, but not of the one that is left of `deployment`.
  return latinLetters.test(base) ? stemmer(base).replace(/(?<=[aeiou].*)y$/u, "i") : base;
}, maxStemsKept);

/** The terms of a text, joined by spaces: what a store indexes. */
export function indexTerms(text: string): string {
  const terms: string[] = [];
  scanTerms(text, (term) => terms.push(term));
  return terms.join(" ");
}
