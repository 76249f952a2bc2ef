import type { Memory, MemorySearchOptions } from "@memslot/core";
import { createMatcher, matchedWords, resultLines } from "@memslot/indexing";
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
    lines: own.map((line): ShownLine => {
      if (line.kind === "gap") return line;
      const { number, text } = line;
      const matches = matcher(text).ranges.map(({ start, end }) => text.slice(start, end).toLowerCase());
      return { kind: "line", number, text, matches };
    }),
  }));
  return { query, results, report, ms };
}
