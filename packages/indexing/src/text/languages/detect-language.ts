import { englishWords, type LanguageCode, tellingWords } from "./function-words.ts";

/** Weight of function words from which on a text, or a question, is taken to be in their language. */
const enoughInText = 2;
const enoughInQuestion = 1;
/** The smallest share of a text's words that they are. Names and titles in another language do not make a text of it. */
const leastShare = 0.12;

/**
 * The language of a text, by its function words: `en`, or one whose stemmer we have; undefined where it does not tell.
 * `words` are as they are written.
 */
export function languageOfText(words: Iterable<string>): LanguageCode | "en" | undefined {
  const { best, weight, english, count } = weigh(words);
  if (weight > english && weight >= enoughInText && weight >= leastShare * count) return best;
  return english >= enoughInText && english > weight ? "en" : undefined;
}

/** The same for a question, which is short, among the languages that its notes are in. */
export function languageOfQuestion(
  words: Iterable<string>,
  held: readonly LanguageCode[],
): LanguageCode | undefined {
  const { best, weight, english } = weigh(words, held);
  return weight > english && weight >= enoughInQuestion ? best : undefined;
}

function weigh(
  words: Iterable<string>,
  among?: readonly LanguageCode[],
): { best: LanguageCode | undefined; weight: number; english: number; count: number } {
  const weights = new Map<LanguageCode, number>();
  let english = 0;
  let count = 0;
  for (const written of words) {
    const word = written.toLowerCase();
    count++;
    if (englishWords.has(word)) english++;
    const telling = tellingWords.get(word);
    if (telling === undefined) continue;
    for (const code of telling.codes)
      if (among === undefined || among.includes(code)) weights.set(code, (weights.get(code) ?? 0) + telling.weight);
  }
  let best: LanguageCode | undefined;
  let weight = 0;
  for (const [code, own] of weights) if (own > weight) [best, weight] = [code, own];
  return { best, weight, english, count };
}
