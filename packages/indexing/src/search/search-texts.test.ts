import { describe, expect, test } from "vitest";
import { chunkMarkdown } from "../text/chunk-markdown.ts";
import { splitLines } from "../text/file-text.ts";
import { type FoundChunk, matchTexts } from "./search-texts.ts";
import { indexTerms } from "../text/words.ts";

function chunksOf(files: Readonly<Record<string, string>>): FoundChunk[] {
  return Object.entries(files).flatMap(([path, text]) =>
    [...chunkMarkdown(splitLines(text), { tokens: 400, overlap: 80 })].map((chunk) => ({
      ...chunk,
      path,
      source: "memory",
      terms: indexTerms(`${chunk.text}\n${chunk.context}`),
    })),
  );
}

const files = {
  "a.md": "The lynx was seen near the old mill.\n",
  "b.md": "A mill grinds corn. The mill is closed.\n",
  "c.md": "Groceries, a walk, supper.\n",
};

function ask(query: string, limit = 100): ReturnType<typeof matchTexts> {
  return matchTexts({ chunks: chunksOf(files), query, chunkCount: 3, limit });
}

describe("the keyword leg over texts that are at hand", () => {
  test("gives those that hold a word, the best first, and how many hold each", async () => {
    const { answer, terms } = await ask("lynx mill");
    expect(answer.rows.map(({ path }) => path)).toEqual(["a.md", "b.md"]);
    expect(answer.rows[0]?.score).toBeGreaterThan(answer.rows[1]?.score ?? 0);
    expect(terms.map(({ term }, index) => [term, answer.documentFrequencies[index]])).toEqual([
      ["lynx", 1],
      ["mill", 2],
    ]);
  });

  test("finds words in another form", async () => {
    expect((await ask("mills")).answer.rows.map(({ path }) => path)).toEqual(["b.md", "a.md"]);
  });

  test("takes a word that stands nowhere as the beginning of one, and leaves it where that is nowhere either", async () => {
    const { answer, terms } = await ask("groc zzz");
    expect(answer.rows.map(({ path }) => path)).toEqual(["c.md"]);
    expect(terms.map(({ term, prefix }) => [term, prefix])).toEqual([
      ["groc", true],
      ["zzz", false],
    ]);
  });

  test("gives no more than the limit, and nothing for a query without words", async () => {
    expect((await ask("mill", 1)).answer.rows).toHaveLength(1);
    expect((await ask("!!!")).answer.rows).toEqual([]);
  });

  test("counts the chunks of the whole index, and never fewer than there are here", async () => {
    const chunks = chunksOf(files);
    expect((await matchTexts({ chunks, query: "mill", chunkCount: 500, limit: 9 })).answer.chunkCount).toBe(500);
    expect((await matchTexts({ chunks, query: "mill", chunkCount: 0, limit: 9 })).answer.chunkCount).toBe(3);
  });
});
