import assert from "node:assert/strict";
import { type StoreCheck, buildOf, fileOf } from "../lab.ts";
import { byNumber, embed, one, textsNear, two } from "./vector-lab.ts";

/** Vectors belong to texts, so that a rebuild does not pay for them again. */
export const buildVectorChecks: readonly StoreCheck[] = [
  {
    name: "vector: a text of the build that answers has its vector in the next build, too",
    needs: ["build"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"]), fileOf("b.md", ["3"])]);
      await embed(store, one, ["1", "2", "3"]);
      const build = await buildOf(store, "one");
      await build.replaceFiles([fileOf("a.md", ["1"]), fileOf("moved.md", ["2", "3"])]);
      await build.finish();
      for (const text of ["1", "2", "3"]) assert.deepEqual(await textsNear(store, one, byNumber(text), 1), [text]);
      assert.equal((await textsNear(store, one, byNumber("1"))).length, 3, "nothing of the old build is left");
    },
  },
  {
    name: "vector: texts of the next build are not found by their vectors until it is finished, then at once",
    needs: ["build"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      await embed(store, one, ["1", "2"]);
      const build = await buildOf(store, "one");
      await build.replaceFiles([fileOf("a.md", ["2", "3"])]);
      await embed(store, one, ["3"]);
      assert.deepEqual((await textsNear(store, one, byNumber("3"))).toSorted(), ["1", "2"]);
      await build.finish();
      assert.deepEqual(await textsNear(store, one, byNumber("3"), 1), ["3"]);
      assert.deepEqual((await textsNear(store, one, byNumber("1"))).toSorted(), ["2", "3"]);
    },
  },
  {
    name: "vector: a build in another space is filled while the old one answers in its own",
    needs: ["build"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      await embed(store, one, ["1", "2"]);
      const build = await buildOf(store, "space two");
      await build.replaceFiles([fileOf("a.md", ["2", "3"])]);
      await embed(store, two, ["2", "3"]);
      assert.deepEqual(await textsNear(store, one, byNumber("1"), 1), ["1"]);
      await build.finish();
      assert.deepEqual((await textsNear(store, two, byNumber("3"))).toSorted(), ["2", "3"]);
      assert.deepEqual(await textsNear(store, one, byNumber("3")), ["2"]);
    },
  },
  {
    name: "vector: a vector that is given while a build is made is that of both builds",
    needs: ["build"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      const build = await buildOf(store, "one");
      await build.replaceFiles([fileOf("b.md", ["1", "3"])]);
      await embed(store, one, ["1", "2", "3"]);
      assert.deepEqual((await textsNear(store, one, byNumber("1"))).toSorted(), ["1", "2"]);
      await store.removeFiles([{ path: "a.md", source: "memory" }]);
      await build.finish();
      assert.deepEqual((await textsNear(store, one, byNumber("1"))).toSorted(), ["1", "3"], "the old one lost its own");
      assert.deepEqual(await textsNear(store, one, byNumber("3"), 1), ["3"]);
    },
  },
  {
    name: "vector: an abandoned build takes no vector of the one that answers along",
    needs: ["build"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      await embed(store, one, ["1", "2"]);
      const build = await buildOf(store, "one");
      await build.replaceFiles([fileOf("a.md", ["2", "3"])]);
      await embed(store, one, ["3"]);
      await build.removeFiles([{ path: "a.md", source: "memory" }]);
      await build.abandon();
      assert.deepEqual((await textsNear(store, one, byNumber("1"))).toSorted(), ["1", "2"]);
      await store.replaceFiles([fileOf("b.md", ["1"])]);
      assert.deepEqual(await textsNear(store, one, byNumber("1"), 2), ["1", "1"]);
    },
  },
];
