import assert from "node:assert/strict";
import { type StoreCheck, fileOf, partOf, sha256 } from "../lab.ts";
import { byNumber, countsIn, embedAll, one, pendingTexts, textsNear, two } from "./vector-lab.ts";

/** Vectors belong to texts, so that a rebuild does not pay for them again. */
export const buildVectorChecks: readonly StoreCheck[] = [
  {
    name: "vector: a rebuild of the same texts needs no new vector",
    needs: ["vector", "builds"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"]), fileOf("b.md", ["3"])]);
      await store.useSpace(one);
      await embedAll(store, one, byNumber);
      const builds = partOf(store, "builds");
      await (await builds.start("one")).replaceFiles([fileOf("a.md", ["1"]), fileOf("moved.md", ["2", "3"])]);
      assert.deepEqual(await pendingTexts(store, one), []);
      assert.equal((await store.spaceStats(one)).nextPending, 0);
      await builds.finish();
      assert.deepEqual(await pendingTexts(store, one), []);
      assert.deepEqual(await countsIn(store, one), { embedded: 3, pending: 0, quarantined: 0 });
      for (const text of ["1", "2", "3"]) assert.deepEqual(await textsNear(store, one, byNumber(text), 1), [text]);
      assert.equal((await textsNear(store, one, byNumber("1"))).length, 3, "nothing of the old build is left");
    },
  },
  {
    name: "vector: pending texts are those of both builds, each hash once, and are counted apart",
    needs: ["vector", "builds"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      assert.equal((await store.spaceStats(one)).nextPending, undefined, "there is no next build");
      const builds = partOf(store, "builds");
      await (await builds.start("one")).replaceFiles([fileOf("a.md", ["2", "3", "4"]), fileOf("b.md", ["4"])]);
      assert.deepEqual(await pendingTexts(store, one), ["1", "2", "3", "4"]);
      const hashes = (await store.pendingVectors(one, 10)).map(({ hash }) => hash);
      assert.equal(new Set(hashes).size, 4);
      assert.equal((await store.pendingVectors(one, 3)).length, 3);
      assert.deepEqual(await countsIn(store, one), { embedded: 0, pending: 2, quarantined: 0 });
      assert.equal((await store.spaceStats(one)).nextPending, 4, "chunks, as in pending");
      await store.putVectors(one, [{ hash: sha256("3"), vector: byNumber("3") }]);
      assert.deepEqual(await pendingTexts(store, one), ["1", "2", "4"]);
      assert.equal((await store.spaceStats(one)).nextPending, 3);
      await builds.abandon();
      assert.deepEqual(await pendingTexts(store, one), ["1", "2"]);
      assert.equal((await store.spaceStats(one)).nextPending, undefined);
    },
  },
  {
    name: "vector: texts of the next build are not found by their vectors until it takes over, then at once",
    needs: ["vector", "builds"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      await store.useSpace(one);
      await embedAll(store, one, byNumber);
      const builds = partOf(store, "builds");
      await (await builds.start("one")).replaceFiles([fileOf("a.md", ["2", "3"])]);
      await embedAll(store, one, byNumber);
      assert.deepEqual((await textsNear(store, one, byNumber("3"))).toSorted(), ["1", "2"]);
      assert.deepEqual(await countsIn(store, one), { embedded: 2, pending: 0, quarantined: 0 });
      await builds.finish();
      assert.deepEqual(await textsNear(store, one, byNumber("3"), 1), ["3"]);
      assert.deepEqual((await textsNear(store, one, byNumber("1"))).toSorted(), ["2", "3"]);
    },
  },
  {
    name: "vector: a build in another space is filled while the old one answers in its own",
    needs: ["vector", "builds"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      await store.useSpace(one);
      await embedAll(store, one, byNumber);
      const builds = partOf(store, "builds");
      await (await builds.start("space two")).replaceFiles([fileOf("a.md", ["2", "3"])]);
      await embedAll(store, two, byNumber);
      assert.deepEqual(await textsNear(store, one, byNumber("1"), 1), ["1"]);
      await builds.finish();
      await store.useSpace(two);
      assert.deepEqual(await pendingTexts(store, two), []);
      assert.deepEqual((await textsNear(store, two, byNumber("3"))).toSorted(), ["2", "3"]);
      assert.deepEqual(await pendingTexts(store, one), ["3"]);
    },
  },
  {
    name: "vector: a text that was refused stays so over a rebuild, and is forgotten with the build that alone had it",
    needs: ["vector", "builds"],
    async run({ store }) {
      const builds = partOf(store, "builds");
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      await (await builds.start("one")).replaceFiles([fileOf("a.md", ["2", "3"])]);
      await store.quarantine(
        one,
        ["1", "2", "3"].map((text) => ({ hash: sha256(text), reason: `no ${text}` })),
      );
      assert.deepEqual(await pendingTexts(store, one), []);
      assert.equal((await store.spaceStats(one)).nextPending, 0);
      assert.deepEqual(await countsIn(store, one), { embedded: 0, pending: 0, quarantined: 2 });
      await builds.finish();
      assert.deepEqual(
        (await store.quarantined(one, 9)).map(({ reason }) => reason),
        ["no 2", "no 3"],
      );
      await store.replaceFiles([fileOf("a.md", ["1", "2", "3"])]);
      assert.deepEqual(await pendingTexts(store, one), ["1"], "nobody had the text any more");
    },
  },
];
