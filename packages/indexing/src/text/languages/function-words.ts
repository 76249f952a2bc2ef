import data from "./function-words.json" with { type: "json" };

/** Languages other than English whose words are stemmed, by their code of ISO 639-1. */
export type LanguageCode = "da" | "de" | "es" | "fr" | "it" | "nl" | "no" | "pt" | "ru" | "sv";

/**
 * Words that hold sentences together and are searched for by nobody, as they are written in small letters. They tell one
 * language from another, and are left out of a question in theirs. Short on purpose: a word that may be meant is no
 * function word, and those of a question ("wann", "pourquoi") are there.
 */
const lists: Readonly<Record<LanguageCode, string>> = data.lists;

/** Those of English that the others are compared with. More than the stop words of a question: here nothing gets lost. */
const { english } = data;

/** Function words that are English words too, or stand in names ("de la Rosa"): alone they tell nothing of a language. */
const englishToo = new Set(`${english} ${data.ambiguous}`.split(" "));

export const englishWords: ReadonlySet<string> = new Set(english.split(" "));

export const functionWords: Readonly<Record<LanguageCode, ReadonlySet<string>>> = Object.fromEntries(
  Object.entries(lists).map(([code, words]) => [code, new Set(words.split(" "))]),
) as unknown as Record<LanguageCode, ReadonlySet<string>>;

export const languageCodes = Object.keys(lists) as readonly LanguageCode[];

/** Which languages a word is a function word of, with how much it tells of them. */
export const tellingWords: ReadonlyMap<string, { codes: readonly LanguageCode[]; weight: number }> = tellingOf();

function tellingOf(): Map<string, { codes: LanguageCode[]; weight: number }> {
  const telling = new Map<string, { codes: LanguageCode[]; weight: number }>();
  for (const code of languageCodes) {
    for (const word of functionWords[code]) {
      const told = telling.get(word);
      if (told === undefined) telling.set(word, { codes: [code], weight: englishToo.has(word) ? 0.4 : 1 });
      else told.codes.push(code);
    }
  }
  return telling;
}
