import assert from "node:assert/strict";
import { type StoreCheck, chunkOf, exactly, fileOf, hashOf, rowsWith, textsWith } from "./lab.ts";

const filler = Array.from({ length: 40 }, (_, index) =>
  fileOf(`filler/${index}.md`, [`nothing to see here ${index}x`]),
);

/** What a store answers to words. */
export const keywordChecks: readonly StoreCheck[] = [
  {
    name: "keyword: a row names its chunk and has a score, and no more is needed of it",
    async run({ store }) {
      const chunk = { ...chunkOf("two lines\nof 文字 🙂", 7), context: "Heading > Part", terms: "banana" };
      await store.replaceFiles([{ ...fileOf("memory/a.md", []), chunks: [chunk] }]);
      const [row, ...more] = await rowsWith(store, "banana");
      assert.deepEqual(more, []);
      const { path, source, startLine, hash, score } = row ?? assert.fail("it was not found");
      assert.deepEqual([path, source, startLine, hash], ["memory/a.md", "memory", 7, chunk.hash]);
      assert.ok(score > 0, "a score is positive");
    },
  },
  {
    name: "keyword: a chunk matches when it holds one of the terms",
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["red"]), fileOf("b.md", ["green"]), fileOf("c.md", ["blue"])]);
      assert.deepEqual(await textsWith(store, "red", "green"), ["green", "red"]);
    },
  },
  {
    name: "keyword: rows come best first and every score is positive",
    async run({ store }) {
      const texts = [
        "rare common",
        "common common common",
        "common and a good many other words beside it",
        "rare rare rare common",
      ];
      await store.replaceFiles([...filler, ...texts.map((text, index) => fileOf(`${index}.md`, [text]))]);
      const { rows } = await store.searchKeyword({ terms: exactly("rare", "common"), sources: ["memory"], limit: 10 });
      const scores = rows.map((row) => row.score);
      assert.deepEqual(
        scores,
        scores.toSorted((left, right) => right - left),
      );
      assert.ok(
        scores.every((score) => score > 0 && Number.isFinite(score)),
        scores.join(" "),
      );
      assert.deepEqual(
        rows.map((row) => row.hash),
        [3, 0, 1, 2].map((index) => hashOf(texts[index] ?? "")),
        "rarity, frequency and length decide, as BM25 says",
      );
    },
  },
  {
    name: "keyword: a term in every chunk still finds them, with positive scores",
    async run({ store }) {
      await store.replaceFiles(["one", "two", "three"].map((word) => fileOf(`${word}.md`, [`everywhere ${word}`])));
      const rows = await rowsWith(store, "everywhere");
      assert.equal(rows.length, 3);
      assert.ok(rows.every((row) => row.score > 0));
    },
  },
  {
    name: "keyword: limit cuts the worst",
    async run({ store }) {
      await store.replaceFiles([
        ...filler,
        fileOf("a.md", ["word"]),
        fileOf("b.md", ["word with some more beside it"]),
        fileOf("c.md", ["word word"]),
      ]);
      const all = await store.searchKeyword({ terms: exactly("word"), sources: ["memory"], limit: 10 });
      const two = await store.searchKeyword({ terms: exactly("word"), sources: ["memory"], limit: 2 });
      assert.equal(all.rows.length, 3);
      assert.deepEqual(two.rows, all.rows.slice(0, 2));
    },
  },
  {
    name: "keyword: sources are filtered before the limit",
    async run({ store }) {
      const near = Array.from({ length: 500 }, (_, index) =>
        fileOf(`sessions/${index}.jsonl`, ["needle needle needle"], { source: "sessions" }),
      );
      await store.replaceFiles([
        ...near,
        fileOf("memory/a.md", ["a needle among a good many other words of this one line"]),
      ]);
      const { rows } = await store.searchKeyword({ terms: exactly("needle"), sources: ["memory"], limit: 1 });
      assert.deepEqual(
        rows.map((row) => row.path),
        ["memory/a.md"],
      );
      const none = await store.searchKeyword({ terms: exactly("needle"), sources: ["nobody's"], limit: 5 });
      assert.deepEqual(none.rows, []);
    },
  },
  {
    name: "keyword: counts say how many chunks there are and how many hold each term",
    async run({ store }) {
      await store.replaceFiles([
        fileOf("a.md", ["planet one", "planet planet two", "plan three"]),
        fileOf("b.md", ["nothing"], { source: "sessions" }),
      ]);
      const terms = [...exactly("two", "planet", "missing"), { term: "plan", prefix: true }];
      const answer = await store.searchKeyword({ terms, sources: ["memory"], limit: 1 });
      assert.equal(answer.chunkCount, 4, "those of every source");
      assert.deepEqual(answer.documentFrequencies, [1, 2, 0, 3]);
      assert.equal(answer.incomplete, undefined);
    },
  },
];
