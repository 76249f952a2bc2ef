import type { Memory, MemorySearchOptions, MemorySearchResult, SearchReport } from "@memslot/core";
import { createMatcher, matchedWords } from "@memslot/indexing";
import type { WhyAnswer, WhyRung } from "../api/search.ts";

/** As many as a search gives: who is behind all of them is told so. */
const looked = { maxResults: 200, maxTokens: 4000, minScore: 0 };

interface Target {
  path: string;
  line?: number | undefined;
}

/**
 * Why a note, or a line of it, is not among the results of a question: the steps from the file to the answer, up to the first
 * that it does not pass. `named` is a path, `path:12` or words that stand in the line.
 */
export async function whyNotFound(
  memory: Memory,
  query: string,
  named: string,
  options: MemorySearchOptions & { signal: AbortSignal },
): Promise<WhyAnswer> {
  const { signal, sessionKey } = options;
  const target = await targetOf(memory, named, signal);
  if (target === undefined) return { isThere: false, rungs: [{ name: "file", state: "failed", reason: "unknown" }] };
  const list = await memory.listFiles({ signal });
  const { path } = target;
  const leftOut = list?.leftOut.find((each) => each.path === path || path.startsWith(`${each.path}/`));
  const isIndexed = list === undefined || list.files.some((each) => each.path === path);
  if (leftOut !== undefined || !isIndexed) {
    const { reason = "unknown" as const, detail } = leftOut ?? {};
    return { path, isThere: false, rungs: [{ name: "file", state: "failed", reason, detail }] };
  }
  const rungs: WhyRung[] = [{ name: "file", state: "passed" }];
  const facts = await memory.describeFile({ relPath: path, signal });
  const { line } = target;
  const passage = facts?.passages.find(
    ({ startLine, endLine }) => line === undefined || (startLine <= line && endLine >= line),
  );
  const state = facts === undefined || passage !== undefined ? "passed" : "failed";
  rungs.push({ name: "line", state, line, passage: passage && [passage.startLine, passage.endLine] });
  if (state === "failed") return { path, isThere: false, rungs };

  const asked = async (
    how: MemorySearchOptions,
  ): Promise<{ results: MemorySearchResult[]; report: SearchReport | undefined }> => {
    let report: SearchReport | undefined;
    const results = await memory.search(query, {
      ...how,
      signal,
      sessionKey,
      explain: true,
      onDebug: (given) => (report = given),
    });
    return { results, report };
  };
  const shown = await asked(options);
  const all = await asked(looked);
  const isIt = (result: MemorySearchResult): boolean =>
    result.path === path && (line === undefined || (result.startLine <= line && result.endLine >= line));
  const words = await wordsOf(memory, { path, line }, matchedWords(query, all.report), signal);
  const isByWords = all.report?.mode === "keyword";
  const wordState = words.held.length > 0 ? "passed" : isByWords ? "failed" : "open";
  rungs.push({ name: "words", state: wordState, ...words });
  const isThere = shown.results.some((result) => isIt(result));
  const rank = all.results.findIndex((result) => isIt(result));
  const found = all.results[rank];
  if (wordState === "failed" && found === undefined) return { path, isThere, rungs };
  if (all.report?.filters !== undefined && found === undefined) {
    const unfiltered = await memory.search(all.report.filters.words, { ...looked, signal, sessionKey });
    const isFiltered = unfiltered.some((result) => isIt(result));
    rungs.push({ name: "filters", state: isFiltered ? "failed" : "passed" });
    if (isFiltered) return { path, isThere, rungs };
  }
  rungs.push({
    name: "score",
    state: found === undefined ? "failed" : "passed",
    score: found?.score,
    parts: found?.parts,
  });
  if (found === undefined) return { path, isThere, rungs };
  const { dropped } = shown.report ?? {};
  const minScore = options.minScore ?? 0;
  const cut = isThere
    ? undefined
    : found.score < minScore
      ? "minScore"
      : (dropped?.tokens ?? 0) > 0
        ? "tokens"
        : "limit";
  rungs.push({
    name: "rank",
    state: isThere ? "passed" : "failed",
    rank: rank + 1,
    of: all.results.length,
    shown: shown.results.length,
    cut,
  });
  const last = shown.results.at(-1);
  return { path, isThere, rungs, beatenBy: isThere || last === undefined ? undefined : placeOf(last) };
}

function placeOf({ path, startLine, score, parts }: MemorySearchResult): NonNullable<WhyAnswer["beatenBy"]> {
  return { path, startLine, score, parts };
}

/** The note that is meant: by its path, with or without a line, or by words that stand in it. */
async function targetOf(memory: Memory, named: string, signal: AbortSignal): Promise<Target | undefined> {
  const [, path = "", line] = /^\s*(.+?)(?:(?::|#L)(\d{1,7})(?:-L?\d{1,7})?)?\s*$/u.exec(named) ?? [];
  const list = await memory.listFiles({ signal });
  const known = [...(list?.files ?? []), ...(list?.leftOut ?? [])].map((each) => each.path);
  const exact = known.find((each) => each === path);
  const folded = path.toLowerCase();
  const ends = known.find((each) => each.toLowerCase().endsWith(folded) || each.toLowerCase().endsWith(`${folded}.md`));
  const chosen = exact ?? known.find((each) => path.startsWith(`${each}/`) && path) ?? ends;
  if (chosen !== undefined)
    return {
      path: exact === undefined && path.startsWith(`${chosen}/`) ? path : chosen,
      line: line === undefined ? undefined : Number(line),
    };
  if (/\s/u.test(named.trim())) {
    const [quoted] = await memory.search(`"${named.trim().replaceAll('"', " ")}"`, { maxResults: 1, signal });
    if (quoted !== undefined) return { path: quoted.path, line: quoted.lines?.[0]?.[0] ?? quoted.startLine };
  }
  return undefined;
}

/** Which words of the question the note, or the line, holds. */
async function wordsOf(
  memory: Memory,
  { path, line }: Target,
  words: string,
  signal: AbortSignal,
): Promise<{ held: string[]; missing: string[] }> {
  const read = await memory.readFile({ relPath: path, from: line ?? 1, lines: line === undefined ? 2000 : 1, signal });
  const each = [...new Set(words.split(/\s+/u).filter((word) => createMatcher(word)(word).words > 0))];
  const held = each.filter((word) => createMatcher(word)(`${path} ${read.text}`).words > 0);
  return { held, missing: each.filter((word) => !held.includes(word)) };
}
