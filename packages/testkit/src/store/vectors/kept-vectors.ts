import assert from "node:assert/strict";
import { type StoreCheck, fileOf, textOf, textsWith } from "../lab.ts";
import { byNumber, dimensions, embed, one, rowsNear, textsNear, two, vectorOf } from "./vector-lab.ts";

/** What becomes of vectors when chunks come and go. */
export const keptVectorChecks: readonly StoreCheck[] = [
  {
    name: "vector: a text of a replaced file keeps its vector, and one that has gone is not found",
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      await embed(store, one, ["1", "2"]);
      await store.replaceFiles([fileOf("a.md", ["0", "2", "3"])]);
      assert.deepEqual(await textsNear(store, one, byNumber("2")), ["2"]);
      const [row] = await rowsNear(store, one, byNumber("2"));
      assert.equal(row?.startLine, 11);
      await embed(store, one, ["0", "3"]);
      assert.deepEqual((await textsNear(store, one, byNumber("1"))).toSorted(), ["0", "2", "3"]);
    },
  },
  {
    name: "vector: a text keeps its vectors of every space through a replacement",
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      await embed(store, one, ["1", "2"]);
      await embed(store, two, ["1", "2"], (text) => byNumber(`${text}0`));
      for (const texts of [["2", "3"], ["3", "2"], ["2"]]) {
        await store.replaceFiles([fileOf("a.md", texts)]);
        assert.deepEqual(await textsNear(store, one, byNumber("2")), ["2"]);
        assert.deepEqual(await textsNear(store, two, byNumber("20")), ["2"]);
      }
    },
  },
  {
    name: "vector: a file that is renamed or moved to another source keeps its vectors",
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"]), fileOf("b.md", ["3"])]);
      await embed(store, one, ["1", "2", "3"]);
      await store.replaceFiles([fileOf("renamed.md", ["1", "2"]), fileOf("b.jsonl", ["3"], { source: "sessions" })]);
      await store.removeFiles([
        { path: "a.md", source: "memory" },
        { path: "b.md", source: "memory" },
      ]);
      assert.deepEqual((await textsNear(store, one, byNumber("3"))).toSorted(), ["1", "2", "3"]);
      const { rows } = await store.searchVector({ space: one, vector: byNumber("1"), sources: ["memory"], limit: 9 });
      assert.deepEqual([...new Set(rows.map(({ path }) => path))], ["renamed.md"]);
    },
  },
  {
    name: "vector: a text that another file holds still keeps its vector when one file goes",
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1"]), fileOf("b.md", ["1"]), fileOf("c.md", ["2"])]);
      await embed(store, one, ["1", "2"]);
      await store.removeFiles([{ path: "a.md", source: "memory" }]);
      await store.replaceFiles([fileOf("c.md", ["2", "1"])]);
      assert.deepEqual(await textsNear(store, one, byNumber("1"), 2), ["1", "1"]);
      await store.replaceFiles([fileOf("b.md", [])]);
      assert.deepEqual(
        (await rowsNear(store, one, byNumber("1"))).map(({ path, startLine }) => `${path}:${startLine}`).toSorted(),
        ["c.md:1", "c.md:11"],
      );
    },
  },
  {
    name: "vector: a new chunk of a text that has its vector is found by it",
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1"])]);
      await embed(store, one, ["1"]);
      await store.replaceFiles([fileOf("b.md", ["2", "1"]), fileOf("a.md", ["1", "1"])]);
      assert.deepEqual(await textsNear(store, one, byNumber("1")), ["1", "1", "1"]);
    },
  },
  {
    name: "vector: those of a hash that no chunk has raise nothing and find nothing, before its text comes and after it has gone",
    async run({ store }) {
      await embed(store, one, ["1"]);
      await store.putVectors(one, []);
      assert.deepEqual(await textsNear(store, one, byNumber("1")), []);
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      await embed(store, one, ["1", "2", "3"]);
      assert.deepEqual((await textsNear(store, one, byNumber("1"))).toSorted(), ["1", "2"]);
      await store.removeFiles([{ path: "a.md", source: "memory" }]);
      await embed(store, one, ["1", "2"]);
      assert.deepEqual(await textsNear(store, one, byNumber("1")), []);
      await store.replaceFiles([fileOf("a.md", ["2"])]);
      await embed(store, one, ["2"]);
      assert.deepEqual(await textsNear(store, one, byNumber("2")), ["2"]);
    },
  },
  {
    name: "vector: one that is put again takes the place of the old one",
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      await embed(store, one, ["1", "2"]);
      await embed(store, one, ["1"], () => byNumber("9"));
      const rows = await rowsNear(store, one, byNumber("9"));
      assert.deepEqual([rows.length, rows[0] && textOf(rows[0]), (rows[0]?.score ?? 0) > 0.999], [2, "1", true]);
    },
  },
  {
    name: "vector: many come in one call, and words are found as before",
    async run({ store }) {
      const texts = Array.from({ length: 2000 }, (_, index) => `word ${index}`);
      await store.replaceFiles([fileOf("a.md", texts)]);
      await embed(store, one, texts, (text) => vectorOf(Number(text.slice(5)), dimensions));
      for (const index of [0, 998, 1999])
        assert.deepEqual(await textsNear(store, one, vectorOf(index, dimensions), 1), [`word ${index}`]);
      assert.deepEqual(await textsWith(store, "1234"), ["word 1234"]);
    },
  },
];
