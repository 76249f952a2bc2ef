import type { MemorySource } from "@memslot/core";
import { type AskedQuery, filtersOf } from "./asked-query.ts";

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
  /** What filters are called, and what is to be said of them; `left` are those with a minus. */
  const addNamed = (wanted: string[], left: string[], verb: string, change: Partial<AskedQuery>): void => {
    const name = [...wanted, ...left.map((filter) => `-${filter}`)].join(" ");
    const says = wanted.length > 0 ? `${nothing} ${verb} ${name}` : `all that matches ${verb} ${left.join(" or ")}`;
    if (name !== "") add(name, says, change);
  };
  for (const phrase of asked.phrases) {
    const name = `the phrase "${phrase.text}"`;
    add(name, `no note holds ${name}`, { phrases: asked.phrases.filter((other) => other !== phrase) });
  }
  if (asked.excluded.length > 0) {
    const words = asked.excluded.map(({ text }) => `"${text}"`).join(" or ");
    add(`leaving out ${words}`, `all that matches holds ${words}`, { excluded: [] });
  }
  const path = ({ text }: { text: string }): string => `path:${text}`;
  addNamed(asked.paths.map(path), asked.excludedPaths.map(path), "lies at", { paths: [], excludedPaths: [] });
  const tag = (text: string): string => `tag:${text}`;
  addNamed(asked.tags.map(tag), asked.excludedTags.map(tag), "has", { tags: [], excludedTags: [] });
  if (asked.from !== undefined || asked.to !== undefined) {
    const { since, until } = filtersOf(asked);
    const days = [since && `since ${since}`, until && `until ${until}`].filter(Boolean).join(" ");
    add(`the days ${days}`, `${nothing} is of the days ${days}`, { from: undefined, to: undefined });
  }
  if (asked.namesSources)
    add("source:", `${nothing} is of ${asked.sources.join(" or ") || "a source that is searched"}`, {
      sources: allSources,
      namesSources: false,
    });
  return parts.slice(0, mostParts);
}
