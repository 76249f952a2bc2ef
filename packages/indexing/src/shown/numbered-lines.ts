/** A line as it is shown; a gap stands for lines that are left out. */
export interface NumberedLine {
  kind: "line";
  /** 1-based. Undefined where it cannot be told which line of the file it is. */
  number: number | undefined;
  text: string;
}

export interface Gap {
  kind: "gap";
}

/** What a result says of its lines. */
export interface SnippetPlace {
  startLine: number;
  endLine: number;
  snippet: string;
  /** First and last line of each part of the snippet, where the backend says so. */
  lines?: readonly (readonly [from: number, to: number])[] | undefined;
}

/** What stands in a snippet for lines that were left out, and inside a line for a part of it. */
const ellipsis = "…";
/** What is left out of a copy that was made without secrets. */
const redacted = /\[redacted[^\]]*\]/gu;

/**
 * The lines of a snippet with their numbers: by the ranges that the result names, or because the snippet is all of its
 * range. Undefined where only the file can tell, see `findInFile`.
 */
export function numberByPlace(place: SnippetPlace): (NumberedLine | Gap)[] | undefined {
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

/**
 * The lines of a snippet with their numbers, by where they stand in the file. `fileLines` begins with `startLine`. What a
 * snippet shows without a gap follows each other in the file, but for blank lines. Numbers are left out where the snippet
 * is not made of these lines.
 */
export function findInFile({ snippet, startLine }: SnippetPlace, fileLines: readonly string[]): (NumberedLine | Gap)[] {
  // Blank lines at the end are shown nowhere, and need not be in the file.
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

/** The lines of a snippet that is not made of lines of a file. */
export function withoutNumbers({ snippet }: Pick<SnippetPlace, "snippet">): (NumberedLine | Gap)[] {
  return numbered(textsOf(snippet), []);
}

/** Numbers without a gap between them that are no neighbours get one: what is shown is never read as following. */
export function withGaps(lines: readonly NumberedLine[]): (NumberedLine | Gap)[] {
  return lines.flatMap((line, index): (NumberedLine | Gap)[] => {
    const before = lines[index - 1]?.number;
    const follows = index === 0 || before === undefined || line.number === undefined || line.number <= before + 1;
    return follows ? [line] : [{ kind: "gap" }, line];
  });
}

function textsOf(snippet: string): string[] {
  return snippet.replaceAll("\r\n", "\n").split("\n");
}

function numbered(texts: readonly string[], numbers: readonly number[]): (NumberedLine | Gap)[] {
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

/** The first place where all lines of a block stand, as indexes of `fileLines`. */
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

/** A line of a snippet may be cut, and what looks like a secret is left out. */
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
