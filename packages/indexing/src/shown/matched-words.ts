import type { SearchReport } from "@memslot/core";
import { readQuery } from "../text/query-terms.ts";
import { scanTerms } from "../text/words.ts";

/** A stretch of text, in UTF-16 units; the end is exclusive. */
interface Range {
  start: number;
  end: number;
}

/** What a text holds of a query. */
export interface Matches {
  /** Sorted; what overlaps or touches is one. */
  ranges: readonly Range[];
  /** How many different words of the query. */
  words: number;
}

export type Matcher = (text: string) => Matches;

/** Finds the words of a query in texts: by stem, as the index does, so that "decided" is found for "decide". */
export function createMatcher(query: string): Matcher {
  const read = readQuery(query);
  const terms = [...read.terms, ...read.values.map(({ term }) => term)];
  const whole = new Set(
    terms.flatMap(({ term, prefix, forms = [], endings = [] }) =>
      prefix ? [] : [term, ...forms, ...endings.map((ending) => ending.term)],
    ),
  );
  const prefixes = terms.filter(({ prefix }) => prefix).map(({ term }) => term);
  return (text) => {
    const found: Range[] = [];
    const words = new Set<string>();
    scanTerms(text, (term, start, end, kind) => {
      if (whole.has(term)) {
        found.push({ start, end });
        words.add(term);
        return;
      }
      const prefix = prefixes.find((candidate) => term.startsWith(candidate));
      if (prefix === undefined) return;
      // Of a pair of characters only the first one was asked for.
      found.push({ start, end: kind === "pair" ? start + prefix.length : end });
      words.add(prefix);
    });
    return { ranges: joined(found), words: words.size };
  };
}

/** A text with its matches handed through `mark`. */
export function marked(text: string, { ranges }: Matches, mark: (words: string) => string): string {
  let result = "";
  let position = 0;
  for (const { start, end } of ranges) {
    result += text.slice(position, start) + mark(text.slice(start, end));
    position = end;
  }
  return result + text.slice(position);
}

function joined(ranges: readonly Range[]): Range[] {
  const result: Range[] = [];
  for (const range of ranges.toSorted((left, right) => left.start - right.start)) {
    const last = result.at(-1);
    if (last !== undefined && range.start <= last.end) last.end = Math.max(last.end, range.end);
    else result.push({ ...range });
  }
  return result;
}

/** What is looked for in the lines: not the filters of a question. */
export function matchedWords(query: string, report: SearchReport | undefined): string {
  const { filters } = report ?? {};
  return filters === undefined ? query : [filters.words, ...(filters.phrases ?? [])].join(" ");
}
