import { queryTerms, scanTerms } from "@memslot/indexing";
import { type MemorySearchResult, visibleName, visibleText } from "@memslot/core";
import type { Output } from "../terminal/output.ts";

/** A stretch of text, in UTF-16 units; the end is exclusive. */
interface Range {
  start: number;
  end: number;
}

/**
 * Marks the words of a text that a query finds: by stem, as the index does, so that "decided" is marked for
 * "decide". `mark` gets each marked stretch.
 */
export function highlight(text: string, query: string, mark: (words: string) => string): string {
  let marked = "";
  let position = 0;
  for (const { start, end } of matchedRanges(text, query)) {
    marked += text.slice(position, start) + mark(text.slice(start, end));
    position = end;
  }
  return marked + text.slice(position);
}

function matchedRanges(text: string, query: string): Range[] {
  const terms = queryTerms(query);
  const whole = new Set(terms.filter(({ prefix }) => !prefix).map(({ term }) => term));
  const prefixes = terms.filter(({ prefix }) => prefix).map(({ term }) => term);
  const found: Range[] = [];
  scanTerms(text, (term, start, end, kind) => {
    if (whole.has(term)) found.push({ start, end });
    else {
      const prefix = prefixes.find((candidate) => term.startsWith(candidate));
      // Of a pair of characters only the first one was asked for.
      if (prefix !== undefined) found.push({ start, end: kind === "pair" ? start + prefix.length : end });
    }
  });
  return joined(found);
}

/** Sorted, with what overlaps or touches made one. */
function joined(ranges: readonly Range[]): Range[] {
  const result: Range[] = [];
  for (const range of ranges.toSorted((left, right) => left.start - right.start)) {
    const last = result.at(-1);
    if (last !== undefined && range.start <= last.end) last.end = Math.max(last.end, range.end);
    else result.push({ ...range });
  }
  return result;
}

/** One result for people: score, citation and the snippet with the matched words marked. */
export function formatResult(result: MemorySearchResult, query: string, style: Output["style"]): string {
  const citation = `${visibleName(result.path)}#L${result.startLine}-L${result.endLine}`;
  const snippet = highlight(visibleText(result.snippet).trimEnd(), query, (words) => style("bold", words));
  return `${style("green", result.score.toFixed(3))} ${style("cyan", citation)}\n${snippet}`;
}
