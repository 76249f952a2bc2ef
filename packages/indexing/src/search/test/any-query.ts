import { randomFrom, randomText } from "@memslot/test-tools/random";
import { expect } from "vitest";
import type { FakeStore } from "../../../test/support/fake-store.ts";
import type { KeywordQuery } from "../../chunk-store.ts";
import { readTimes } from "../../text/times/read-times.ts";
import { queryTerms } from "../../text/words.ts";
import { notes, now, search, storeWith } from "./search-lab.ts";

/** Whether words were only counted: which languages there are, and how else a word may be written. */
export function isCounted({ method, argument }: FakeStore["calls"][number]): boolean {
  return method === "searchKeyword" && (argument as KeywordQuery).limit === 1;
}

const operators = [
  '"',
  "*",
  "NEAR(",
  "AND",
  "OR NOT",
  "-",
  "^",
  "col:",
  "(",
  ")",
  "'; --",
  "\0",
  "%",
  "budget",
  "数据库",
];

export async function expectAnyQueryIsAnswered({ seed, queries }: { seed: number; queries: number }): Promise<void> {
  const store = await storeWith(notes);
  const random = randomFrom(seed);
  for (let round = 0; round < queries; round++) {
    const query = Array.from({ length: random.below(8) }, () =>
      random.chance(0.5) ? random.pick(operators) : randomText(random, 6),
    ).join(" ");
    store.calls.length = 0;
    const { results } = await search(store, query);
    expect(new Set(results.map(({ path, startLine }) => `${path}:${startLine}`)).size).toBe(results.length);
    for (const { score, snippet } of results) {
      expect(score).toBeGreaterThan(0);
      expect(score).toBeLessThan(1);
      expect(snippet.length).toBeLessThanOrEqual(700);
    }
    for (const call of store.calls) {
      const { terms } = call.argument as KeywordQuery;
      expect(terms.length).toBeGreaterThan(0);
      // What is only counted are words that the question does not hold.
      if (isCounted(call)) continue;
      expect(terms.length).toBeLessThanOrEqual(64);
      // What asks for the notes of a time asks for nothing else.
      if (readTimes(query, { now }).periods.length > 0 && terms.every(({ term }) => /^\d{4}-/u.test(term))) continue;
      expect(terms.map(({ term }) => term)).toEqual(queryTerms(query).map(({ term }) => term));
    }
  }
}
