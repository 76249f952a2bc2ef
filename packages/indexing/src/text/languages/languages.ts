import { languages } from "./files.ts";

/** Languages other than English whose words are stemmed, by their code of ISO 639-1. */
export type LanguageCode = keyof typeof import("./stemmer-modules.ts");

export const languageCodes = (Object.keys(languages) as (keyof typeof languages)[]).filter(
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
