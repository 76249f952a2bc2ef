import type { ChunkRow } from "../../chunk-index.ts";
import { pathNames } from "../../text/note-context.ts";
import { type HeldLanguages, scannerFor } from "../../text/languages/chunk-terms.ts";
import { scanTerms, type SearchTerm } from "../../text/words.ts";

/** Where one of some words stands in a line. */
interface WordPlace {
  /** Its index among those that were looked for. */
  index: number;
  start: number;
  end: number;
  /** Position in the line, in words. */
  word: number;
  /** It was found by its stem in the language of its text. */
  isStem: boolean;
}

/** How a word is written in one of these chunks, or in its name; undefined where it does not stand. */
export function writtenIn(
  rows: readonly ChunkRow[],
  term: SearchTerm,
  languages: HeldLanguages | undefined,
  isMeant: (written: string, isStem: boolean) => boolean = () => true,
): string | undefined {
  for (const row of rows) {
    for (const { line, places } of linesWith(row, [term], languages)) {
      for (const { start, end, isStem } of places) {
        const written = line.slice(start, end);
        if (isMeant(written, isStem)) return written;
      }
    }
  }
  return undefined;
}

/** Parts of a compound have this many words between them at most: "Frist der Steuer", "Versicherung für das Auto". */
const mostBetween = 2;

/** The text in which two words stand next to each other, in either order; undefined where they do not. */
export function writtenTogether(
  rows: readonly ChunkRow[],
  pair: readonly [SearchTerm, SearchTerm],
  languages: HeldLanguages | undefined,
): string | undefined {
  for (const row of rows) {
    for (const { line, places } of linesWith(row, pair, languages)) {
      for (const first of places) {
        const second = places.find(
          (other) =>
            other.index !== first.index && other.word > first.word && other.word - first.word <= mostBetween + 1,
        );
        if (second) return line.slice(first.start, second.end);
      }
    }
  }
  return undefined;
}

/**
 * Two words of which the first stands in the name of a note or in a heading, and the second in the text below, as "Frist" in a
 * note called "Steuer"; undefined where there is none.
 */
export function writtenUnderName(
  rows: readonly ChunkRow[],
  [head, tail]: readonly [SearchTerm, SearchTerm],
  languages: HeldLanguages | undefined,
): string | undefined {
  const written = (text: string, term: SearchTerm): string | undefined => {
    for (const { line, places } of linesIn(text, [term], languages))
      for (const { start, end } of places) return line.slice(start, end);
    return undefined;
  };
  for (const row of rows) {
    const name = written([pathNames(row.path, row.context), row.context].join("\n"), head);
    const held = name && written(row.text, tail);
    if (held !== undefined) return `${name} … ${held}`;
  }
  return undefined;
}

function linesWith(
  row: ChunkRow,
  terms: readonly SearchTerm[],
  languages: HeldLanguages | undefined,
): Generator<{ line: string; places: WordPlace[] }> {
  return linesIn([row.text, row.context, pathNames(row.path, row.context)].join("\n"), terms, languages);
}

function* linesIn(
  text: string,
  terms: readonly SearchTerm[],
  languages: HeldLanguages | undefined,
): Generator<{ line: string; places: WordPlace[] }> {
  const lines = text.split("\n");
  const scan = languages ? scannerFor(lines, languages) : scanTerms;
  for (const line of lines) {
    const places: WordPlace[] = [];
    let word = 0;
    scan(line, (found, start, end, kind) => {
      if (kind === "word" || kind === "pair") word++;
      const index = terms.findIndex(({ term, forms = [] }) => term === found || forms.includes(found));
      if (index >= 0) places.push({ index, start, end, word, isStem: kind === "stem" });
    });
    if (places.length > 0) yield { line, places };
  }
}
