import type { ManagerSearchOptions, MemorySearchResult } from "@memslot/core";
import { expect, test } from "vitest";
import { searchOptions, settingsWith } from "../../../test/support/context.ts";
import { createFakeStore } from "../../../test/support/fake-store.ts";
import type { ChunkIndex, IndexedFile } from "../../chunk-index.ts";
import { indexTerms } from "../../text/words.ts";
import { askedQuery } from "./asked-query.ts";
import { searchFiltered } from "./filtered-search.ts";

const now = new Date(2026, 2, 15);

/** An index of one chunk for each text, and how many rows were read of it. */
async function indexOf(texts: readonly string[]): Promise<{
  rows: () => number;
  ask: (query: string, change?: Partial<ManagerSearchOptions>) => Promise<MemorySearchResult[]>;
}> {
  const fake = createFakeStore();
  await fake.replaceFiles(
    texts.map((text, at): IndexedFile => {
      const chunk = { startLine: 1, endLine: 1, text, context: "", terms: indexTerms(text), hash: `${at}` };
      return { path: `${at}.md`, source: "memory", hash: text, mtimeMs: 1, size: 1, recipe: "r", chunks: [chunk] };
    }),
  );
  let rows = 0;
  const store: ChunkIndex = {
    ...fake,
    async searchKeyword(query) {
      const answer = await fake.searchKeyword(query);
      rows += answer.rows.length;
      return answer;
    },
  };
  return {
    rows: () => rows,
    async ask(query, change = {}) {
      rows = 0;
      const options = { ...searchOptions(change), onDebug: () => undefined };
      const asked = askedQuery(query, options, now);
      const scope = (): undefined => undefined;
      const settings = settingsWith();
      const input = { settings, backend: "test", query, options, asked, scope, now, store, vectors: undefined };
      return (await searchFiltered(input)).results;
    },
  };
}

test("a phrase is looked for by the word of it that stands in the fewest chunks, however common the others are", async () => {
  const crowd = Array.from({ length: 3000 }, (_, at) => `the house of the house number ${at}`);
  const { ask, rows } = await indexOf([...crowd, "a zebra house stands there"]);
  const found = await ask('"zebra house"');
  expect(found.map(({ path }) => path)).toEqual(["3000.md"]);
  expect(rows()).toBeLessThan(10);
  expect((await ask('"house of the zebra"')).length).toBe(0);
});

test("what fits is asked for until there is enough, and no further", async () => {
  const crowd = Array.from({ length: 3000 }, (_, at) => `otter otter otter ${at % 2 === 0 ? "holt" : "river"} ${at}`);
  const { ask, rows } = await indexOf(crowd);
  const found = await ask("otter -holt", { maxResults: 5 });
  expect(found.length).toBe(5);
  for (const { snippet } of found) expect(snippet).toContain("river");
  // 100 are wanted: of 400 there are as many that fit.
  expect(rows()).toBeLessThanOrEqual(100 + 400);
});
