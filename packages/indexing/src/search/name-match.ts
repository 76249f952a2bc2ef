import { headingOf } from "../text/chunk-markdown.ts";
import { namesIn, nameOfNote } from "../text/note-context.ts";
import type { TermScanner } from "../text/languages/chunk-terms.ts";
import { scanTerms } from "../text/words.ts";
import type { WeightedTerm } from "./line-scores.ts";

/** A name that stands over a whole note counts a little less in the chunks behind its first. */
const furtherChunkShare = 0.85;
/** Properties of a note are not what is looked for by its name, as long as it has a text. */
const headShare = 0.6;
/** A tag files a note with others: it says less than a name. */
const tagShare = 0.6;
/** The headings above the last one are those of the parts that this one is within. */
const upperHeadingShare = 0.6;

/** A word of the query: what stands for it is one word, however it is written. */
type NamedTerm = Pick<WeightedTerm, "idf">;

/** What is compared with names: the terms of the query, and how much they weigh together. */
export interface NamedQuery {
  terms: ReadonlyMap<string, NamedTerm>;
  weight: number;
}

export function namedQuery(terms: readonly WeightedTerm[]): NamedQuery {
  const words = new Map<string, NamedTerm>();
  for (const entry of terms)
    if (entry.kind !== "whole") for (const form of [entry.term, ...(entry.forms ?? [])]) words.set(form, entry);
  return { terms: words, weight: [...new Set(words.values())].reduce((sum, { idf }) => sum + idf, 0) };
}

/**
 * How much a chunk is named like the query, 0 to 1: by its note (name of the file, title, other names), by a heading
 * above it or in it, or by a tag. A name fits by the share of the query's weight that it holds, times the root of the
 * share of its own words that the query holds.
 */
export function nameMatch(
  query: NamedQuery,
  chunk: { path: string; startLine: number; context: string; lines: readonly string[] },
  scan: TermScanner = scanTerms,
): number {
  if (query.weight === 0) return 0;
  const { titles, aliases, tags } = namesIn(chunk.context);
  const name = nameOfNote(chunk.path);
  const ofNote = [name, ...aliases];
  let best = 0;
  const take = (text: string | undefined, share: number): void => {
    if (text !== undefined && share > best) best = Math.max(best, share * fit(query, text, scan));
  };
  const isHead = chunk.startLine === 1 && chunk.lines[0]?.trimEnd() === "---";
  const noteShare = isHead ? headShare : chunk.startLine === 1 ? 1 : furtherChunkShare;
  for (const text of ofNote) take(text, noteShare);
  for (const line of chunk.lines) if (line.startsWith("#")) take(headingOf(line)?.title, 1);
  for (const [index, title] of titles.entries())
    take(title, index === titles.length - 1 ? noteShare : upperHeadingShare);
  for (const tag of tags) take(tag, tagShare);
  return best;
}

function fit({ terms, weight }: NamedQuery, name: string, scan: TermScanner): number {
  const found = new Set<NamedTerm>();
  let words = 0;
  scan(name, (term, _start, _end, kind) => {
    if (kind === "whole") return;
    if (kind !== "stem") words++;
    const known = terms.get(term);
    if (known) found.add(known);
  });
  if (found.size === 0 || words === 0) return 0;
  let held = 0;
  for (const { idf } of found) held += idf;
  return (held / weight) * Math.sqrt(Math.min(1, found.size / words));
}
