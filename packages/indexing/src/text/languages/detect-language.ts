import { englishWords, type LanguageCode, tellingWords } from "./function-words.ts";

/** Weight of function words from which on a text, or a question, is taken to be in their language. */
const enoughInText = 2;
const enoughInQuestion = 1;
/** The smallest share of a text's words that they are. Names and titles in another language do not make a text of it. */
const leastShare = 0.12;
/** Words that are looked at: a chunk tells its language with its first ones, and a file is more. */
const mostOfChunk = 80;
const mostOfFile = 400;

/**
 * The language of a chunk, by its function words: `en`, or one whose stemmer we have; undefined where it does not tell.
 */
export function languageOfText(text: string): LanguageCode | "en" | undefined {
  return told(wordsOf(text, mostOfChunk));
}

/** The language of a whole file, where it is another than English. */
export function languageOfFile(lines: readonly string[]): LanguageCode | undefined {
  const language = told(wordsOf(lines.join("\n"), mostOfFile));
  return language === "en" ? undefined : language;
}

/** The language of a question, which is short, among those that its notes are in. `words` are as they are written. */
export function languageOfQuestion(words: readonly string[], held: readonly LanguageCode[]): LanguageCode | undefined {
  const { best, weight, english } = weigh(words, held);
  return weight > english && weight >= enoughInQuestion ? best : undefined;
}

function told(words: readonly string[]): LanguageCode | "en" | undefined {
  const { best, weight, english } = weigh(words);
  if (weight > english && weight >= enoughInText && weight >= leastShare * words.length) return best;
  return english >= enoughInText && english > weight ? "en" : undefined;
}

function weigh(
  words: readonly string[],
  among?: readonly LanguageCode[],
): { best: LanguageCode | undefined; weight: number; english: number } {
  const weights = new Map<LanguageCode, number>();
  let english = 0;
  for (const written of words) {
    const word = written.toLowerCase();
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

const letters = /[\p{L}\p{M}]+/gu;

/** The first words of a text, as they are written. */
function wordsOf(text: string, most: number): string[] {
  const words: string[] = [];
  for (const [word] of text.matchAll(letters)) if (words.push(word) >= most) break;
  return words;
}
