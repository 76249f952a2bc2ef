import type { WhyTarget } from "../contract/search-why.ts";
import type { MemorySource, SyncProgress } from "../contract/status.ts";
import { MemoryError } from "../contract/errors.ts";
import type { SearchOrder } from "../contract/search-filters.ts";
import { clientSources } from "../contract/client-sources.ts";
import { audienceOf } from "./session-audience.ts";
import type {
  ManagerReadParams,
  ManagerSearchOptions,
  ManagerSyncParams,
  SessionAudience,
} from "../contract/manager.ts";
import type { MemoryReadParams, MemorySearchOptions, MemorySyncParams } from "../contract/memory.ts";
import type { MemorySearchSettings } from "../contract/settings.ts";

const maxResultsLimit = 200;
const usualMaxResults = 6;
const tokenLimits = [100, 4000] as const;
const queryLimit = 10_000;
const defaultLines = 120;
/** Files that one list holds at most. */
const mostListed = 20_000;
const orders: readonly SearchOrder[] = ["relevance", "newest", "oldest"];
const longestTime = 200;

/** A search with every option checked and filled in, and what the search report should say about it. */
export interface CheckedSearch {
  query: string;
  options: Omit<ManagerSearchOptions, "signal" | "onDebug">;
  notes: string[];
}

/** Whose sessions may ask for what is private, see `audienceOf`. */
export interface Asker {
  readonly agentId: string;
  readonly ownerAllowFrom: readonly string[];
}

interface SearchFacts {
  readonly settings: MemorySearchSettings;
  readonly asker: Asker;
  /** The sources that are looked at, as far as is known. */
  readonly lookedAt: () => ReadonlySet<MemorySource>;
}

export function checkSearch(
  query: string,
  options: MemorySearchOptions,
  { settings, asker, lookedAt }: SearchFacts,
): CheckedSearch {
  if (typeof query !== "string") throw invalid("query", "a string", query);
  checkObject("options", options);
  checkSignal(options.signal);
  if (options.onDebug !== undefined && typeof options.onDebug !== "function")
    throw invalid("onDebug", "a function", options.onDebug);
  const notes: string[] = [];
  const text = cut(query);
  if (text !== query) notes.push(`the query was cut to its first ${queryLimit} characters`);
  const audience = checkSessionKey(options.sessionKey, asker);
  if (audience === "shared") notes.push("private notes are left out in a shared session");
  const maxResults = checkMaxResults(
    options.maxResults ?? settings.query.maxResults ?? options.defaultMaxResults ?? usualMaxResults,
  );
  return {
    query: text,
    options: {
      maxResults,
      maxTokens: checkMaxTokens(options.maxTokens ?? roomFor(maxResults, options, settings)),
      minScore: checkMinScore(options.minScore ?? settings.query.minScore),
      strict: options.minScore !== undefined,
      sources: options.sources === undefined ? [...settings.sources] : checkSources(options.sources, lookedAt(), notes),
      sessionKey: options.sessionKey,
      audience,
      since: checkTime("since", options.since),
      until: checkTime("until", options.until),
      order: checkOrder(options.order ?? "relevance"),
      keywordsOnly: checkFlag("keywordsOnly", options.keywordsOnly),
      // What a score is made of depends on all notes.
      explain: checkFlag("explain", options.explain) && audience === "private",
    },
    notes,
  };
}

/** Who reads along in the session that asks, see `audienceOf`. Throws for a key that belongs to another agent. */
function checkSessionKey(sessionKey: string | undefined, { agentId, ownerAllowFrom }: Asker): SessionAudience {
  if (sessionKey !== undefined && (typeof sessionKey !== "string" || sessionKey.trim() === ""))
    throw invalid("sessionKey", "the key of a session, as the host names it", sessionKey);
  return audienceOf(sessionKey, agentId, ownerAllowFrom);
}

function checkMaxResults(value: number): number {
  if (!Number.isInteger(value) || value < 1 || value > maxResultsLimit)
    throw invalid("maxResults", `a whole number from 1 to ${maxResultsLimit}`, value);
  return value;
}

/**
 * The budget of a search that names none. Where a number of results is asked for, each has the room that it has among the
 * usual six; who gives a default for it, as the tools do, is led by the budget.
 */
function roomFor(
  maxResults: number,
  { defaultMaxResults }: MemorySearchOptions,
  { query }: MemorySearchSettings,
): number {
  if (defaultMaxResults !== undefined || maxResults <= usualMaxResults) return query.maxTokens;
  return Math.min(tokenLimits[1], Math.round((query.maxTokens * maxResults) / usualMaxResults));
}

function checkMaxTokens(value: number): number {
  const [least, most] = tokenLimits;
  if (!Number.isInteger(value) || value < least || value > most)
    throw invalid("maxTokens", `a whole number from ${least} to ${most}`, value);
  return value;
}

function checkMinScore(value: number): number {
  if (typeof value !== "number" || !(value >= 0 && value <= 1))
    throw invalid("minScore", "a number from 0 to 1", value);
  return value;
}

/** Which time it is, and whether it is one, the manager reads. */
function checkTime(name: "since" | "until", value: string | undefined): string | undefined {
  if (value !== undefined && (typeof value !== "string" || value.trim() === "" || value.length > longestTime))
    throw invalid(name, `a day or a time, ${timeForms}`, value);
  return value;
}

function checkOrder(value: SearchOrder): SearchOrder {
  if (!orders.includes(value)) throw invalid("order", `one of ${orders.join(", ")}`, value);
  return value;
}

/** An option that is on or off; off if left out. */
export function checkFlag(name: string, value: boolean | undefined): boolean {
  if (value !== undefined && typeof value !== "boolean") throw invalid(name, "true or false", value);
  return value === true;
}

/** Names a note, a line of it, or the text of a line. */
export function checkWhyTarget(target: WhyTarget): WhyTarget {
  checkObject("target", target);
  const { path, line, text } = target;
  for (const [name, value] of Object.entries({ path, text }))
    if (value !== undefined && (typeof value !== "string" || value.trim() === "" || value.includes("\0")))
      throw invalid(`target.${name}`, "a text that is not empty", value);
  if ((path === undefined) === (text === undefined)) throw invalid("target", "a path or a text", target);
  if (line !== undefined && (!Number.isSafeInteger(line) || line < 1 || path === undefined))
    throw invalid("target.line", "a line number of a path, 1 or more", line);
  return { path, line, text };
}

function checkSources(
  given: readonly MemorySource[],
  looked: ReadonlySet<MemorySource>,
  notes: string[],
): MemorySource[] {
  if (!Array.isArray(given) || given.length === 0) throw invalid("sources", "a list of at least one source", given);
  const known = new Set<MemorySource>(["memory", "sessions", "journal", ...clientSources, ...looked]);
  for (const source of given) {
    if (typeof source !== "string" || source.trim() === "")
      throw invalid("sources", "a list of non-empty strings", given);
    if (!known.has(source)) throw invalid("sources", `made of the known sources (${[...known].join(", ")})`, source);
  }
  const asked = [...new Set(given)];
  // Nothing found in a source that is not looked at is no answer; the report has to say so.
  for (const source of asked)
    if (!looked.has(source)) notes.push(`"${source}" is not among memorySearch.sources, so nothing of it is indexed`);
  return asked;
}

/** The first characters of a query that is too long, by code point, so that no character is cut in two. */
function cut(query: string): string {
  if (query.length <= queryLimit) return query;
  let end = 0;
  let count = 0;
  for (const character of query) {
    if (count === queryLimit) break;
    end += character.length;
    count += 1;
  }
  return query.slice(0, end);
}

export function checkRead(params: MemoryReadParams, asker: Asker): Omit<ManagerReadParams, "signal"> {
  checkObject("params", params);
  checkSignal(params.signal);
  const { relPath, from = 1, lines = defaultLines } = params;
  checkPath(relPath);
  if (!Number.isSafeInteger(from) || from < 1) throw invalid("from", "a line number, 1 or more", from);
  if (!Number.isSafeInteger(lines) || lines < 1) throw invalid("lines", "a number of lines, 1 or more", lines);
  return { relPath, from, lines, audience: checkSessionKey(params.sessionKey, asker) };
}

/** The path of a file that is to be described. */
export function checkDescribe(params: { relPath: string; signal?: AbortSignal | undefined }): string {
  checkObject("params", params);
  checkSignal(params.signal);
  const { relPath } = params;
  checkPath(relPath);
  return relPath;
}

/** How many files are to be listed. */
export function checkListing(options: { limit?: number | undefined; signal?: AbortSignal | undefined }): number {
  checkProbe(options);
  const { limit = mostListed } = options;
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > mostListed)
    throw invalid("limit", `a number of files, 1 to ${mostListed}`, limit);
  return limit;
}

const mostNear = 50;
const usualNear = 8;

/** Which passage it is whose neighbours are wanted. */
export function checkNear(params: {
  relPath: string;
  startLine: number;
  limit?: number | undefined;
  signal?: AbortSignal | undefined;
}): { relPath: string; startLine: number; limit: number } {
  const relPath = checkDescribe(params);
  const { startLine, limit = usualNear } = params;
  if (!Number.isSafeInteger(startLine) || startLine < 1)
    throw invalid("startLine", "a line number, 1 or more", startLine);
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > mostNear)
    throw invalid("limit", `a number of passages, 1 to ${mostNear}`, limit);
  return { relPath, startLine, limit };
}

/** What is to be drawn on a map besides, undefined for a blank query, and how exactly. */
export function checkMap(options: {
  query?: string | undefined;
  dimensions?: number | undefined;
  signal?: AbortSignal | undefined;
}): { query: string | undefined; dimensions: number } {
  checkProbe(options);
  const { query, dimensions = 2 } = options;
  if (!Number.isSafeInteger(dimensions) || dimensions < 2 || dimensions > 24)
    throw invalid("dimensions", "a whole number from 2 to 24", dimensions);
  if (query !== undefined && typeof query !== "string") throw invalid("query", "a string", query);
  return { query: query === undefined || query.trim() === "" ? undefined : cut(query), dimensions };
}

function checkPath(relPath: unknown): asserts relPath is string {
  if (typeof relPath !== "string" || relPath.trim() === "")
    throw invalid("relPath", "the path of a memory file", relPath);
  if (relPath.includes("\0")) throw invalid("relPath", "a path without NUL characters", relPath);
}

export interface CheckedSync extends Omit<ManagerSyncParams, "signal" | "progress"> {
  progress: ((update: SyncProgress) => void) | undefined;
}

export function checkSync(params: MemorySyncParams): CheckedSync {
  checkObject("params", params);
  checkSignal(params.signal);
  const { reason = "application", force = false, wait = true, sessions, progress } = params;
  if (typeof reason !== "string" || reason.trim() === "")
    throw invalid("reason", "a few words that say what asked for the sync", reason);
  if (typeof force !== "boolean") throw invalid("force", "true or false", force);
  if (progress !== undefined && typeof progress !== "function") throw invalid("progress", "a function", progress);
  if (typeof wait !== "boolean") throw invalid("wait", "true or false", wait);
  if (sessions !== undefined && !(Array.isArray(sessions) && sessions.every(isSessionTarget)))
    throw invalid("sessions", "a list of objects with a sessionId", sessions);
  return { reason, force, wait, progress, ...(sessions === undefined ? {} : { sessions: [...sessions] }) };
}

function isSessionTarget(value: unknown): boolean {
  return (
    typeof value === "object" &&
    value !== null &&
    "sessionId" in value &&
    typeof value.sessionId === "string" &&
    value.sessionId.trim() !== ""
  );
}

export function checkProbe(options: { signal?: AbortSignal | undefined }): void {
  checkObject("options", options);
  checkSignal(options.signal);
}

function checkObject(name: string, value: unknown): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid(name, "an object", value);
}

export function checkSignal(signal: unknown): void {
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw invalid("signal", "an AbortSignal", signal);
}

/** The forms of a time, for messages. */
export const timeForms = 'such as 2026-03-05, 2026-03, 2026, "yesterday" or "last week"';

/** Names the argument, what it has to be, and what was given. */
export function invalid(name: string, wanted: string, given: unknown): MemoryError {
  return new MemoryError("INVALID_ARGUMENT", `${name} must be ${wanted}, not ${show(given)}`);
}

/** A value as it may stand in a message: short, on one line. */
export function show(value: unknown): string {
  if (typeof value === "string")
    return JSON.stringify(value.length > 80 ? `${value.slice(0, 80).toWellFormed()}…` : value);
  if (typeof value === "function") return "a function";
  if (typeof value === "symbol" || typeof value === "bigint") return `a ${typeof value}`;
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (typeof value === "object" && value !== null) return "an object";
  return String(value);
}
