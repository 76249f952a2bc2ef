import type { Memory, MemorySearchOptions } from "@memslot/core";
import { type Matcher, createMatcher, matchedWords, resultLines } from "@memslot/indexing";
import type { SearchAnswer, ShownLine } from "../api-types.ts";

/** Searches, and marks matching words in the lines of each result. */
export async function answerSearch(
  memory: Memory,
  query: string,
  options: MemorySearchOptions & { signal: AbortSignal },
): Promise<SearchAnswer> {
  const started = performance.now();
  const { results: found, report } = await memory.ask(query, { ...options, explain: true });
  const ms = Math.round((performance.now() - started) * 10) / 10;
  const words = matchedWords(query, report);
  const matcher = createMatcher(words);
  const lines = await resultLines(memory, found, { query: words, context: undefined, signal: options.signal });
  const results = lines.map(({ result, lines: own }) => ({
    ...result,
    lines: own.map((line): ShownLine => (line.kind === "gap" ? line : shownLine(line, matcher))),
  }));
  return { query, results, report, ms };
}

function shownLine({ number, text }: { number: number | undefined; text: string }, matcher: Matcher): ShownLine {
  const parts: { text: string; match: boolean }[] = [];
  let at = 0;
  for (const { start, end } of matcher(text).ranges) {
    if (start > at) parts.push({ text: text.slice(at, start), match: false });
    parts.push({ text: text.slice(start, end), match: true });
    at = end;
  }
  if (at < text.length || parts.length === 0) parts.push({ text: text.slice(at), match: false });
  return { kind: "line", number, parts };
}
