import assert from "node:assert/strict";
import { hostileStrings } from "../helpers/hostile-strings.ts";
import { type StoreCheck, bothSources, chunkOf, exactly, fileOf, textsWith } from "./lab.ts";

/** How a store takes the terms that it is given. */
export const termChecks: readonly StoreCheck[] = [
  {
    name: "keyword: only the terms are searched, not the text",
    needs: ["keyword"],
    async run({ store }) {
      await store.replaceFiles([{ ...fileOf("a.md", []), chunks: [{ ...chunkOf("apple"), terms: "pear" }] }]);
      assert.deepEqual(await textsWith(store, "apple"), []);
      assert.deepEqual(await textsWith(store, "pear"), ["apple"]);
    },
  },
  {
    name: "keyword: a prefix finds every word that begins with it, a whole term only itself",
    needs: ["keyword"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["plan", "planet", "airplane", "看病", "看见", "好看"])]);
      const begins = async (term: string): Promise<string[]> => {
        const { rows } = await store.searchKeyword({ terms: [{ term, prefix: true }], sources: ["memory"], limit: 10 });
        return rows.map((row) => row.text).toSorted();
      };
      assert.deepEqual(await begins("plan"), ["plan", "planet"]);
      assert.deepEqual(await begins("看"), ["看病", "看见"].toSorted());
      assert.deepEqual(await textsWith(store, "plan"), ["plan"]);
    },
  },
  {
    name: "keyword: a term is taken as it stands, with its punctuation",
    needs: ["keyword"],
    async run({ store }) {
      const terms = [
        "inv-2291",
        "node.js",
        "c++",
        "memory_search",
        "a/b.md",
        "user@example.com",
        "it's",
        "и",
        "看病",
        "2026-08-14",
        "a:b",
        "#tag",
        "r&d",
      ];
      await store.replaceFiles(
        terms.map((term, index) => ({
          ...fileOf(`${index}.md`, []),
          chunks: [{ ...chunkOf(`chunk of ${term}`), terms: `filler ${term} other` }],
        })),
      );
      for (const term of terms) assert.deepEqual(await textsWith(store, term), [`chunk of ${term}`]);
      for (const part of ["2291", "inv", "js", "search", "example", "2026"])
        assert.deepEqual(await textsWith(store, part), [], `"${part}" is only a part of a term`);
    },
  },
  {
    name: "keyword: hostile terms raise nothing and find nothing",
    needs: ["keyword"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["plain words only"])]);
      for (const term of hostileStrings(150, 7)) {
        if (/^(?:plain|words|only)$/iu.test(term.trim()) || term === "") continue;
        const { rows, documentFrequencies } = await store.searchKeyword({
          terms: exactly(term),
          sources: bothSources,
          limit: 5,
        });
        assert.deepEqual([rows.length, documentFrequencies], [0, [0]], JSON.stringify(term));
        await store.searchKeyword({ terms: [{ term, prefix: true }], sources: [term], limit: 5 });
      }
      assert.deepEqual(await textsWith(store, "plain"), ["plain words only"]);
    },
  },
];
