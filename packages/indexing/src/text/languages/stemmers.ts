import { lazily } from "@memslot/core/host";
import { foldWord } from "../word-forms.ts";
import { remembered } from "../word-cache.ts";
import type { LanguageCode } from "./languages.ts";

/** Returns the stem of a word, folded as terms are, or an empty text if the word has none. */
type Stemmer = (word: string) => string;
export type Stemmers = Readonly<Record<LanguageCode, Stemmer>>;

const maxStemsKept = 50_000;
const maxLetters = 64;

/** The Snowball stemmers (Porter 2001), loaded on demand: 40 kB, about 10 ms. */
export const loadStemmers: () => Promise<Stemmers> = lazily(async () => {
  const stemmers = Object.entries(await import("./stemmer-modules.ts"));
  return Object.fromEntries(stemmers.map(([code, stem]) => [code, keeping(stem)])) as unknown as Stemmers;
});

/** Caches stems. Accents are removed last, since suffixes depend on them. */
function keeping(stem: Stemmer): Stemmer {
  const kept = remembered((word) => foldWord(stem(word.normalize("NFC").toLowerCase())), maxStemsKept);
  return (word) => (word.length > maxLetters ? "" : kept(word));
}
