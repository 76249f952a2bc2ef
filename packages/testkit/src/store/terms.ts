import assert from "node:assert/strict";
import { hostileStrings } from "../helpers/hostile-strings.ts";
import { type StoreCheck, bothSources, chunkOf, exactly, fileOf, textOf, textsWith } from "./lab.ts";

/** A file for each term, whose text tells which it is. */
const filesOf = (terms: readonly string[]) =>
  terms.map((term, index) => ({
    ...fileOf(`${index}.md`, []),
    chunks: [{ ...chunkOf(`chunk ${index}`), terms: `filler ${term} other` }],
  }));

/** How a store takes the terms that it is given. */
export const termChecks: readonly StoreCheck[] = [
  {
    name: "keyword: only the terms are searched, not the text and not the headings",
    async run({ store }) {
      await store.replaceFiles([
        { ...fileOf("a.md", []), chunks: [{ ...chunkOf("apple"), context: "cherry", terms: "pear" }] },
      ]);
      assert.deepEqual([await textsWith(store, "apple"), await textsWith(store, "cherry")], [[], []]);
      assert.deepEqual(await textsWith(store, "pear"), ["apple"]);
    },
  },
  {
    name: "keyword: a prefix finds every word that begins with it, a whole term only itself",
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["plan", "planet", "airplane", "看病", "看见", "好看", "50%", "50x"])]);
      const begins = async (term: string): Promise<string[]> => {
        const { rows } = await store.searchKeyword({ terms: [{ term, prefix: true }], sources: ["memory"], limit: 10 });
        return rows.map(textOf).toSorted();
      };
      assert.deepEqual(await begins("plan"), ["plan", "planet"]);
      assert.deepEqual(await begins("看"), ["看病", "看见"].toSorted());
      assert.deepEqual(await begins("50%"), ["50%"]);
      assert.deepEqual(await begins("p_an"), []);
      assert.deepEqual(await textsWith(store, "plan"), ["plan"]);
    },
  },
  {
    name: "keyword: a term is taken as it stands, with its punctuation",
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
        "running",
        "the",
      ];
      await store.replaceFiles(filesOf(terms));
      for (const [index, term] of terms.entries())
        assert.deepEqual(await textsWith(store, term), [`chunk ${index}`], `the term "${term}"`);
      for (const part of ["2291", "inv", "js", "search", "example", "2026", "run", "runs", "memory%search"])
        assert.deepEqual(await textsWith(store, part), [], `"${part}" is only a part of a term, or none`);
    },
  },
  {
    name: "keyword: terms that look alike are different ones",
    async run({ store }) {
      const terms = ["caf\u00e9", "cafe\u0301", "cafe", "stra\u00dfe", "strasse", "\ufb01ne", "fine", "\u{1d518}", "u"];
      await store.replaceFiles(filesOf(terms));
      for (const [index, term] of terms.entries())
        assert.deepEqual(await textsWith(store, term), [`chunk ${index}`], `the term "${term}"`);
    },
  },
  {
    name: "keyword: hostile terms raise nothing and find nothing",
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
