import { headingOf } from "../text/note-head.ts";
import { initialsOf, namesIn, nameOfNote, isTemplateName } from "../text/note-context.ts";
import type { TermScanner } from "../text/languages/chunk-terms.ts";
import { foldWord } from "../text/word-forms.ts";
import { scanTerms, termOfWord } from "../text/words.ts";
import type { WeightedTerm } from "./bm25.ts";

/** A name that stands over a whole note counts a little less in the chunks behind its first. */
const furtherChunkShare = 0.85;
/** Properties of a note are not what is looked for by its name, as long as it has a text. */
const headShare = 0.6;
/** A tag files a note with others: it says less than a name. */
const tagShare = 0.6;
/** A heading is about a part of its note. */
const headingShare = 0.8;
/** The headings above the last one are those of the parts that this one is within. */
const upperHeadingShare = 0.6;
/** What is added for the name of a note that is the whole question. */
const wholeNameBonus = 1;
/** A word of a name that is another form of one of the query, as `counter` and `count`. */
const formShare = 0.8;

/** What is compared with names: the terms of the query, and how much they weigh together. */
export interface NamedQuery {
  /** What stands for a word of the query is that word, however it is written. */
  terms: ReadonlyMap<string, WeightedTerm>;
  count: number;
  weight: number;
  /** Initials of words in a row, in small letters, with these words. */
  initials: ReadonlyMap<string, readonly WeightedTerm[]>;
  /** Letters and digits of all of the query. */
  letters: string;
  /** Names that were compared already. */
  known: Map<string, NameFit>;
}

/** How a name fits a query. */
export interface NameFit {
  /** 0 to 1: the share of the query's weight that it holds, times the root of the share of its words that the query holds. */
  share: number;
  /** The words of the query that it holds. */
  found: ReadonlySet<WeightedTerm>;
  /** It is the query, word for word. */
  isWhole: boolean;
}

export function namedQuery(terms: readonly WeightedTerm[], query = ""): NamedQuery {
  const words = new Map<string, WeightedTerm>();
  for (const entry of terms)
    if (entry.kind !== "whole" && entry.role !== "function")
      for (const form of [entry.term, ...(entry.forms ?? [])]) words.set(form, entry);
  const own = new Set(words.values());
  const weight = [...own].reduce((sum, { idf }) => sum + idf, 0);
  return {
    terms: words,
    count: own.size,
    weight,
    initials: initialsIn(terms),
    letters: lettersOf(query),
    known: new Map(),
  };
}

const numberWords = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];

export function lettersOf(text: string): string {
  return foldWord(text).replaceAll(/[^\p{L}\p{N}]/gu, "");
}

/** The initials of three to six words in a row, as `2fa` of "two factor authentication". */
function initialsIn(terms: readonly WeightedTerm[]): Map<string, readonly WeightedTerm[]> {
  const words = terms.filter(({ kind }) => kind === "word");
  const initials = new Map<string, readonly WeightedTerm[]>();
  const letters = words.map(({ written = "" }) => {
    const number = numberWords.indexOf(written.toLowerCase());
    return number < 0 ? foldWord(written).slice(0, 1) : String(number);
  });
  for (let from = 0; from < words.length; from++)
    for (let to = from + 3; to <= Math.min(words.length, from + 6); to++)
      initials.set(letters.slice(from, to).join(""), words.slice(from, to));
  return initials;
}

/**
 * How much a chunk is named like the query, 0 to 1, and more where the name of its note is the whole query: by its note
 * (name of the file, title, other names), by a heading above it or in it, or by a tag.
 */
export function nameMatch(
  query: NamedQuery,
  chunk: { path: string; startLine: number; context: string; lines: readonly string[] },
  scan: TermScanner = scanTerms,
  names: readonly string[] = namesOfNote(chunk),
): number {
  if (query.weight === 0) return 0;
  const { titles, tags } = namesIn(chunk.context);
  const isHead = chunk.startLine === 1 && chunk.lines[0]?.trimEnd() === "---";
  const noteShare = isHead ? headShare : chunk.startLine === 1 ? 1 : furtherChunkShare;
  let best = 0;
  const take = (text: string, share: number, isOfNote = false): void => {
    const { share: fits, isWhole } = fitOf(query, text, scan);
    best = Math.max(best, share * (fits + (isOfNote && isWhole ? wholeNameBonus : 0)));
  };
  for (const text of names) take(text, noteShare, true);
  for (const line of chunk.lines) if (line.startsWith("#")) take(headingOf(line)?.title ?? "", headingShare);
  for (const [index, title] of titles.entries())
    take(title, index === titles.length - 1 ? noteShare : upperHeadingShare);
  for (const tag of tags) take(tag, tagShare);
  return best;
}

/** Puts files in an order: `08-turbopack.md`. */
const placeNumber = /^\d{2,3} (?=\p{L})/u;

/** The names of the note of a chunk: its file's, its title, and others. */
export function namesOfNote(chunk: { path: string; context: string; lines: readonly string[] }): string[] {
  const { titles, aliases } = namesIn(chunk.context);
  const first = headingOf(chunk.lines.find((line) => line.trim() !== "") ?? "");
  const title = first?.level === 1 && titles.length === 0 ? first.title : undefined;
  const name = nameOfNote(chunk.path);
  const names = [name, name?.replace(placeNumber, ""), title, titles[0], ...aliases];
  return [...new Set(names)].filter((each) => each !== undefined);
}

const bracketed = /^(.*\S)\s*\(([^()]+)\)$/u;
const noFit: NameFit = { share: 0, found: new Set(), isWhole: false };

/** How a name, or the part of it in or before brackets, fits a query. */
export function fitOf(query: NamedQuery, name: string, scan: TermScanner): NameFit {
  const known = query.known.get(name);
  if (known !== undefined) return known;
  const parts = isTemplateName(name) ? [] : [name, ...(bracketed.exec(name)?.slice(1) ?? [])];
  const fit = parts
    .map((part) => fitPart(query, part, scan))
    .reduce((best, other) => (other.share > best.share ? other : best), noFit);
  query.known.set(name, fit);
  return fit;
}

function fitPart({ terms, count, weight, initials, letters }: NamedQuery, name: string, scan: TermScanner): NameFit {
  // Also where the words are joined in another way, or words that say nothing are part of the name, as in `useRouter`.
  const own = lettersOf(name);
  if (letters !== "" && own === letters) return { share: 1, found: new Set(terms.values()), isWhole: true };
  const found = new Map<WeightedTerm, number>();
  for (const each of (name.length <= 12 && initials.get(own)) || []) found.set(each, 1);
  for (const abbreviation of initialsOf(name)) {
    const each = terms.get(termOfWord(abbreviation));
    if (each !== undefined) found.set(each, 1);
  }
  let words = found.size;
  if (words === 0)
    scan(name, (term, _start, _end, kind) => {
      if (kind === "whole") return;
      if (kind !== "stem") words++;
      const held = terms.get(term);
      if (held !== undefined) found.set(held, 1);
      else if (kind === "word")
        for (const [form, each] of terms) if (!found.has(each) && isForm(form, term)) found.set(each, formShare);
    });
  if (found.size === 0 || words === 0) return noFit;
  let sum = 0;
  for (const [{ idf }, share] of found) sum += share * idf;
  const isWhole = found.size === count && found.size >= words;
  const share = (sum / weight) * Math.sqrt(Math.min(1, found.size / words));
  return { share: isWhole ? Math.max(0.95, share) : share, found: new Set(found.keys()), isWhole };
}

/** Whether two terms are forms of one word that stemming has left apart: they share 5 letters or two thirds, and differ in an ending. */
function isForm(one: string, other: string): boolean {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  if (short.length < 4) return false;
  let shared = 0;
  while (shared < short.length && short[shared] === long[shared]) shared++;
  const [tail, longTail] = [short.length - shared, long.length - shared];
  return tail <= 1 && longTail <= 3 && (shared >= 5 || shared >= (2 / 3) * long.length);
}
