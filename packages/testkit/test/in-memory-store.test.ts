import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import type { ChunkStore, FileChunks } from "@memslot/indexing";
import { createInMemoryStore } from "@memslot/testkit";
import { randomFrom } from "../src/helpers/seeded-random.ts";
import data from "./data/in-memory-store.json" with { type: "json" };

function fileOf(path: string, texts: readonly string[]): FileChunks {
  const chunks = texts.map((terms, index) => ({
    startLine: index + 1,
    endLine: index + 1,
    text: terms,
    context: "",
    terms,
    hash: `${path} ${index}`,
  }));
  return { path, source: "memory", hash: path, recipe: "1", chunks };
}

async function scoresOf(store: ChunkStore, words: readonly string[], prefix: boolean): Promise<Map<number, number>> {
  const terms = words.map((term) => ({ term, prefix }));
  const { rows } = await store.searchKeyword({ terms, sources: ["memory"], limit: 1000 });
  return new Map(rows.map((row) => [row.startLine, row.score]));
}

describe("in-memory store", () => {
  test("BM25 is that of SQLite's FTS5, for words and for prefixes", async () => {
    const random = randomFrom(42);
    const vocabulary = ["ant", "antler", "bee", "beetle", "cow", "crow", "dog", "eel", "elk", "fox"];
    const texts = Array.from({ length: 60 }, () =>
      Array.from(
        { length: 1 + Math.floor(random() * 30) },
        () => vocabulary[Math.floor(random() ** 2 * vocabulary.length)],
      ).join(" "),
    );
    const store = createInMemoryStore();
    await store.replaceFiles([fileOf("a.md", texts)]);

    const database = new DatabaseSync(":memory:");
    database.exec("create virtual table chunks using fts5(terms)");
    for (const text of texts) database.prepare("insert into chunks values (?)").run(text);
    const ask = database.prepare("select rowid as line, -bm25(chunks) as score from chunks where chunks match ?");
    for (const [words, mark] of data.questions as [string[], string][]) {
      const expected = ask.all(words.map((word) => `"${word}"${mark}`).join(" OR "));
      const scores = await scoresOf(store, words, mark === "*");
      expect(scores.size).toBe(expected.length);
      for (const { line, score } of expected) expect(scores.get(Number(line))).toBeCloseTo(Number(score), 9);
    }
    database.close();
  });

  test("a vector of another width is refused", async () => {
    const store = createInMemoryStore();
    const space = { provider: "fake", model: "m", providerKey: "", dimensions: 3 };
    const vector = new Float32Array(4);
    await expect(store.putVectors(space, [{ hash: "x", vector }])).rejects.toThrow("4 numbers in a space of 3");
    await expect(store.searchVector({ space, vector, sources: ["memory"], limit: 1 })).rejects.toThrow(
      "4 numbers in a space of 3",
    );
  });

  test("what comes out is not what went in, so that changing one leaves the other", async () => {
    const store = createInMemoryStore();
    const file = fileOf("a.md", ["ant"]);
    await store.replaceFiles([file]);
    file.hash = "changed";
    const [listed] = await store.listFiles();
    expect(listed?.hash).toBe("a.md");
    if (listed !== undefined) listed.hash = "changed too";
    expect((await store.listFiles())[0]?.hash).toBe("a.md");
  });
});
