import assert from "node:assert/strict";
import { type StoreCheck, fileOf, partOf, sha256, textsWith } from "./lab.ts";
import { byNumber, embedAll, one, textsNear } from "./vectors/vector-lab.ts";

/** What tells whether the files that answer are still the same. */
export const revisionChecks: readonly StoreCheck[] = [
  {
    name: "revision: each change of the files gives another one, never one that was there before",
    needs: ["revision"],
    async run({ store }) {
      const { chunks: _chunks, ...facts } = fileOf("a.md", []);
      const seen = [await store.revision?.()];
      const changes = [
        () => store.replaceFiles([fileOf("a.md", ["one"])]),
        () => store.replaceFiles([fileOf("a.md", ["two"])]),
        () => store.touchFiles([{ ...facts, mtimeMs: 1 }]),
        () => store.replaceFiles([fileOf("b.md", [])]),
        () => store.removeFiles([{ path: "b.md", source: "memory" }]),
        () => store.removeFiles([{ path: "a.md", source: "memory" }]),
        () => store.replaceFiles([fileOf("a.md", ["two"])]),
      ];
      for (const change of changes) {
        await change();
        seen.push(await store.revision?.());
      }
      assert.equal(new Set(seen).size, changes.length + 1, seen.join(", "));
    },
  },
  {
    name: "revision: searches, listings and vectors leave it as it is",
    needs: ["revision"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      const before = await store.revision?.();
      const { fts, vector } = store.health();
      if (fts.enabled) await textsWith(store, "1");
      if (vector.enabled) {
        await store.useSpace(one);
        await embedAll(store, one, byNumber);
        await textsNear(store, one, byNumber("1"));
        await store.quarantine(one, [{ hash: sha256("2"), reason: "no" }]);
      }
      await store.listFiles();
      await store.stats();
      await store.spaces();
      assert.equal(await store.revision?.(), before);
    },
  },
  {
    name: "revision: a finished build gives another one",
    needs: ["revision", "builds"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["one"])]);
      const before = await store.revision?.();
      const table = await partOf(store, "builds").start("next");
      await table.replaceFiles([fileOf("a.md", ["one"])]);
      await partOf(store, "builds").finish();
      assert.notEqual(await store.revision?.(), before);
    },
  },
  {
    name: "revision: after a reopen a change gives one that was never there before",
    needs: ["revision", "reopens"],
    async run({ store, reopen }) {
      const seen = new Set<string | undefined>();
      let open = store;
      for (const text of ["one", "two", "one"]) {
        await open.replaceFiles([fileOf("a.md", [text])]);
        seen.add(await open.revision?.());
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
      const before = await store.revision?.();
      await other.replaceFiles([fileOf("a.md", ["one"])]);
      const after = await store.revision?.();
      assert.notEqual(after, before);
      assert.deepEqual(
        (await store.listFiles()).map(({ path }) => path),
        ["a.md"],
      );
      assert.equal(await store.revision?.(), after);
    },
  },
];
