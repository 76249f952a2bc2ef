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
  if (asked.paths.length + asked.excludedPaths.length > 0) {
    const paths = [...named("path", asked.paths), ...named("-path", asked.excludedPaths)].join(" ");
    add(paths, `${nothing} lies at ${paths}`, { paths: [], excludedPaths: [] });
  }
  if (asked.tags.length + asked.excludedTags.length > 0) {
    const tags = [...asked.tags.map((tag) => `tag:${tag}`), ...asked.excludedTags.map((tag) => `-tag:${tag}`)].join(
      " ",
    );
    add(tags, `${nothing} has ${tags}`, { tags: [], excludedTags: [] });
  }
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

function named(filter: string, patterns: AskedQuery["paths"]): string[] {
  return patterns.map(({ text }) => `${filter}:${text}`);
}

function since(day: number | undefined): string {
  return day === undefined ? "" : `since ${isoDate(day)}`;
}

function until(day: number | undefined): string {
  return day === undefined ? "" : `until ${isoDate(day)}`;
}
