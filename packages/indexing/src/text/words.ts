import { stemmer } from "stemmer";
import { stopWords } from "./stop-words.ts";
import { surrogateSafe } from "./token-weight.ts";

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
/** Says how the character before it is drawn, or where a line may break: it is in a word without being part of it. */
const invisible = 4;

// The marks that Japanese adds to kana (alone, half-width or the vowel sign) are shared by scripts, so they are named.
const unspacedScripts =
  /[\u3099-\u309a\uff70\uff9e-\uff9f\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー々〆〻]/u;
const invisibles = /[\p{Variation_Selector}\u00ad]/u;
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
  if (invisibles.test(character)) return invisible;
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
        if (next === wordCharacter || next === invisible) index++;
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
      while (index < length && isUnspaced(classOf(text, index))) index++;
      scanUnspaced(text, start, index, sink);
    } else index++;
  }
}

function isUnspaced(kind: number): boolean {
  return kind === unspacedCharacter || kind === invisible;
}

/** `c++`, `c#`, `f#`: a short name whose punctuation is what tells it from a letter. */
function scanSuffix(text: string, start: number, end: number, sink: TermSink): number {
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

function scanJoined(text: string, start: number, end: number, sink: TermSink): void {
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
    sink(foldWord(text.slice(start, end)).replaceAll("’", "'"), start, end, "whole");
  }
}

function isApostrophe(text: string, index: number): boolean {
  const character = text[index];
  return character === "'" || character === "’";
}

const small = String.raw`[\p{Ll}\p{N}]\p{M}*`;
const capital = String.raw`[\p{Lu}\p{Lt}]\p{M}*`;
const capitalInside = new RegExp(String.raw`${small}${capital}|${capital}${capital}\p{Ll}`, "u");
const capitalBoundary = new RegExp(String.raw`(?<=${small})(?=${capital})|(?<=${capital})(?=${capital}\p{Ll})|_+`, "u");

function scanPart(text: string, start: number, end: number, sink: TermSink): void {
  const part = text.slice(start, end - start > maxPartLength ? surrogateSafe(text, start + maxPartLength) : end);
  if (!part.includes("_") && !capitalInside.test(part)) {
    give(stemOf(part), start, end, "word", sink);
    return;
  }
  let from = start;
  for (const piece of part.split(capitalBoundary)) {
    if (piece === "") continue;
    const at = text.indexOf(piece, from);
    from = at + piece.length;
    give(stemOf(piece), at, from, "word", sink);
  }
  // Stemmed, so that `iPhone` and `iphone` are the same; underscores alone are nothing.
  if (from > start) give(stemOf(part), start, end, "whole", sink);
}

function give(term: string, start: number, end: number, kind: TermKind, sink: TermSink): void {
  // Marks without a letter leave nothing.
  if (term !== "") sink(term, start, end, kind);
}

function scanUnspaced(text: string, start: number, end: number, sink: TermSink): void {
  const run = text.slice(start, end);
  // Half-width kana and separate Hangul letters become the usual characters. Only then can offsets differ, and then
  // every term stands for the whole run.
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

const asciiOnly = /^[\x20-\x7e]*$/;
// Latin, Greek and Cyrillic accents, Hebrew points, Arabic vowel signs: written or left out at will. The frames of
// keycaps, what is invisible, and the white space that some letters are made of when they are taken apart.
const leftOut = /[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u20d0-\u20ff\p{Variation_Selector}\u00ad\s]/gu;

function foldWord(word: string): string {
  const lower = word.toLowerCase();
  if (asciiOnly.test(lower)) return lower;
  // Mathematical letters have no lower case of their own.
  return lower.normalize("NFKD").toLowerCase().replaceAll(leftOut, "").replaceAll("ß", "ss").normalize("NFC");
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
  let before: TermKind | undefined;
  scanTerms(query, (term, start, end, kind) => {
    const endsPairs = kind === "single" && before === "pair";
    before = kind;
    if (endsPairs || found.has(term)) return;
    const identifier = (kind === "word" && /\p{N}/u.test(term)) || (kind === "whole" && holdsDigitOrJoiner.test(term));
    // The last character of a run is indexed by itself and every other one begins a pair, so that one character on
    // its own is found as the beginning of a term. At the end of pairs it adds nothing.
    const entry: SearchTerm = { term, prefix: kind === "single", kind, identifier };
    if (kind === "word" && (stopWords.has(query.slice(start, end).toLowerCase()) || stopWords.has(term)))
      stopped.push(entry);
    else found.set(term, entry);
  });
  const terms = found.size > 0 ? [...found.values()] : stopped;
  return terms.slice(0, maxQueryTerms);
}

/** Irregular forms and the base they are indexed under. A stemmer cannot know these. */
const families =
  "be:am,is,are,was,were,been,being go:went,gone,goes buy:bought bring:brought catch:caught teach:taught think:thought " +
  "seek:sought fight:fought say:said pay:paid lay:laid make:made take:took,taken shake:shook,shaken give:gave,given " +
  "get:got,gotten forget:forgot,forgotten come:came become:became run:ran begin:began,begun drink:drank,drunk " +
  "sing:sang,sung swim:swam,swum ring:rang,rung sink:sank,sunk win:won spin:spun write:wrote,written drive:drove,driven " +
  "ride:rode,ridden rise:rose,risen arise:arose,arisen choose:chose,chosen freeze:froze,frozen speak:spoke,spoken " +
  "break:broke,broken steal:stole,stolen wake:woke,woken wear:wore,worn tear:tore,torn swear:swore,sworn bear:bore " +
  "know:knew,known grow:grew,grown throw:threw,thrown blow:blew,blown fly:flew,flown draw:drew,drawn show:shown " +
  "see:saw,seen eat:ate,eaten fall:fell,fallen feel:felt keep:kept sleep:slept sweep:swept leave:left meet:met feed:fed " +
  "lead:led read:reads hold:held tell:told sell:sold find:found bind:bound stand:stood understand:understood sit:sat " +
  "lose:lost shoot:shot build:built send:sent spend:spent lend:lent bend:bent mean:meant deal:dealt dream:dreamt " +
  "learn:learnt burn:burnt hear:heard do:did,done have:had,has hide:hid,hidden bite:bit,bitten slide:slid light:lit " +
  "hang:hung stick:stuck strike:struck dig:dug child:children man:men woman:women person:people foot:feet tooth:teeth " +
  "goose:geese mouse:mice wife:wives life:lives knife:knives leaf:leaves half:halves shelf:shelves wolf:wolves " +
  "good:better,best bad:worse,worst index:indices vertex:vertices matrix:matrices datum:data medium:media " +
  "criterion:criteria analysis:analyses crisis:crises thesis:theses";

const irregularForms: ReadonlyMap<string, string> = new Map(
  families.split(" ").flatMap((family): [string, string][] => {
    const [base = "", forms = ""] = family.split(":");
    return forms.split(",").map((form) => [form, base]);
  }),
);
