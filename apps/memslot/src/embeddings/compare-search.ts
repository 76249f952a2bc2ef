import {
  type AgentConfig,
  type Memory,
  type MemslotConfig,
  type MemorySearchResult,
  type SearchReport,
  visibleText,
} from "@memslot/core";
import type { CommandContext } from "../command-context.ts";
import { someNote } from "../doctor/search-check.ts";
import { createMatcher } from "@memslot/indexing";
import { withMemory } from "../open/with-memory.ts";
import { withChoice } from "./provider-config-edits.ts";

/** One query, answered with keyword search and with hybrid search. */
export interface Comparison {
  question: string;
  /** The note that the query was taken from; undefined if the user typed it. */
  from?: string | undefined;
  before: MemorySearchResult[];
  after: MemorySearchResult[];
  /** The mode of the second answer. */
  mode: SearchReport["mode"];
  reason?: string | undefined;
}

const SHOWN = 3;

export type AskedByMeaning = Omit<Comparison, "before">;

export async function askByMeaning(
  memory: Memory,
  typed: string | undefined,
  signal: AbortSignal,
): Promise<AskedByMeaning | undefined> {
  const asked = typed === undefined ? await lineOfNotes(memory, signal) : { question: typed };
  if (asked === undefined) return undefined;
  const { results: after, report } = await memory.ask(asked.question, { maxResults: SHOWN, signal });
  const { mode, state, reason } = report;
  return { ...asked, after, mode, reason: mode === "keyword" || state !== "ok" ? reason : undefined };
}

/** Adds the results of keyword search in the same index. */
export async function compareWithWords(
  context: CommandContext,
  config: MemslotConfig,
  { agent, asked }: { agent: AgentConfig; asked: AskedByMeaning },
): Promise<Comparison> {
  const inWords = withChoice(config, [agent], { provider: "none" });
  const { signal } = context;
  const before = await withMemory(context, inWords, inWords.agent(agent.id), (memory) =>
    memory.search(asked.question, { maxResults: SHOWN, signal }),
  );
  return { ...asked, before };
}

async function lineOfNotes(
  memory: Memory,
  signal: AbortSignal,
): Promise<{ question: string; from: string } | undefined> {
  const from = await someNote(memory, signal);
  if (from === undefined) return undefined;
  const { text } = await memory.readFile({ path: from, signal });
  const question = questionFrom(text);
  return question === undefined ? undefined : { question, from };
}

const LONGEST_QUESTION = 80;

/** The longest sentence of a note without Markdown, cut at a word; undefined if there is no text. */
export function questionFrom(note: string): string | undefined {
  const withoutHead = note.replace(/^---\n[\s\S]*?\n---\n/u, "");
  const sentences = withoutHead
    .split("\n")
    .filter((line) => !/^\s*(?:#|\||```|>)/u.test(line))
    .map((line) => line.replace(/^\s*(?:[-*+]|\d+[.)])\s+(?:\[.\]\s+)?/u, "").replaceAll(/[*_`[\]]/gu, ""))
    .flatMap((line) => line.split(/(?<=[.!?])\s+|(?<=[。！？])/u))
    .map((line) => line.replace(/[.。]$/u, "").trim())
    .filter((line) => /\p{L}{2}/u.test(line));
  const longest = sentences.toSorted((left, right) => right.length - left.length)[0];
  if (longest === undefined || longest.length <= LONGEST_QUESTION) return longest;
  const cut = longest.slice(0, LONGEST_QUESTION);
  return cut.includes(" ") ? cut.replace(/\s+\S*$/u, "") : cut.toWellFormed();
}

export function describeComparison({ question, from, before, after, reason }: Comparison): string {
  const placeOf = ({ path, startLine, endLine }: MemorySearchResult): string => `${path}#L${startLine}-L${endLine}`;
  const known = new Set(before.map(placeOf));
  const line = (result: MemorySearchResult, mark: string): string => {
    return `  ${mark} ${placeOf(result)}  ${bestLine(result.snippet, question)}`;
  };
  const list = (results: readonly MemorySearchResult[], mark: (place: string) => string): string[] =>
    results.length === 0 ? ["    nothing"] : results.map((result) => line(result, mark(placeOf(result))));
  return [
    `"${visibleText(question)}"${from === undefined ? "" : ` (a line of ${from}; use --try "…" for your own query)`}`,
    "keyword search:",
    ...list(before, () => " "),
    "hybrid search (+ marks new results):",
    ...list(after, (place) => (known.has(place) ? " " : "+")),
    ...(reason === undefined ? [] : [`Reduced quality: ${reason}`]),
  ].join("\n");
}

/** The line of a snippet with the most words of the query, headings last. */
function bestLine(snippet: string, question: string): string {
  const matcher = createMatcher(question);
  const shared = (line: string): number => matcher(line).words;
  const lines = visibleText(snippet)
    .split("\n")
    .filter((line) => /\p{L}/u.test(line));
  const isHeading = (line: string): number => (line.startsWith("#") ? 1 : 0);
  const [best = ""] = lines.toSorted(
    (left, right) => shared(right) - shared(left) || isHeading(left) - isHeading(right),
  );
  return best.trim().slice(0, LONGEST_QUESTION).toWellFormed();
}
