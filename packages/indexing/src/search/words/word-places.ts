import type { ChunkRow } from "../../chunk-index.ts";
import { pathNames } from "../../text/note-context.ts";
import { type HeldLanguages, scannerFor } from "../../text/languages/chunk-terms.ts";
import type { SearchTerm } from "../../text/query-terms.ts";
import { scanTerms } from "../../text/words.ts";

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
  for (const row of rows)
    for (const { line, places } of linesIn(textOf(row), [term], languages)) {
      const place = places.find(({ start, end, isStem }) => isMeant(line.slice(start, end), isStem));
      if (place) return line.slice(place.start, place.end);
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
  for (const row of rows)
    for (const { line, places } of linesIn(textOf(row), pair, languages))
      for (const { index, word, start } of places) {
        const isNear = (other: WordPlace): boolean => other.word > word && other.word - word <= mostBetween + 1;
        const second = places.find((other) => other.index !== index && isNear(other));
        if (second) return line.slice(start, second.end);
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
    const [found] = linesIn(text, [term], languages);
    return found?.line.slice(found.places[0]?.start, found.places[0]?.end);
  };
  for (const row of rows) {
    const name = written([pathNames(row.path, row.context), row.context].join("\n"), head);
    const held = name && written(row.text, tail);
    if (held !== undefined) return `${name} … ${held}`;
  }
  return undefined;
}

/** What words of a chunk are looked for in. */
export function textOf({ text, context, path }: ChunkRow): string {
  return [text, context, pathNames(path, context)].join("\n");
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
