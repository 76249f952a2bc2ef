import {
  type AgentConfig,
  type MemslotConfig,
  type MemorySearchResult,
  type SearchReport,
  visibleText,
} from "@memslot/core";
import type { CommandContext } from "../command-context.ts";
import { someNote } from "../doctor/live-search.ts";
import { withMemory } from "../open/with-memory.ts";
import { withChoice } from "./config-target.ts";

/** One question, answered by words and then by meaning too. */
export interface Comparison {
  question: string;
  /** The note that the question is a line of; undefined where it was typed. */
  from?: string | undefined;
  before: MemorySearchResult[];
  after: MemorySearchResult[];
  /** How the second answer was found: `hybrid`, or less with the reason. */
  mode: SearchReport["mode"];
  reason?: string | undefined;
}

const SHOWN = 3;

/**
 * Asks twice; `config` is the one with the model, and its index is up to date. Undefined where there is no note to make a
 * question of.
 */
export async function compareSearch(
  context: CommandContext,
  config: MemslotConfig,
  { agent, question }: { agent: AgentConfig; question: string | undefined },
): Promise<Comparison | undefined> {
  const { signal } = context;
  const inWords = withChoice(config, [agent], { provider: "none" });
  const asked = await withMemory(context, inWords, inWords.agent(agent.id), async (memory) => {
    const typed = question === undefined ? await lineOfNotes(memory, signal) : { question };
    if (typed === undefined) return undefined;
    return { ...typed, before: await memory.search(typed.question, { maxResults: SHOWN, signal }) };
  });
  if (asked === undefined) return undefined;
  return await withMemory(context, config, config.agent(agent.id), async (memory) => {
    let report: SearchReport | undefined;
    const onDebug = (given: SearchReport): void => void (report = given);
    const after = await memory.search(asked.question, { maxResults: SHOWN, signal, onDebug });
    const { mode = "keyword", state = "ok", reason } = (report as SearchReport | undefined) ?? {};
    return { ...asked, after, mode, reason: mode === "keyword" || state !== "ok" ? reason : undefined };
  });
}

type Notes = Parameters<Parameters<typeof withMemory>[3]>[0];

/** The longest line of prose of a note, as far as a question goes. */
async function lineOfNotes(
  memory: Notes,
  signal: AbortSignal,
): Promise<{ question: string; from: string } | undefined> {
  const from = await someNote(memory.workspaceDir);
  if (from === undefined) return undefined;
  const { text } = await memory.readFile({ relPath: from, signal });
  const question = questionFrom(text);
  return question === undefined ? undefined : { question, from };
}

const LONGEST_QUESTION = 80;

/** The longest sentence of a note without its marks, cut at a word; undefined where nothing but marks stands there. */
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

/** For people: both answers, with a `+` at what words alone did not bring. */
export function describeComparison({ question, from, before, after, reason }: Comparison): string {
  const placeOf = ({ path, startLine, endLine }: MemorySearchResult): string => `${path}#L${startLine}-L${endLine}`;
  const known = new Set(before.map(placeOf));
  const line = (result: MemorySearchResult, mark: string): string => {
    const words = visibleText(result.snippet)
      .split("\n")
      .find((text) => /\p{L}/u.test(text) && !text.startsWith("#"));
    return `  ${mark} ${placeOf(result)}  ${(words ?? "").trim().slice(0, LONGEST_QUESTION)}`;
  };
  const list = (results: readonly MemorySearchResult[], mark: (place: string) => string): string[] =>
    results.length === 0 ? ["    nothing"] : results.map((result) => line(result, mark(placeOf(result))));
  return [
    `"${visibleText(question)}"${from === undefined ? "" : ` (a line of ${from}; --try "…" asks your own question)`}`,
    "by words:",
    ...list(before, () => " "),
    "by words and meaning (+ is new):",
    ...list(after, (place) => (known.has(place) ? " " : "+")),
    ...(reason === undefined ? [] : [`This answer is not all that it could be: ${reason}`]),
  ].join("\n");
}
