import { addToHash, WordCache } from "../word-cache.ts";
import { languages } from "./all-languages.ts";

export type LanguageCode = keyof typeof import("./stemmer-modules.ts");

export const languageCodes = (Object.keys(languages) as (keyof typeof languages)[]).filter(
  (code) => languages[code].stemmer !== undefined,
) as readonly LanguageCode[];

export const functionWords = Object.fromEntries(
  Object.entries(languages).map(([code, { functionWords: words }]) => [code, wordsIn(words)]),
) as unknown as Readonly<Record<LanguageCode | "en", ReadonlySet<string>>>;

export const englishWords: ReadonlySet<string> = functionWords.en;

/** Deliberately short: excluding "own", "after", "before", "both" or "all" made answers measurably worse. */
export const stopWords: ReadonlySet<string> = wordsIn(languages.en.stopWords);

const ambiguous = new Set(Object.values(languages).flatMap((language) => [...wordsIn(language.ambiguous)]));

/** Which languages a word is a function word of, with how much it tells of them. */
const tellingWords: ReadonlyMap<string, { codes: readonly LanguageCode[]; weight: number }> = new Map(
  [...Map.groupBy(languageCodes.flatMap(wordsOf), ({ word }) => word)].map(([word, all]) => [
    word,
    { codes: all.map(({ code }) => code), weight: englishWords.has(word) || ambiguous.has(word) ? 0.4 : 1 },
  ]),
);

const contentWords = wordsIn(languages.en.contentWords);

export function isFunctionWord(word: string, held: readonly LanguageCode[]): boolean {
  const codes = tellingWords.get(word)?.codes ?? [];
  return codes.length > 0 && (!contentWords.has(word) || codes.some((code) => held.includes(code)));
}

/** True for languages that write two words as one, with letters in between. */
export function isJoining(codes: readonly LanguageCode[]): boolean {
  return codes.some((code) => languages[code].longWords !== undefined);
}

/** Whether a word may be two in one. German compounds that are searched for are nouns. */
export function mayBeCompound(word: string, code: LanguageCode): boolean {
  return isJoining([code]) && (code !== "de" || /^\p{Lu}/u.test(word));
}

export function anyOf(field: "questionWords" | "noAnswer" | "speaker" | "spokenTo", flags = "iu"): RegExp {
  const { zh, ...others } = languages;
  const words = Object.values(others).map((language) => language[field]);
  return new RegExp(String.raw`(?<![\p{L}\p{N}_])(?:${words.join("|")})(?![\p{L}\p{N}_])|${zh[field]}`, flags);
}

function wordsOf(code: LanguageCode): { code: LanguageCode; word: string }[] {
  return [...functionWords[code]].map((word) => ({ code, word }));
}

function wordsIn(list = ""): Set<string> {
  return new Set(list.split(" "));
}

const enoughInText = 2;
const enoughInQuestion = 1;
/** Minimum share of function words, so that names and titles in another language do not count. */
const leastShare = 0.12;
const mostOfChunk = 80;
const mostOfFile = 400;

/** The language of a chunk by its function words: `en` or one with a stemmer; undefined if unclear. */
export function languageOfText(text: string): LanguageCode | "en" | undefined {
  return told(firstWords(text, mostOfChunk));
}

export function languageOfFile(lines: readonly string[]): LanguageCode | undefined {
  const language = told(firstWords(lines.join("\n"), mostOfFile));
  return language === "en" ? undefined : language;
}

const longWord = /(?<!\p{L})\p{Lu}?\p{Ll}{8,63}(?!\p{L})/gu;
const mostLetters = 4000;
const enoughGroups = 2;

/** Compound language of a short text, by the letters of its long words, of which half must match. */
export function languageOfCompounds(text: string): LanguageCode | undefined {
  const words = text.slice(0, mostLetters).normalize("NFC").match(longWord) ?? [];
  let [best, most]: [LanguageCode | undefined, number] = [undefined, enoughGroups - 1];
  for (const code of languageCodes.filter((each) => isJoining([each]))) {
    const groups = new RegExp(languages[code].longWords ?? "", "gu");
    const found = words.map((word) => (mayBeCompound(word, code) && word.toLowerCase().match(groups)) || []);
    const count = new Set(found.flat()).size;
    if (count > most && 2 * found.filter(({ length }) => length > 0).length >= words.length)
      [best, most] = [code, count];
  }
  return best;
}

/** Language of a query: English or one of the notes. `words` are as written. */
export function languageOfQuestion(
  written: readonly string[],
  held: readonly LanguageCode[],
): LanguageCode | "en" | undefined {
  const words = written.map((word) => word.toLowerCase());
  const { best, weight, english } = weigh(words, held);
  if (weight > english && weight >= enoughInQuestion) return best;
  return words.some((word) => englishWords.has(word) && !tellingWords.has(word)) ? "en" : undefined;
}

function told({ count, functionWords }: ReturnType<typeof firstWords>): LanguageCode | "en" | undefined {
  const { best, weight, english } = weigh(functionWords);
  if (weight > english && weight >= enoughInText && weight >= leastShare * count) return best;
  return english >= enoughInText && english > weight ? "en" : undefined;
}

function weigh(
  words: readonly string[],
  among?: readonly LanguageCode[],
): { best: LanguageCode | undefined; weight: number; english: number } {
  const weights = new Map<LanguageCode, number>();
  let english = 0;
  for (const word of words) {
    if (englishWords.has(word)) english++;
    const telling = tellingWords.get(word);
    if (telling === undefined) continue;
    for (const code of telling.codes)
      if (among === undefined || among.includes(code)) weights.set(code, (weights.get(code) ?? 0) + telling.weight);
  }
  let best: LanguageCode | undefined;
  let weight = 0;
  for (const [code, own] of weights) if (own > weight) [best, weight] = [code, own];
  return { best, weight, english };
}

const known = new WordCache();
const letter = /[\p{L}\p{M}]/u;
const isLetter = new Int8Array(0x10000).fill(-1);

/** The number of words that a text begins with, and the function words among them. */
function firstWords(text: string, most: number): { count: number; functionWords: string[] } {
  const functionWords: string[] = [];
  let count = 0;
  let index = 0;
  while (index < text.length && count < most) {
    if (!isLetterAt(text, index)) {
      index++;
      continue;
    }
    const start = index;
    let hash = 0;
    while (index < text.length && isLetterAt(text, index)) hash = addToHash(hash, text.charCodeAt(index++));
    count++;
    const word = known.get(text, start, index, hash) ?? look(text.slice(start, index), hash);
    if (word !== "") functionWords.push(word);
  }
  return { count, functionWords };
}

function look(written: string, hash: number): string {
  const word = written.toLowerCase();
  const found = englishWords.has(word) || tellingWords.has(word) ? word : "";
  known.set(written, hash, found);
  return found;
}

function isLetterAt(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  const told = isLetter[unit] as number;
  if (told >= 0) return told === 1;
  if (unit >= 0xd800 && unit <= 0xdfff) {
    const start = unit >= 0xdc00 && index > 0 && (text.charCodeAt(index - 1) & 0xfc00) === 0xd800 ? index - 1 : index;
    return letter.test(String.fromCodePoint(text.codePointAt(start) ?? unit));
  }
  const found = letter.test(String.fromCharCode(unit));
  isLetter[unit] = found ? 1 : 0;
  return found;
}
