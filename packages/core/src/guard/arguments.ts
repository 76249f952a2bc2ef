import { type MemorySearchSettings, clientSources } from "../contract/config.ts";
import type { ManagerReadParams, ManagerSyncParams, SessionTarget } from "../contract/manager.ts";
import type { MemoryReadParams, MemorySyncParams } from "../contract/memory.ts";
import type { SearchOrder } from "../contract/search-report.ts";
import type { ManagerSearchOptions, MemorySearchOptions, SessionAudience, WhyTarget } from "../contract/search.ts";
import { type Sentence, sentence } from "../contract/sentences.ts";
import type { MemorySource, SyncProgress } from "../contract/status.ts";
import { audienceOf } from "./audience.ts";
import {
  between,
  callable,
  filled,
  flag,
  invalid,
  isObject,
  kindOf,
  line,
  named,
  notePath,
  object,
  oneOf,
  optional,
  readFields,
  required,
  text,
  whole,
} from "./runtime-type-checks.ts";

const usualMaxResults = 6;
const tokenLimits = [100, 4000] as const;
const queryLimit = 10_000;
const longestTime = 200;

export const timeForms = 'such as 2026-03-05, 2026-03, 2026, "yesterday" or "last week"';

const time = optional(
  kindOf<string>(`a day or a time, ${timeForms}`, (value) => filled.is(value) && value.length <= longestTime),
  undefined,
);
const searchFields = {
  onDebug: optional(callable, undefined),
  since: time,
  until: time,
  keywordsOnly: optional(flag, false),
  fresh: optional(flag, true),
  explain: optional(flag, false),
};
const orders: readonly SearchOrder[] = ["relevance", "newest", "oldest"];

export interface CheckedSearch {
  query: string;
  options: Omit<ManagerSearchOptions, "signal" | "onDebug">;
  notes: Sentence[];
}

export interface SearchFacts {
  readonly settings: MemorySearchSettings;
  /** Whose sessions may ask for what is private, see `audienceOf`. */
  readonly agentId: string;
  readonly ownerAllowFrom: readonly string[];
  readonly indexedSources: () => ReadonlySet<MemorySource>;
}

export function checkSearch(query: string, options: MemorySearchOptions, facts: SearchFacts): CheckedSearch {
  const { settings } = facts;
  const written = required(text)("query", query);
  const { onDebug: _, ...fields } = readFields(searchFields, options);
  const audience = checkAudience(options.sessionKey, facts);
  const maxResults = required(whole(1, 200))(
    "maxResults",
    options.maxResults ?? settings.query.maxResults ?? options.defaultMaxResults ?? usualMaxResults,
  );
  const notes: Sentence[] = [];
  const shortened = cutQuery(written);
  if (shortened !== written) notes.push(sentence("query.cut", { count: queryLimit }));
  if (audience === "shared") notes.push(sentence("query.shared"));
  return {
    query: shortened,
    options: {
      ...fields,
      maxResults,
      maxTokens: required(whole(...tokenLimits))(
        "maxTokens",
        options.maxTokens ?? tokenBudget(maxResults, options, settings),
      ),
      minScore: required(between(0, 1))("minScore", options.minScore ?? settings.query.minScore),
      strict: options.minScore !== undefined,
      sources:
        options.sources === undefined
          ? [...settings.sources]
          : checkSources(options.sources, facts.indexedSources(), notes),
      sessionKey: options.sessionKey,
      audience,
      order: required(oneOf(orders))("order", options.order ?? "relevance"),
      explain: fields.explain && audience === "private",
    },
    notes,
  };
}

/** Audience of a session, see `audienceOf`. Throws for a key of another agent. */
function checkAudience(sessionKey: string | undefined, { agentId, ownerAllowFrom }: SearchFacts): SessionAudience {
  const key = optional(named("the key of a session, as the host names it", filled), undefined);
  return audienceOf(key("sessionKey", sessionKey), agentId, ownerAllowFrom);
}

/** Token budget of a search without one: the usual tokens for each requested result, or the configured budget. */
function tokenBudget(
  maxResults: number,
  { defaultMaxResults }: MemorySearchOptions,
  { query }: MemorySearchSettings,
): number {
  if (defaultMaxResults !== undefined || maxResults <= usualMaxResults) return query.maxTokens;
  return Math.min(tokenLimits[1], Math.round((query.maxTokens * maxResults) / usualMaxResults));
}

function checkSources(
  given: readonly MemorySource[],
  indexed: ReadonlySet<MemorySource>,
  notes: Sentence[],
): MemorySource[] {
  if (!Array.isArray(given) || given.length === 0) throw invalid("sources", "a list of at least one source", given);
  const known = new Set<MemorySource>(["memory", "sessions", "journal", ...clientSources, ...indexed]);
  for (const source of given) {
    if (!filled.is(source)) throw invalid("sources", "a list of non-empty strings", given);
    if (!known.has(source)) throw invalid("sources", `made of the known sources (${[...known].join(", ")})`, source);
  }
  const asked = [...new Set(given)];
  // An empty answer from a source that is not indexed must be reported.
  for (const source of asked) if (!indexed.has(source)) notes.push(sentence("query.source", { source }));
  return asked;
}

/** The first characters of a query that is too long, by code point, so that no character is cut in two. */
function cutQuery(query: string): string {
  return query.length <= queryLimit
    ? query
    : Array.from(query.slice(0, 2 * queryLimit))
        .slice(0, queryLimit)
        .join("");
}

/** Parses `notes/x.md`, `notes/x.md:12` or `notes/x.md#L12`; anything else is the text of a line. */
export function whyTarget(written: string): WhyTarget {
  const text = written.trim();
  const named = /^(?<path>\S(?:.*\S)?\.\w{1,8})(?:(?::|#L)(?<line>[1-9]\d{0,8})(?:-L?\d+)?)?$/u.exec(text)?.groups;
  if (named?.["path"] === undefined) return { text };
  return { path: named["path"], ...(named["line"] !== undefined && { line: Number(named["line"]) }) };
}

export function checkWhyTarget(target: WhyTarget): WhyTarget {
  const isText = kindOf<string>("a text that is not empty", (value) => filled.is(value) && !value.includes("\0"));
  required(object)("target", target);
  const path = optional(isText, undefined)("target.path", target.path);
  const content = optional(isText, undefined)("target.text", target.text);
  const { line: row } = target;
  if ((path === undefined) === (content === undefined)) throw invalid("target", "a path or a text", target);
  if (row !== undefined && (!line.is(row) || path === undefined))
    throw invalid("target.line", "a line number of a path, 1 or more", row);
  return { path, line: row, text: content };
}

const readFileFields = {
  relPath: notePath,
  from: optional(line, 1),
  lines: optional(whole(1, Number.MAX_SAFE_INTEGER, "a number of lines, 1 or more"), 120),
};

export function checkRead(params: MemoryReadParams, facts: SearchFacts): Omit<ManagerReadParams, "signal"> {
  return { ...readFields(readFileFields, params), audience: checkAudience(params.sessionKey, facts) };
}

export type CheckedSync = Omit<ManagerSyncParams, "signal" | "progress"> & Pick<MemorySyncParams, "progress">;

const syncFields = {
  reason: optional(named("a few words that say what asked for the sync", filled), "application"),
  force: optional(flag, false),
  progress: optional(kindOf<(update: SyncProgress) => void>(callable.wanted, callable.is), undefined),
  wait: optional(flag, true),
  sessions: optional(
    kindOf<readonly SessionTarget[]>(
      "a list of objects with a sessionId",
      (value) =>
        Array.isArray(value) &&
        value.every((each) => isObject(each) && "sessionId" in each && filled.is(each.sessionId)),
    ),
    undefined,
  ),
};

export function checkSync(params: MemorySyncParams): CheckedSync {
  return readFields(syncFields, params);
}
