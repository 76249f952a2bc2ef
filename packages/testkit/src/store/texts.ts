import assert from "node:assert/strict";
import { type StoreCheck, chunkCountOf, chunkOf, exactly, fileOf, rowsWith } from "./lab.ts";
import { byNumber, one, rowsNear } from "./vectors/vector-lab.ts";

const oddTexts: readonly string[] = [
  "cafe\u0301 and Zu\u0308rich",
  "before\0after",
  "left \ud83d right",
  "one\r\ntwo\rthree\u2028four\u0085five\n",
  "  \t two blanks before and three after   ",
  "\ufeffbegins with a mark",
  "zero\u200bwidth \u200e\u202eright to left\u202c soft\u00adhyphen",
  "\u{1f469}\u200d\u{1f4bb} \u{1d518}\u{1d52b}\u{20000}\u{10ffff}",
  `'; DROP TABLE chunks; -- " \\ % _ $1 :name ? {{x}} \${y}`,
  "",
];

/** That a store takes every text and every number of terms. */
export const textChecks: readonly StoreCheck[] = [
  {
    name: "texts: long ones and odd ones are taken, and found by their terms and their vectors",
    async run({ store }) {
      const long = [8192, 8193, 65_536, 300_000].map((size) =>
        "long text, 文字 too. ".repeat(size / 10).slice(0, size),
      );
      const texts = [...long, ...oddTexts];
      await store.replaceFiles(
        texts.map((text, index) => ({
          ...fileOf(`${index}.md`, []),
          chunks: [{ ...chunkOf(text, 3), context: `Heading ${text.slice(0, 9000)}`, terms: `all each${index}` }],
        })),
      );
      assert.equal(await chunkCountOf(store), texts.length);
      await store.putVectors(
        one,
        texts.map((text, index) => ({ hash: chunkOf(text).hash, vector: byNumber(String(index)) })),
      );
      assert.equal((await rowsWith(store, "all")).length, texts.length);
      for (const [index, text] of texts.entries()) {
        const wanted = [`${index}.md`, 3, chunkOf(text).hash];
        for (const rows of [
          await rowsWith(store, `each${index}`),
          await rowsNear(store, one, byNumber(String(index)), 1),
        ]) {
          const found = rows.map((row) => [row.path, row.startLine, row.hash]);
          assert.deepEqual(found, [wanted], `the text ${JSON.stringify(text.slice(0, 40))}`);
        }
      }
    },
  },
  {
    name: "texts: every one of many terms is found, and a long one as a whole",
    async run({ store }) {
      const many = Array.from({ length: 5000 }, (_, index) => `term${index.toString(36)}`);
      const long = "x".repeat(1000);
      await store.replaceFiles([
        { ...fileOf("many.md", []), chunks: [{ ...chunkOf("many"), terms: many.join(" ") }] },
        { ...fileOf("long.md", []), chunks: [{ ...chunkOf("long"), terms: `${long}y other` }] },
        { ...fileOf("like.md", []), chunks: [{ ...chunkOf("like"), terms: `${long}z other` }] },
      ]);
      const found = async (term: string): Promise<string[]> => (await rowsWith(store, term)).map(({ path }) => path);
      for (const index of [0, 999, 1000, 2048, 4095, 4096, 4999])
        assert.deepEqual(await found(many[index] ?? ""), ["many.md"], `the term number ${index}`);
      assert.deepEqual(await found(`${long}y`), ["long.md"]);
      const terms = exactly(...many.slice(0, 400));
      const answer = await store.searchKeyword({ terms, sources: ["memory"], limit: 3 });
      assert.deepEqual(
        answer.documentFrequencies,
        terms.map(() => 1),
        "the frequencies of a question with 400 terms",
      );
    },
  },
  {
    name: "texts: a chunk without a term is held and counted",
    async run({ store }) {
      await store.replaceFiles([
        { ...fileOf("a.md", []), chunks: [{ ...chunkOf("7"), terms: "" }, chunkOf("word", 2)] },
      ]);
      const answer = await store.searchKeyword({ terms: exactly("word"), sources: ["memory"], limit: 3 });
      assert.deepEqual([answer.rows.length, answer.chunkCount, answer.documentFrequencies], [1, 2, [1]]);
      await store.putVectors(one, [{ hash: chunkOf("7").hash, vector: byNumber("7") }]);
      const rows = await rowsNear(store, one, byNumber("7"));
      assert.deepEqual(
        rows.map(({ startLine }) => startLine),
        [1],
      );
    },
  },
];
