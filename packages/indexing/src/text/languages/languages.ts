import type { Language } from "../times/language.ts";
import * as files from "./files.ts";

/** A language, as its file `<code>.json` describes it. Lists of words are in small letters, separated by spaces. */
interface LanguageFile {
  /** In English. */
  name: string;
  /** Module of `@orama/stemmers`. Absent: words are taken as they are, or stemmed with those of all texts (English). */
  stemmer?: string;
  /** Words of a question that are not searched for, whatever language the notes are in. */
  stopWords?: string;
  /**
   * Words that hold sentences together and are not searched for. They tell languages apart, and are left out of a
   * question in theirs. Short on purpose: a word that may be meant is no function word.
   */
  functionWords?: string;
  /** For a language that writes two words as one: groups of letters that its long words have, as a pattern with `|` between them. */
  longWords?: string;
  /** Those of them that are words of English too, or part of names ("de la Rosa"): alone they tell nothing of a language. */
  ambiguous?: string;
  /** Words of English that questions are about, though another language has them as function words. */
  contentWords?: string;
  /** Phrases that ask and name nothing that is asked for ("how much", "tell me about"), as patterns with `|` between them. */
  questionWords: string;
  /** How people call themselves, and whom they talk to, as patterns with `|` between them. */
  speaker: string;
  spokenTo: string;
  /** Absent: dates are not read in words of this language. */
  dates?: Language;
}

export const languages: Readonly<Record<keyof typeof files, LanguageFile>> = files;

/** Languages other than English whose words are stemmed, by their code of ISO 639-1. */
export type LanguageCode = keyof typeof import("./stemmer-modules.ts");

export const languageCodes = (Object.keys(languages) as (keyof typeof files)[]).filter(
  (code) => languages[code].stemmer !== undefined,
) as readonly LanguageCode[];

export const functionWords = Object.fromEntries(
  Object.entries(languages).map(([code, { functionWords: words }]) => [code, wordsIn(words)]),
) as unknown as Readonly<Record<LanguageCode | "en", ReadonlySet<string>>>;

export const englishWords: ReadonlySet<string> = functionWords.en;

/** The list is short on purpose: leaving out "own", "after", "before", "both" or "all" made answers measurably worse. */
export const stopWords: ReadonlySet<string> = wordsIn(languages.en.stopWords);

const ambiguous = new Set(Object.values(languages).flatMap((language) => [...wordsIn(language.ambiguous)]));

/** Which languages a word is a function word of, with how much it tells of them. */
export const tellingWords: ReadonlyMap<string, { codes: readonly LanguageCode[]; weight: number }> = new Map(
  [...Map.groupBy(languageCodes.flatMap(wordsOf), ({ word }) => word)].map(([word, all]) => [
    word,
    { codes: all.map(({ code }) => code), weight: englishWords.has(word) || ambiguous.has(word) ? 0.4 : 1 },
  ]),
);

const contentWords = wordsIn(languages.en.contentWords);

/** Whether a word is a function word of one of these languages, or of any other and no word of English. */
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

/** What languages say in a pattern, in any of them. Chinese puts no spaces around its words. */
export function anyOf(field: "questionWords" | "speaker" | "spokenTo", flags = "iu"): RegExp {
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
