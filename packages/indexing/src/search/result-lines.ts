import { isAbort, type Memory, type MemorySearchResult, type SearchReport } from "@memslot/core";
import { isConversation } from "@memslot/core/host";
import { readQuery } from "../text/query-terms.ts";
import { scanTerms } from "../text/index-terms.ts";

export interface NumberedLine {
  kind: "line";
  /** 1-based. Undefined if the line of the file is unknown. */
  number: number | undefined;
  text: string;
}

export interface Gap {
  kind: "gap";
}

type ShownLine = NumberedLine | Gap;

export interface ResultLines {
  result: MemorySearchResult;
  lines: readonly ShownLine[];
}

type SnippetPlace = Pick<MemorySearchResult, "startLine" | "endLine" | "snippet" | "lines">;

/** What is in a snippet for lines that were excluded, and inside a line for a part of it. */
const ellipsis = "…";
/** What is removed from a copy that was made without secrets. */
const redacted = /\[redacted[^\]]*\]/gu;

/** Numbered lines of results; `context`: matching lines with that many around. May read files. */
export async function resultLines(
  memory: Pick<Memory, "readFile">,
  results: readonly MemorySearchResult[],
  { query, context, signal }: { query: string; context: number | undefined; signal: AbortSignal },
): Promise<ResultLines[]> {
  const matcher = createMatcher(query);

  async function linesOf(result: MemorySearchResult): Promise<readonly ShownLine[]> {
    const { path, startLine, endLine, heading } = result;
    if (isConversation(result)) return numbered(textsOf(result.snippet), []);
    const known = numberByPlace(result);
    const from = Math.max(1, startLine - (context ?? 0));
    const to = endLine + (context ?? 0);
    const isRead = context !== undefined || known === undefined;
    const texts = (isRead ? await fileLines(memory, { path, from, to, signal }) : undefined) ?? [];
    const snippet = known ?? findInFile(result, texts.slice(startLine - from));
    if (context === undefined)
      return heading === undefined ? snippet : [{ kind: "line", number: undefined, text: heading }, ...snippet];
    const lines = texts.map((text, index): NumberedLine => ({ kind: "line", number: from + index, text }));
    const within = lines.slice(startLine - from, endLine - from + 1);
    const matched = numbersOf(within.filter(({ text }) => matcher(text).words > 0));
    // A result found by vector search need not contain a word of the query.
    const wanted = matched.length > 0 ? matched : numbersOf(snippet);
    const shown = lines.filter(({ number = 0 }) => wanted.some((line) => Math.abs(line - number) <= context));
    return shown.length > 0 ? withGaps(shown) : snippet;
  }

  const all: ResultLines[] = [];
  for (const result of results) {
    const lines = await linesOf(result);
    const last = lines.findLastIndex((line) => line.kind === "gap" || line.text.trim() !== "");
    all.push({ result, lines: lines.slice(0, last + 1) });
  }
  return all;
}

function numbersOf(lines: readonly ShownLine[]): number[] {
  return lines.flatMap((line) => (line.kind === "line" && line.number !== undefined ? [line.number] : []));
}

/** Lines of a file, 1-based and inclusive. Undefined if the memory does not return them. */
export async function fileLines(
  memory: Pick<Memory, "readFile">,
  place: { path: string; from: number; to: number; signal: AbortSignal },
): Promise<string[] | undefined> {
  const lines: string[] = [];
  let from = place.from;
  try {
    while (from <= place.to) {
      const read = await memory.readFile({
        path: place.path,
        from,
        lines: place.to - from + 1,
        signal: place.signal,
      });
      if (read.status !== "ok") return undefined;
      // Behind the lines stands a notice where more follows.
      lines.push(...read.text.split("\n").slice(0, read.lines ?? 0));
      if (read.nextFrom === undefined || read.nextFrom <= from) break;
      from = read.nextFrom;
    }
  } catch (error) {
    if (isAbort(error)) throw error;
    return undefined;
  }
  return lines;
}

/** Line numbers of a snippet from its ranges. Undefined if only the file can tell. */
export function numberByPlace(place: SnippetPlace): ShownLine[] | undefined {
  const texts = textsOf(place.snippet);
  const shown = texts.filter((text) => text !== ellipsis);
  const named = place.lines?.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
  if (named?.length === shown.length) return numbered(texts, named);
  const { startLine, endLine } = place;
  // Pieces of one long line stand one below the other.
  if (startLine === endLine) return numbered(texts, Array<number>(shown.length).fill(startLine));
  const isWhole = shown.length === texts.length && texts.length === endLine - startLine + 1;
  const all = texts.map((_, index) => startLine + index);
  return isWhole ? numbered(texts, all) : undefined;
}

/** Line numbers of a snippet from the file. `fileLines` begins with `startLine`. Empty if there is no match. */
export function findInFile({ snippet, startLine }: SnippetPlace, fileLines: readonly string[]): ShownLine[] {
  const texts = textsOf(snippet.trimEnd());
  const found: number[] = [];
  let from = 0;
  for (const block of blocksOf(texts)) {
    const indexes = findBlock(block, fileLines, from);
    if (!indexes) return numbered(texts, []);
    found.push(...indexes);
    from = (indexes.at(-1) ?? from) + 1;
  }
  return numbered(
    texts,
    found.map((index) => startLine + index),
  );
}

/** Numbers without a gap between them that are no neighbours get one: what is shown is never read as following. */
function withGaps(lines: readonly NumberedLine[]): ShownLine[] {
  return lines.flatMap((line, index): ShownLine[] => {
    const before = lines[index - 1]?.number;
    const follows = index === 0 || before === undefined || line.number === undefined || line.number <= before + 1;
    return follows ? [line] : [{ kind: "gap" }, line];
  });
}

function textsOf(snippet: string): string[] {
  return snippet.replaceAll("\r\n", "\n").split("\n");
}

function numbered(texts: readonly string[], numbers: readonly number[]): ShownLine[] {
  let next = 0;
  return texts.map((text) => (text === ellipsis ? { kind: "gap" } : { kind: "line", number: numbers[next++], text }));
}

function blocksOf(texts: readonly string[]): string[][] {
  const blocks: string[][] = [[]];
  for (const text of texts) {
    if (text === ellipsis) blocks.push([]);
    else blocks.at(-1)?.push(text);
  }
  return blocks.filter((block) => block.length > 0);
}

function findBlock(block: readonly string[], fileLines: readonly string[], from: number): number[] | undefined {
  for (let start = from; start < fileLines.length; start++) {
    const indexes = matchFrom(block, fileLines, start);
    if (indexes) return indexes;
  }
  return undefined;
}

function matchFrom(block: readonly string[], fileLines: readonly string[], start: number): number[] | undefined {
  const indexes: number[] = [];
  let at = start;
  for (const text of block) {
    while (indexes.length > 0 && text.trim() !== "" && fileLines[at]?.trim() === "") at++;
    const line = fileLines[at];
    if (line === undefined || !isSameLine(text, line)) return undefined;
    indexes.push(at++);
  }
  return indexes;
}

/** A line of a snippet may be cut, and what looks like a secret is excluded. */
function isSameLine(shown: string, line: string): boolean {
  if (shown === line || shown.trimEnd() === line.trimEnd()) return true;
  const parts = shown.replaceAll(redacted, ellipsis).split(ellipsis);
  if (parts.length === 1 || parts.every((part) => part.trim() === "")) return false;
  let at = 0;
  for (const part of parts) {
    const found = line.indexOf(part.trim(), at);
    if (found < 0) return false;
    at = found + part.trim().length;
  }
  return true;
}

interface Range {
  start: number;
  end: number;
}

export interface Matches {
  /** Sorted; what overlaps or touches is one. */
  ranges: readonly Range[];
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
