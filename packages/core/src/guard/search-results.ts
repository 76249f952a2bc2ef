import { show } from "./call-arguments.ts";
import { MemoryError } from "../contract/errors.ts";
import type { SearchOrder } from "../contract/search-filters.ts";
import { isForEveryone } from "./private-notes.ts";
import { type NotePlaces, isInSharedPlace, notePath, withShortSnippet } from "./result-places.ts";
import type {
  ManagerSearchOptions,
  MemoryCapabilities,
  MemoryReadResult,
  MemorySearchResult,
} from "../contract/manager.ts";
import { resultTokens } from "../text/result-tokens.ts";

/** What is left of a manager's results, and how many were dropped for which reason. */
export interface KeptResults {
  results: MemorySearchResult[];
  dropped: Record<"minScore" | "source" | "limit" | "tokens" | "audience" | "outside" | "duplicate", number>;
}

/**
 * Filters by place, audience, source and score, sorts (but for what is in an order of days), takes each place once and cuts: the same for every manager. What
 * is found outside the notes, or twice, is the plugin's mistake, and the rest is an answer all the same.
 */
export function keepResults(
  results: readonly MemorySearchResult[],
  options: Pick<ManagerSearchOptions, "maxResults" | "maxTokens" | "minScore" | "sources" | "audience" | "explain">,
  { capabilities, places, order }: { capabilities: MemoryCapabilities; places: NotePlaces; order: SearchOrder },
): KeptResults {
  const inside = results.flatMap((result) => placed(result, places));
  const allowed =
    options.audience === "private"
      ? inside
      : inside.filter(
          ({ path, source }) =>
            isForEveryone(path, places.workspaceDir) && (source !== "memory" || isInSharedPlace(path, places)),
        );
  const fromSources = allowed.filter((result) => options.sources.includes(result.source));
  const scored = fromSources.filter(
    (result) => result.score >= options.minScore || !foundByVectorOnly(result, capabilities),
  );
  const sorted = order === "relevance" ? scored.toSorted(bestFirst) : scored;
  const unique = onceEach(sorted);
  const wanted = unique.slice(0, options.maxResults);
  const kept = withinBudget(wanted, options.maxTokens);
  return {
    results: options.explain === true ? kept : kept.map((result) => withoutParts(result)),
    dropped: {
      outside: results.length - inside.length,
      duplicate: sorted.length - unique.length,
      audience: inside.length - allowed.length,
      source: allowed.length - fromSources.length,
      minScore: fromSources.length - scored.length,
      limit: unique.length - wanted.length,
      tokens: wanted.length - kept.length,
    },
  };
}

function withoutParts(result: MemorySearchResult): MemorySearchResult {
  if (result.parts === undefined) return result;
  const copy = { ...result };
  delete copy.parts;
  return copy;
}

/** With its path and its text as the contract has them. Other sources than the notes name things in their own way. */
function placed(result: MemorySearchResult, places: NotePlaces): MemorySearchResult[] {
  const path = result.source === "memory" ? notePath(result.path, places) : result.path;
  return path === undefined ? [] : [withShortSnippet(path === result.path ? result : { ...result, path })];
}

/** The first of those that name the same lines. */
function onceEach(results: readonly MemorySearchResult[]): MemorySearchResult[] {
  const seen = new Set<string>();
  return results.filter((result) => {
    const key = placeKey(result);
    const isNew = !seen.has(key);
    seen.add(key);
    return isNew;
  });
}

function placeKey({ source, path, startLine, endLine }: MemorySearchResult): string {
  return JSON.stringify([source, path, startLine, endLine]);
}

/** The first of them that the budget holds. The very first is always there: none would say that nothing was found. */
function withinBudget(results: readonly MemorySearchResult[], maxTokens: number): MemorySearchResult[] {
  let used = 0;
  const end = results.findIndex((result, index) => {
    used += resultTokens(result);
    return index > 0 && used > maxTokens;
  });
  return results.slice(0, end < 0 ? results.length : end);
}

/** A manager without a vector leg may give a score alone; its results are found by words. */
function foundByVectorOnly(result: MemorySearchResult, capabilities: MemoryCapabilities): boolean {
  if ((result.textScore ?? 0) > 0) return false;
  return capabilities.vector || result.vectorScore !== undefined;
}

function bestFirst(a: MemorySearchResult, b: MemorySearchResult): number {
  if (a.score !== b.score) return b.score - a.score;
  // By code unit, not by locale: the order is the same on every machine.
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return a.startLine - b.startLine;
}

// Cosines of 32-bit vectors end up this little outside their range.
const rounding = 1e-6;

/** Refuses results that break the contract, naming the plugin and the field. */
export function checkResults(backend: string, results: unknown): MemorySearchResult[] {
  if (!Array.isArray(results))
    throw broken(backend, "search", `gave ${show(results)} where a list of results is wanted`);
  results.forEach((result: unknown, index) =>
    checkResult(result, (field, wanted, given) => {
      throw broken(backend, "search", `result ${index + 1}: "${field}" must be ${wanted}, not ${show(given)}`);
    }),
  );
  return results as MemorySearchResult[];
}

type Refuse = (field: string, wanted: string, given: unknown) => void;

function checkResult(result: unknown, refuse: Refuse): void {
  if (typeof result !== "object" || result === null) return refuse("result", "an object", result);
  const { path, startLine, endLine, score, vectorScore, textScore } = result as Record<string, unknown>;
  const { snippet, lines, heading, source, citation, parts } = result as Record<string, unknown>;
  if (typeof path !== "string" || path === "") refuse("path", "a path", path);
  if (String(path).includes("\0")) refuse("path", "a path without NUL characters", path);
  if (!isLine(startLine)) refuse("startLine", "a line number, 1 or more", startLine);
  if (!isLine(endLine) || endLine < Number(startLine)) refuse("endLine", "a line number not before startLine", endLine);
  if (!isBetween(score, 0, 1)) refuse("score", "a number from 0 to 1", score);
  if (vectorScore !== undefined && !isBetween(vectorScore, -1, 1))
    refuse("vectorScore", "a number from -1 to 1", vectorScore);
  if (textScore !== undefined && !isBetween(textScore, 0, 1)) refuse("textScore", "a number from 0 to 1", textScore);
  if (typeof snippet !== "string") refuse("snippet", "a string", snippet);
  if (lines !== undefined && !areRanges(lines, Number(startLine), Number(endLine)))
    refuse("lines", "pairs of lines from startLine to endLine, in their order", lines);
  if (heading !== undefined && typeof heading !== "string") refuse("heading", "a string", heading);
  if (typeof source !== "string" || source === "") refuse("source", "the name of a source", source);
  if (citation !== undefined && typeof citation !== "string") refuse("citation", "a string", citation);
  if (parts !== undefined && !areParts(parts)) refuse("parts", "numbers for words, names, dates and meaning", parts);
}

export function checkReadResult(backend: string, result: unknown): MemoryReadResult {
  if (typeof result !== "object" || result === null)
    throw broken(backend, "readFile", `gave ${show(result)} where an object is wanted`);
  const { status, text, path, from, lines, nextFrom } = result as Record<string, unknown>;
  const refuse: Refuse = (field, wanted, given) => {
    throw broken(backend, "readFile", `"${field}" must be ${wanted}, not ${show(given)}`);
  };
  if (status !== "ok" && status !== "not_found") refuse("status", '"ok" or "not_found"', status);
  if (typeof text !== "string") refuse("text", "a string", text);
  if (typeof path !== "string" || path === "") refuse("path", "a path", path);
  if (from !== undefined && !isLine(from)) refuse("from", "a line number, 1 or more", from);
  if (lines !== undefined && !isCount(lines)) refuse("lines", "a whole number, 0 or more", lines);
  if (nextFrom !== undefined && !isLine(nextFrom)) refuse("nextFrom", "a line number, 1 or more", nextFrom);
  return result as MemoryReadResult;
}

type Check = readonly [isRight: (value: unknown) => boolean, wanted: string];
const flag: Check = [(value) => typeof value === "boolean", "true or false"];
const list: Check = [Array.isArray, "a list"];
const count: Check = [isCount, "a whole number, 0 or more"];

/** What the answers of calls are to hold that give an object, or nothing. */
const answers: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  sync: { added: count, changed: count, removed: count, unchanged: count, failed: list },
  check: { ok: flag, findings: list },
  compact: { beforeBytes: count, afterBytes: count },
  listFiles: { files: list, leftOut: list, fileCount: count, leftOutCount: count },
  describeFile: {
    passages: list,
    links: list,
    backlinks: list,
    passageCount: count,
    linkCount: count,
    backlinkCount: count,
  },
  details: { syncs: list, spaces: list },
  map: { notes: list, note: list, startLine: list, endLine: list, x: list, y: list, passages: count },
  releaseQuarantine: { chunks: count },
};

/** Throws `PLUGIN` for an answer that is not of its shape. */
export function checkAnswer<Answer>(backend: string, call: string, given: Answer, wanted = "an object"): Answer {
  const checks = answers[call];
  if (given === undefined || checks === undefined) return given;
  if (typeof given !== "object" || given === null)
    throw broken(backend, call, `gave ${show(given)} where ${wanted} is wanted`);
  for (const [name, [isRight, what]] of Object.entries(checks)) {
    const value: unknown = given[name as keyof typeof given];
    if (!isRight(value)) throw broken(backend, call, `"${name}" must be ${what}, not ${show(value)}`);
  }
  return given;
}

function isLine(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 1;
}

/** Whether these are ranges that follow each other, none outside of the lines of the result. */
function areRanges(value: unknown, startLine: number, endLine: number): boolean {
  if (!Array.isArray(value) || value.length === 0) return false;
  let next = startLine;
  for (const range of value) {
    if (!Array.isArray(range) || range.length !== 2) return false;
    const [from, to]: unknown[] = range;
    if (!isLine(from) || !isLine(to) || to < from || from < next || to > endLine) return false;
    next = to + 1;
  }
  return true;
}

function areParts(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { words, names, dates, meaning } = value as Record<string, unknown>;
  return [words, names, dates, meaning].every((part) => typeof part === "number" && Number.isFinite(part));
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isBetween(value: unknown, low: number, high: number): boolean {
  return typeof value === "number" && value >= low - rounding && value <= high + rounding;
}

function broken(backend: string, call: string, what: string): MemoryError {
  return new MemoryError(
    "PLUGIN",
    `memory plugin "${backend}" broke its contract in ${call}: ${what}; report this to the author of the plugin`,
  );
}
