import { scanTerms } from "../text/words.ts";

/** Two texts that belong together and share no word. */
export interface PartnerPair {
  /** A sentence of a chunk. */
  sentence: string;
  /** What stands around it there, without the words of the sentence. */
  rest: string;
}

/** A sentence says something from so many different words on, and so do the words around it. */
const leastTerms = 4;
/** Sentences before and after the one that is taken out. */
const around = 3;
/** Characters of one text. */
const maxLength = 400;

/**
 * Takes a sentence out of each of these chunks, until there are `limit` pairs: the inverse cloze task (Lee, Chang and
 * Toutanova 2019). Words that both sides would share are taken out of the rest, so that words alone cannot tell which
 * belong together. Which sentence it is follows from the hash of the chunk: the same chunks give the same pairs.
 */
export function partnerPairs(chunks: readonly { hash: string; text: string }[], limit: number): PartnerPair[] {
  const pairs: PartnerPair[] = [];
  // Here and not above: their tables take some milliseconds to load, and most that load this file want no pairs.
  const sentences = new Intl.Segmenter("und", { granularity: "sentence" });
  const words = new Intl.Segmenter("und", { granularity: "word" });
  for (const chunk of chunks) {
    if (pairs.length >= limit) break;
    const pair = pairOf(chunk, { sentences, words });
    if (pair !== undefined) pairs.push(pair);
  }
  return pairs;
}

function pairOf(
  { hash, text }: { hash: string; text: string },
  { sentences, words }: Readonly<Record<"sentences" | "words", Intl.Segmenter>>,
): PartnerPair | undefined {
  const parts = text
    .split("\n")
    .flatMap((line) => Array.from(sentences.segment(line), ({ segment }) => segment.trim()))
    .filter((part) => termsOf(part).size >= leastTerms);
  if (parts.length < 2) return undefined;
  const chosen = Number.parseInt(hash.slice(0, 8), 16) % parts.length;
  const sentence = parts[chosen] ?? parts[0] ?? "";
  const beside = [
    ...parts.slice(Math.max(0, chosen - around), chosen),
    ...parts.slice(chosen + 1, chosen + 1 + around),
  ];
  const rest = without(beside.join("\n"), sentence, words).slice(0, maxLength);
  return termsOf(rest).size < leastTerms ? undefined : { sentence: sentence.slice(0, maxLength), rest };
}

/** The text without the words of another one. */
function without(text: string, other: string, words: Intl.Segmenter): string {
  const taken = sharedUnits(other);
  return Array.from(words.segment(text), ({ segment }) => (sharedUnits(segment).isDisjointFrom(taken) ? segment : " "))
    .join("")
    .replaceAll(/ {2,}/g, " ")
    .trim();
}

/** What two texts could be told alike by: their terms, and the single characters of scripts in which one is a word. */
function sharedUnits(text: string): Set<string> {
  return termsOf(text).union(new Set(text.match(/\p{Script=Han}/gu)));
}

function termsOf(text: string): Set<string> {
  const terms = new Set<string>();
  scanTerms(text, (term) => void terms.add(term));
  return terms;
}
