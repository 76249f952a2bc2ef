import { redactSecrets } from "../../secrets/redact-secrets.ts";
import { queryTerms } from "../../text/query-terms.ts";
import { flatMapInSlices } from "../../time-slices.ts";
import type { ChunkIndex, ChunkRow } from "../../chunk-index.ts";
import { placesOf, type SearchedSource, type SearchInput } from "../search-outcome.ts";
import type { AskedQuery } from "./asked-query.ts";
import { parseQuery } from "./parse-query.ts";
import { fittingPart } from "./row-filter.ts";

/** Exclusions and filters that are compared with notes, and how many chunks of each source, the best first. */
const mostParts = 16;
const mostChunks = 100;
const isOption = /^--?(?!(?:path|tag|source|after|before)[:：])(?:\p{N}*\p{L}|\d{4})/u;

/**
 * The parts of a question that are pasted text, each with the text around it that a note contains: those that would exclude
 * the very chunk in which they are written (`java -jar app.jar -server`), or in which the command is written with these options
 * and others.
 */
export async function pastedParts(
  { query, options, ...input }: SearchInput,
  store: Pick<ChunkIndex, "searchKeyword">,
  asked: AskedQuery,
): Promise<Map<string, string>> {
  const runs = literalRuns(query);
  const terms = queryTerms(redactSecrets(query));
  if (runs.length === 0 || terms.length === 0) return new Map();
  const ask = async ({ source, scope }: SearchedSource): Promise<ChunkRow[]> =>
    (await store.searchKeyword({ terms, sources: [source], scope, limit: mostChunks })).rows;
  const rows = (await Promise.all(placesOf(options, input.scope).map(ask))).flat();
  const [name = "", ...words] = literalText(query).trim().split(" ");
  const chosen = words.filter((word) => isOption.test(word));
  const pasted = await flatMapInSlices(rows, options.signal, (row) => {
    const text = row.text.replaceAll("\\\n", " ");
    const lines = text.split("\n").map(literalText);
    const isCommand = text.split(/[\n`]/u).some((code) => {
      const line = literalText(code).replace(/^ (?:[^\p{L}\p{N}\s]+ )*(?:sudo )?/u, " ");
      return line.startsWith(` ${name} `) && chosen.every((option) => line.includes(` ${option} `));
    });
    const held = runs.flatMap(([part, run]): typeof runs => {
      if (lines.some((line) => line.includes(run))) return [[part, run]];
      return isCommand && part.startsWith("-") ? [[part, `${name} … ${part}`]] : [];
    });
    return held.length > 0 && fittingPart(row, asked) === undefined ? held : [];
  });
  return new Map(pasted);
}

/**
 * For each exclusion the text from the word before it, and the text up to the word after it. A filter may be text
 * only in a question with an option, and then only as the whole question.
 */
function literalRuns(query: string): [part: string, run: string][] {
  const parts = parseQuery(query).filter((part) => part.kind !== "words");
  const excluded = new Set(parts.flatMap(({ isExcluded, text }) => (isExcluded ? text.toLowerCase() : [])));
  const words = literalText(query).trim().split(" ");
  const isWord = (word: string): boolean => /[\p{L}\p{N}]/u.test(word) && !excluded.has(word);
  return parts.slice(0, mostParts).flatMap(({ kind, isExcluded, text }) => {
    if (kind === "filter") return words.some((word) => isOption.test(word)) ? [[text, literalText(query)]] : [];
    const at = words.indexOf(text.toLowerCase());
    if (!isExcluded || at < 0) return [];
    const before = words.findLastIndex((word, index) => index < at && isWord(word));
    const after = words.findIndex((word, index) => index > at && isWord(word));
    const runs = [after < 0 ? [] : words.slice(at, after + 1), before < 0 ? [] : words.slice(before, at + 1)];
    return runs.filter(({ length }) => length > 0).map((run) => [text, literalText(run.join(" "))]);
  });
}

/** A line by its words, with a space around each: quotation marks, brackets, ends of sentences and capitals do not count. */
function literalText(line: string): string {
  const words = line.toLowerCase().split(/[\s"'`“”‘’„«»()]+|[.,;!?。，；！？]+(?=\s|$)/u);
  return ` ${words.filter(Boolean).join(" ")} `;
}
