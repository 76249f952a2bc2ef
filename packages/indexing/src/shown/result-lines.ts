import { isAbort, isConversation, type Memory, type MemorySearchResult } from "@memslot/core";
import { createMatcher, type Matcher } from "./matched-words.ts";
import { findInFile, type Gap, numberByPlace, type NumberedLine, withGaps, withoutNumbers } from "./numbered-lines.ts";

/** A result with the lines that are shown of it. */
export interface ResultLines {
  result: FoundResult;
  lines: readonly (NumberedLine | Gap)[];
}

export type FoundResult = MemorySearchResult;

interface Wish {
  query: string;
  /** Show the lines that match, and so many before and behind each, in place of the snippet. */
  context: number | undefined;
  signal: AbortSignal;
}

/** Finds out which lines the results are. Reads files only where a result does not say it. */
export async function resultLines(
  memory: Pick<Memory, "readFile">,
  results: readonly FoundResult[],
  wish: Wish,
): Promise<ResultLines[]> {
  const matcher = createMatcher(wish.query);
  const all: ResultLines[] = [];
  for (const result of results) {
    if (isConversation(result)) {
      all.push({ result, lines: withoutEnd(withoutNumbers(result)) });
      continue;
    }
    const lines =
      wish.context === undefined
        ? await snippetLines(memory, result, wish.signal)
        : await linesAround(memory, result, { context: wish.context, matcher, signal: wish.signal });
    all.push({ result, lines: withoutEnd(lines) });
  }
  return all;
}

async function snippetLines(
  memory: Pick<Memory, "readFile">,
  result: FoundResult,
  signal: AbortSignal,
): Promise<(NumberedLine | Gap)[]> {
  const { path, startLine: from, endLine: to, heading } = result;
  const lines =
    numberByPlace(result) ?? findInFile(result, (await fileLines(memory, { path, from, to, signal })) ?? []);
  return heading === undefined ? lines : [{ kind: "line", number: undefined, text: heading }, ...lines];
}

/** As `grep -C` has it: matching lines of the result, with what stands around them in the file. */
async function linesAround(
  memory: Pick<Memory, "readFile">,
  result: FoundResult,
  { context, matcher, signal }: { context: number; matcher: Matcher; signal: AbortSignal },
): Promise<readonly (NumberedLine | Gap)[]> {
  const from = Math.max(1, result.startLine - context);
  const texts = await fileLines(memory, { path: result.path, from, to: result.endLine + context, signal });
  const snippet = numberByPlace(result) ?? findInFile(result, texts?.slice(result.startLine - from) ?? []);
  if (texts === undefined || texts.length === 0) return snippet;
  const lines = texts.map((text, index): NumberedLine => ({ kind: "line", number: from + index, text }));
  const within = lines.slice(result.startLine - from, result.endLine - from + 1);
  const matched = numbersOf(within.filter(({ text }) => matcher(text).words > 0));
  // What was found by meaning need not hold a word of the query.
  const wanted = matched.length > 0 ? matched : numbersOf(snippet);
  const shown = lines.filter(({ number = 0 }) => wanted.some((line) => Math.abs(line - number) <= context));
  return shown.length > 0 ? withGaps(shown) : snippet;
}

function numbersOf(lines: readonly (NumberedLine | Gap)[]): number[] {
  return lines.flatMap((line) => (line.kind === "line" && line.number !== undefined ? [line.number] : []));
}

/** Without blank lines at the end. */
function withoutEnd(lines: readonly (NumberedLine | Gap)[]): readonly (NumberedLine | Gap)[] {
  const last = lines.findLastIndex((line) => line.kind === "gap" || line.text.trim() !== "");
  return lines.slice(0, last + 1);
}

/**
 * Lines of a file as they stand there, from the first to the last, both 1-based; fewer where the file ends before.
 * Undefined where the memory does not give out its lines: a transcript, a journal, a file that is gone.
 */
export async function fileLines(
  memory: Pick<Memory, "readFile">,
  place: { path: string; from: number; to: number; signal: AbortSignal },
): Promise<string[] | undefined> {
  const lines: string[] = [];
  let from = place.from;
  try {
    while (from <= place.to) {
      const read = await memory.readFile({
        relPath: place.path,
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
    // What was found is shown without the numbers of its lines: that it cannot be read anymore is no fault of the answer.
    return undefined;
  }
  return lines;
}
