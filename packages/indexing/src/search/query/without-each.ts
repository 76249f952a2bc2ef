import type { MemorySource } from "@memslot/core";
import { isoDate } from "../../text/times/calendar.ts";
import type { AskedQuery } from "./asked-query.ts";

/** A question without one of its filters. */
export interface WithoutFilter {
  /** The filter as a person would call it. */
  name: string;
  /** What is to be said where it alone leaves nothing. */
  says: string;
  without: AskedQuery;
}

/** At most so many are tried. */
const mostParts = 6;

/** The question without each of its filters in turn. */
export function withoutEach(asked: AskedQuery, allSources: readonly MemorySource[]): WithoutFilter[] {
  const parts: WithoutFilter[] = [];
  const nothing = asked.words === "" ? "no note" : "nothing that matches";
  const add = (name: string, says: string, change: Partial<AskedQuery>): void =>
    void parts.push({ name, says, without: { ...asked, ...change } });
  for (const phrase of asked.phrases) {
    const name = `the phrase "${phrase.text}"`;
    add(name, `no note holds ${name}`, { phrases: asked.phrases.filter((other) => other !== phrase) });
  }
  if (asked.excluded.length > 0) {
    const words = asked.excluded.map(({ text }) => `"${text}"`).join(" or ");
    add(`leaving out ${words}`, `all that matches holds ${words}`, { excluded: [] });
  }
  const [paths, leftPaths] = [named("path", asked.paths), named("path", asked.excludedPaths)];
  if (paths.length + leftPaths.length > 0)
    add(...saysOf(paths, leftPaths, { nothing, verb: "lies at" }), { paths: [], excludedPaths: [] });
  const tagged = (tags: readonly string[]): string[] => tags.map((tag) => `tag:${tag}`);
  const [tags, leftTags] = [tagged(asked.tags), tagged(asked.excludedTags)];
  if (tags.length + leftTags.length > 0)
    add(...saysOf(tags, leftTags, { nothing, verb: "has" }), { tags: [], excludedTags: [] });
  if (asked.from !== undefined || asked.to !== undefined) {
    const days = [since(asked.from), until(asked.to)].filter(Boolean).join(" ");
    add(`the days ${days}`, `${nothing} is of the days ${days}`, { from: undefined, to: undefined });
  }
  if (asked.namesSources)
    add("source:", `${nothing} is of ${asked.sources.join(" or ") || "a source that is searched"}`, {
      sources: allSources,
      namesSources: false,
    });
  return parts.slice(0, mostParts);
}

/** What filters are called, and what is to be said of them; `left` are those with a minus. */
function saysOf(
  wanted: readonly string[],
  left: readonly string[],
  { nothing, verb }: { nothing: string; verb: string },
): [name: string, says: string] {
  const name = [...wanted, ...left.map((filter) => `-${filter}`)].join(" ");
  if (wanted.length > 0) return [name, `${nothing} ${verb} ${name}`];
  return [name, `all that matches ${verb} ${left.join(" or ")}`];
}

function named(filter: string, patterns: AskedQuery["paths"]): string[] {
  return patterns.map(({ text }) => `${filter}:${text}`);
}

function since(day: number | undefined): string {
  return day === undefined ? "" : `since ${isoDate(day)}`;
}

function until(day: number | undefined): string {
  return day === undefined ? "" : `until ${isoDate(day)}`;
}
