import type { WordReading } from "@memslot/core";
import type { ChunkRow } from "../../chunk-index.ts";
import type { HeldLanguages } from "../../text/languages/chunk-terms.ts";
import { writtenIn } from "./word-places.ts";
import type { OtherReading } from "./written-otherwise.ts";

/** What is told of the words that were read otherwise, as the chunks that were found write them, each once. */
export function readingsShown(
  readings: readonly OtherReading[],
  rows: readonly ChunkRow[],
  languages: HeldLanguages | undefined,
): WordReading[] {
  const shown: WordReading[] = [];
  for (const { word, by, as, isTold } of readings) {
    if (!isTold) continue;
    const [only] = by;
    const found = as ?? (only && writtenIn(rows, only, languages)) ?? only?.written ?? word;
    const before = shown.at(-1);
    // Neighbouring pairs of characters are one word.
    if (before && isContinued(before, word) && before.as.at(-1) === found.at(0)) {
      shown[shown.length - 1] = { word: before.word + word.slice(1), as: before.as + found.slice(1) };
    } else if (!shown.some((other) => other.word === word && other.as === found)) shown.push({ word, as: found });
  }
  return shown;
}

function isContinued(before: WordReading, word: string): boolean {
  return /^\p{Script=Han}{2}$/u.test(word) && before.word.at(-1) === word.at(0);
}
