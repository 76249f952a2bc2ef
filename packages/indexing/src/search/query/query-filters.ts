import {
  type ManagerSearchOptions,
  MemoryError,
  type MemorySource,
  type SearchFilters,
  type SearchOrder,
  clientSources,
  type Sentence,
} from "@memslot/core";
import { createGlob, globProblem, sentence, timeForms } from "@memslot/core/host";
import { redactSecrets } from "../../secrets/redact-secrets.ts";
import { furtherData, withoutData } from "../../text/encoded-data.ts";
import { dayNumber, type Days, isoDate, localDay, monthDays, oneDay, yearDays } from "../../text/times/calendar.ts";
import { parseQuery, type Phrase, phraseOf, type QueryPart, type WrittenFilter } from "./parse-query.ts";
import { readTimes } from "../../text/times/read-times.ts";

export interface AskedQuery {
  /** What is to be looked for: the query without its filters. Empty: all that fits is asked for. */
  words: string;
  /** All of them are in each result. */
  phrases: readonly Phrase[];
  /** None of them is. */
  excluded: readonly Phrase[];
  paths: readonly PathPattern[];
  excludedPaths: readonly PathPattern[];
  /** In lower case. The note has all of them, or tags below them. */
  tags: readonly string[];
  excludedTags: readonly string[];
  /** Those of the options that the query lets in. */
  sources: readonly MemorySource[];
  /** True if the query names sources. */
  namesSources: boolean;
  from: number | undefined;
  to: number | undefined;
  order: SearchOrder;
  /** What looks like a filter and is taken for words, each with the reason. */
  unread: readonly Sentence[];
}

interface PathPattern {
  text: string;
  matches(path: string): boolean;
}

/** Sources that `source:` may name besides those of the options. */
const knownSources: readonly MemorySource[] = ["memory", "sessions", "journal", ...clientSources];

/** Most questions: too short for embedded data, without the characters of filters, phrases and excluded words. */
const wordsAlone = /^[^\n\0:：\-"“„«「『”»＂]{1,199}$/u;

/** Parses a query. Throws `INVALID_ARGUMENT` for invalid `since` and `until` only. `pasted`: plain text parts. */
export function askedQuery(
  written: string,
  options: ManagerSearchOptions,
  now: Date,
  pasted: ReadonlyMap<string, string> = new Map(),
): AskedQuery {
  const isWords = wordsAlone.test(written);
  const query = isWords ? written : withoutData(written.split("\n")).join("\n").replaceAll(furtherData, "");
  const words: string[] = [];
  const phrases: Phrase[] = [];
  const excluded: Phrase[] = [];
  const filters: WrittenFilter[] = [];
  const unread: Sentence[] = [];
  const parts: QueryPart[] = isWords ? [{ kind: "words", text: written.trim() }] : parseQuery(query);
  for (const part of parts) {
    const literal = pasted.get(part.text);
    const why = literal
      ? sentence("unread.note", { text: JSON.stringify(literal.trim()) })
      : problemOf(part, options, now, words.at(-1));
    if (why !== undefined) unread.push(sentence("unread.words", { text: part.text, why }));
    if (part.kind === "words" || why !== undefined) words.push(part.text);
    else if (part.kind === "filter") filters.push(part);
    else {
      const phrase = phraseOf(redactSecrets(part.value));
      (part.isExcluded ? excluded : phrases).push(phrase);
      if (!part.isExcluded) words.push(part.value);
    }
  }
  const valuesOf = (name: WrittenFilter["name"], isExcluded = false): string[] =>
    filters.filter((filter) => filter.name === name && filter.isExcluded === isExcluded).map(({ value }) => value);
  const [sources, left] = [valuesOf("source"), valuesOf("source", true)];
  // With a date range, a query without words asks for all its notes.
  const { since, until, order = "relevance" } = options;
  const isPlain =
    parts.every(({ kind }) => kind === "words") && order === "relevance" && (since ?? until) === undefined;
  return {
    words: isPlain ? query : wordsIn(words.join(" ")),
    phrases,
    excluded,
    paths: valuesOf("path").map(patternOf),
    excludedPaths: valuesOf("path", true).map(patternOf),
    tags: valuesOf("tag").map(tagOf),
    excludedTags: valuesOf("tag", true).map(tagOf),
    sources: options.sources.filter(
      (source) => (sources.length === 0 || sources.includes(source)) && !left.includes(source),
    ),
    namesSources: sources.length + left.length > 0,
    ...daysOf(options, { after: valuesOf("after"), before: valuesOf("before") }, now),
    order,
    unread,
  };
}

export function isFiltered(asked: AskedQuery): boolean {
  return filtersRows(asked) || asked.namesSources || asked.order !== "relevance" || asked.unread.length > 0;
}

export function filtersRows({ from, to, ...asked }: AskedQuery): boolean {
  const lists = [asked.phrases, asked.excluded, asked.paths, asked.excludedPaths, asked.tags, asked.excludedTags];
  return from !== undefined || to !== undefined || lists.some(({ length }) => length > 0);
}

export function filtersOf(asked: AskedQuery): SearchFilters {
  const textsOf = (list: readonly { text: string }[]): readonly string[] | undefined =>
    filled(list.map(({ text }) => text));
  return {
    words: asked.words,
    phrases: textsOf(asked.phrases),
    excluded: textsOf(asked.excluded),
    paths: textsOf(asked.paths),
    excludedPaths: textsOf(asked.excludedPaths),
    tags: filled(asked.tags),
    excludedTags: filled(asked.excludedTags),
    sources: asked.namesSources ? asked.sources : undefined,
    since: asked.from === undefined ? undefined : isoDate(asked.from),
    until: asked.to === undefined ? undefined : isoDate(asked.to),
    order: asked.words === "" && asked.order === "relevance" ? "newest" : asked.order,
    unread: filled(asked.unread.map(({ reason }) => reason)),
    unreadReasons: filled(asked.unread),
  };
}

function filled<Item>(list: readonly Item[]): readonly Item[] | undefined {
  return list.length === 0 ? undefined : list;
}

/** Why a filter or a phrase cannot be read as one. `before`: the words before it. */
function problemOf(
  part: QueryPart,
  { sources }: Pick<ManagerSearchOptions, "sources">,
  now: Date,
  before = "",
): Sentence | undefined {
  if (part.kind === "words" || (part.kind === "phrase" && part.isExcluded)) return undefined;
  if (part.kind === "phrase") {
    if (/^\S*\*\S*$/u.test(part.value)) return sentence("unread.pattern");
    return /(?:^|\s)--?\p{L}[\p{L}\p{N}_-]*=?$/u.test(before) ? sentence("unread.option") : undefined;
  }
  const { name, value, isExcluded } = part;
  if (name === "path") {
    const problem = globProblem(value);
    return isPattern(value) && problem !== undefined ? sentence("unread.glob", { problem }) : undefined;
  }
  if (name === "tag") return /[\p{L}\p{N}]/u.test(value) ? undefined : sentence("unread.tag");
  if (name === "source") {
    const known = [...new Set([...knownSources, ...sources])];
    return known.includes(value) ? undefined : sentence("unread.source", { sources: known.join(", ") });
  }
  if (isExcluded) return sentence("unread.opposite", { name: name === "after" ? "before" : "after" });
  return readDays(value, now) === undefined ? sentence("unread.time", { forms: timeForms }) : undefined;
}

/** `after:` starts at the date, `before:` ends before it: `after:2024 before:2025` is 2024. */
function daysOf(
  options: Pick<ManagerSearchOptions, "since" | "until">,
  { after, before }: { after: readonly string[]; before: readonly string[] },
  now: Date,
): Pick<AskedQuery, "from" | "to"> {
  const named = (name: "since" | "until"): ReturnType<typeof readDays> => {
    const value = options[name];
    const days = value === undefined ? undefined : readDays(value, now);
    if (value !== undefined && days === undefined)
      throw new MemoryError(
        "INVALID_ARGUMENT",
        `${name} must be a day or a time, ${timeForms}, not ${JSON.stringify(value)}`,
      );
    return days;
  };
  const [since, until] = [named("since")?.from, named("until")?.to];
  if (since !== undefined && until !== undefined && since > until)
    throw new MemoryError(
      "INVALID_ARGUMENT",
      `since must not be after until: ${isoDate(since)} is after ${isoDate(until)}`,
    );
  const firsts = [since, ...after.map((value) => readDays(value, now)?.from)].filter((day) => day !== undefined);
  const starts = before.map((value) => readDays(value, now)?.from).filter((day) => day !== undefined);
  const lasts = [until, ...starts.map((day) => day - 1)].filter((day) => day !== undefined);
  return {
    from: firsts.length === 0 ? undefined : Math.max(...firsts),
    to: lasts.length === 0 ? undefined : Math.min(...lasts),
  };
}

function wordsIn(text: string): string {
  return /[\p{L}\p{N}\p{S}]/u.test(text) ? text : "";
}

function isPattern(value: string): boolean {
  return /[*?[{]/u.test(value);
}

/** Without wildcards it is a path prefix, with either slash. Case-insensitive. */
function patternOf(text: string): PathPattern {
  if (!isPattern(text)) {
    const beginning = withoutDot(withSlashes(folded(text)));
    return { text, matches: (path) => withSlashes(folded(path)).startsWith(beginning) };
  }
  const glob = createGlob(withoutDot(folded(text)));
  // A pattern for folders is one for what is below them.
  return { text, matches: (path) => glob.matches(folded(path)) };
}

function withSlashes(path: string): string {
  return path.replaceAll("\\", "/");
}

function withoutDot(path: string): string {
  return path.replace(/^(?:\.?\/)+/u, "");
}

function tagOf(value: string): string {
  return folded(value).replace(/^#+/u, "").replace(/\/+$/u, "");
}

export function folded(name: string): string {
  return name.normalize("NFC").toLowerCase();
}

const isoForm = /^(?<y>\d{4})(?:-(?<m>\d{1,2})(?:-(?<d>\d{1,2}))?)?$/u;
const momentForm = /^\d{4}-\d{2}-\d{2}T[\d:.]+(?:Z|[+-]\d{2}:?\d{2})?$/u;

/** The days of a text that is only a date or date expression; otherwise undefined. */
export function readDays(text: string, now: Date): Days | undefined {
  const given = text.trim();
  const { y, m, d } = isoForm.exec(given)?.groups ?? {};
  if (y !== undefined) {
    if (m === undefined) return dayNumber(Number(y), 1, 1) === undefined ? undefined : yearDays(Number(y));
    if (d !== undefined) return oneDay(Number(y), Number(m), Number(d));
    return Number(m) >= 1 && Number(m) <= 12 ? monthDays(Number(y), Number(m)) : undefined;
  }
  if (momentForm.test(given)) {
    const moment = new Date(given);
    if (Number.isNaN(moment.getTime())) return undefined;
    const day = localDay(moment);
    return { from: day, to: day };
  }
  const { periods, rest } = readTimes(given, { now });
  const named = periods.filter(({ rank }) => rank === 0);
  const [period] = named;
  return named.length === 1 && period !== undefined && !/[\p{L}\p{N}]/u.test(rest) ? period : undefined;
}
