import assert from "node:assert/strict";
import { type StoreCheck, buildOf, fileOf, pathsIn, revisionOf, textsWith } from "./lab.ts";
import { byNumber, embed, one, textsNear } from "./vectors/vector-lab.ts";

/** What tells whether the files that answer are still the same. */
export const revisionChecks: readonly StoreCheck[] = [
  {
    name: "revision: each change of the files gives another one, never one that was there before",
    needs: ["revision"],
    async run({ store }) {
      const seen = [await revisionOf(store)];
      const changes = [
        () => store.replaceFiles([fileOf("a.md", ["one"])]),
        () => store.replaceFiles([fileOf("a.md", ["two"])]),
        () => store.replaceFiles([{ ...fileOf("a.md", ["two"]), recipe: "2" }]),
        () => store.replaceFiles([{ ...fileOf("a.md", ["three"]), fromLine: 9 }]),
        () => store.replaceFiles([fileOf("b.md", [])]),
        () => store.removeFiles([{ path: "b.md", source: "memory" }]),
        () => store.removeFiles([{ path: "a.md", source: "memory" }]),
        () => store.replaceFiles([fileOf("a.md", ["two"])]),
      ];
      for (const change of changes) {
        await change();
        seen.push(await revisionOf(store));
      }
      assert.equal(new Set(seen).size, changes.length + 1, seen.join(", "));
    },
  },
  {
    name: "revision: searches, listings and stats leave it as it is",
    needs: ["revision"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      await embed(store, one, ["1", "2"]);
      const before = await revisionOf(store);
      await textsWith(store, "1");
      await textsNear(store, one, byNumber("1"));
      await store.listFiles();
      await store.stats();
      assert.equal(await revisionOf(store), before);
    },
  },
  {
    name: "revision: a finished build gives another one",
    needs: ["revision", "build"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["one"])]);
      const before = await revisionOf(store);
      const build = await buildOf(store, "next");
      await build.replaceFiles([fileOf("a.md", ["one"])]);
      await build.finish();
      assert.notEqual(await revisionOf(store), before);
    },
  },
  {
    name: "revision: after a reopen a change gives one that was never there before",
    needs: ["revision", "reopens"],
    async run({ store, reopen }) {
      const seen = new Set<string>();
      let open = store;
      for (const text of ["one", "two", "one"]) {
        await open.replaceFiles([fileOf("a.md", [text])]);
        seen.add(await revisionOf(open));
        open = await reopen();
      }
      assert.equal(seen.size, 3, [...seen].join(", "));
    },
  },
  {
    name: "revision: what another store on the same place changes is seen at once",
    needs: ["revision", "reopens"],
    async run({ store, openBeside }) {
      const other = await openBeside();
      const seen = [await revisionOf(store)];
      await other.replaceFiles([fileOf("a.md", ["word one"])]);
      seen.push(await revisionOf(store));
      assert.deepEqual([await pathsIn(store), await textsWith(store, "word")], [["a.md"], ["word one"]]);
      assert.equal(await revisionOf(store), seen[1]);
      await store.replaceFiles([fileOf("b.md", ["word two"])]);
      seen.push(await revisionOf(other));
      assert.deepEqual(
        [await pathsIn(other), await textsWith(other, "word")],
        [
          ["a.md", "b.md"],
          ["word one", "word two"],
        ],
      );
      await other.removeFiles([{ path: "b.md", source: "memory" }]);
      seen.push(await revisionOf(store));
      assert.deepEqual([await pathsIn(store), await textsWith(store, "word")], [["a.md"], ["word one"]]);
      assert.equal(new Set(seen).size, 4, seen.join(", "));
    },
  },
];
