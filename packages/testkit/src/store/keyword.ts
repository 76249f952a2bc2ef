import assert from "node:assert/strict";
import { type StoreCheck, chunkOf, exactly, fileOf, textsWith } from "./lab.ts";

const filler = Array.from({ length: 40 }, (_, index) =>
  fileOf(`filler/${index}.md`, [`nothing to see here ${index}x`]),
);

/** What a store answers to words. */
export const keywordChecks: readonly StoreCheck[] = [
  {
    name: "keyword: a row carries its chunk as it was given",
    needs: ["keyword"],
    async run({ store }) {
      const chunk = { ...chunkOf("two lines\nof 文字 🙂", 7), context: "Heading > Part", terms: "banana" };
      await store.replaceFiles([{ ...fileOf("memory/a.md", []), chunks: [chunk] }]);
      const { rows } = await store.searchKeyword({ terms: exactly("banana"), sources: ["memory"], limit: 5 });
      assert.equal(rows.length, 1);
      const { id: _id, score, ...row } = rows[0] ?? assert.fail();
      assert.deepEqual(row, {
        path: "memory/a.md",
        source: "memory",
        startLine: 7,
        endLine: 8,
        text: chunk.text,
        context: chunk.context,
      });
      assert.ok(score > 0, "a score is positive");
    },
  },
  {
    name: "keyword: a chunk matches when it holds one of the terms",
    needs: ["keyword"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["red"]), fileOf("b.md", ["green"]), fileOf("c.md", ["blue"])]);
      assert.deepEqual((await textsWith(store, "red", "green")).toSorted(), ["green", "red"]);
    },
  },
  {
    name: "keyword: rows come best first and every score is positive",
    needs: ["keyword"],
    async run({ store }) {
      const texts = [
        "rare common",
        "common common common",
        "common and a good many other words beside it",
        "rare rare rare common",
      ];
      await store.replaceFiles([...filler, ...texts.map((text, index) => fileOf(`${index}.md`, [text]))]);
      const { rows } = await store.searchKeyword({ terms: exactly("rare", "common"), sources: ["memory"], limit: 10 });
      assert.equal(rows.length, 4);
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
        rows.map((row) => row.text),
        [texts[3], texts[0], texts[1], texts[2]],
        "rarity, frequency and length decide, as BM25 says",
      );
    },
  },
  {
    name: "keyword: a term in every chunk still finds them, with positive scores",
    needs: ["keyword"],
    async run({ store }) {
      await store.replaceFiles(["one", "two", "three"].map((word) => fileOf(`${word}.md`, [`everywhere ${word}`])));
      const { rows } = await store.searchKeyword({ terms: exactly("everywhere"), sources: ["memory"], limit: 10 });
      assert.equal(rows.length, 3);
      assert.ok(rows.every((row) => row.score > 0));
    },
  },
  {
    name: "keyword: limit cuts the worst",
    needs: ["keyword"],
    async run({ store }) {
      await store.replaceFiles([
        ...filler,
        fileOf("a.md", ["word"]),
        fileOf("b.md", ["word with some more beside it"]),
        fileOf("c.md", ["word word"]),
      ]);
      const all = await store.searchKeyword({ terms: exactly("word"), sources: ["memory"], limit: 10 });
      const two = await store.searchKeyword({ terms: exactly("word"), sources: ["memory"], limit: 2 });
      assert.deepEqual(two.rows, all.rows.slice(0, 2));
    },
  },
  {
    name: "keyword: sources are filtered before the limit",
    needs: ["keyword"],
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
    needs: ["keyword"],
    async run({ store }) {
      await store.replaceFiles([
        fileOf("a.md", ["planet one", "planet planet two", "plan three"]),
        fileOf("b.md", ["nothing"]),
      ]);
      const terms = [...exactly("two", "planet", "missing"), { term: "plan", prefix: true }];
      const answer = await store.searchKeyword({ terms, sources: ["memory"], limit: 1 });
      assert.equal(answer.chunkCount, 4);
      assert.deepEqual(answer.documentFrequencies, [1, 2, 0, 3]);
    },
  },
];
