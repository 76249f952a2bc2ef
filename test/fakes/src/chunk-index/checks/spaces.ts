import assert from "node:assert/strict";
import {
  type IndexCheck,
  byNumber,
  countsIn,
  embedAll,
  fileOf,
  one,
  pendingTexts,
  sha256,
  spaceOf,
  textsNear,
  two,
  vectorOf,
} from "../lab.ts";

const texts: readonly string[] = ["1", "2", "3", "4", "5"];
/** The vector that the next text has in the other space. */
const shifted = (text: string): Float32Array => byNumber(String((Number(text) % texts.length) + 1));

/** Which spaces an index knows, and how far each is filled. */
export const spaceChecks: readonly IndexCheck[] = [
  {
    name: "vector: two spaces of one width never mix, whichever of them is in use",
    async run({ index }) {
      await index.replaceFiles([fileOf("a.md", texts)]);
      await index.useSpace(one);
      await embedAll(index, one, byNumber);
      assert.deepEqual(await textsNear(index, two, byNumber("1")), [], "the other space is empty");
      assert.deepEqual(await textsNear(index, { ...one, providerKey: "another task" }, byNumber("1")), []);
      assert.equal(await embedAll(index, two, shifted), texts.length);
      for (const inUse of [one, two, one]) {
        await index.useSpace(inUse);
        assert.deepEqual(await textsNear(index, one, byNumber("2"), 1), ["2"], `in ${inUse.model}`);
        assert.deepEqual(await textsNear(index, two, byNumber("2"), 1), ["1"], `in ${inUse.model}`);
      }
      await index.putVectors(two, [{ hash: sha256("4"), vector: byNumber("9") }]);
      assert.deepEqual(
        await textsNear(index, one, byNumber("4"), 1),
        ["4"],
        "a vector put into one is not in the other",
      );
      assert.deepEqual(await textsNear(index, two, byNumber("9"), 1), ["4"]);
    },
  },
  {
    name: "vector: a space that is used again has all its vectors, also those of chunks that came meanwhile",
    async run({ index }) {
      await index.replaceFiles([fileOf("a.md", texts), fileOf("b.md", ["6"])]);
      await index.useSpace(one);
      await embedAll(index, one, byNumber);
      await index.useSpace(two);
      await embedAll(index, two, shifted);
      await index.removeFiles([{ path: "b.md", source: "memory" }]);
      await index.replaceFiles([fileOf("c.md", ["6", "7"])]);
      await embedAll(index, two, byNumber);
      await index.useSpace(one);
      assert.deepEqual(await pendingTexts(index, one), ["7"]);
      assert.deepEqual((await textsNear(index, one, byNumber("6"))).toSorted(), [...texts, "6"]);
      assert.deepEqual(await textsNear(index, one, byNumber("6"), 1), ["6"]);
      assert.equal((await textsNear(index, two, byNumber("6"))).length, texts.length + 2);
    },
  },
  {
    name: "vector: every call works in a space that nobody has used",
    async run({ index }) {
      await index.replaceFiles([fileOf("a.md", ["1", "2"])]);
      assert.deepEqual(await textsNear(index, one, byNumber("1")), []);
      assert.deepEqual(await index.knownVectors(one, [sha256("1")]), []);
      assert.deepEqual(await index.quarantined(one, 5), []);
      await index.releaseQuarantine(one);
      assert.deepEqual(await countsIn(index, one), { embedded: 0, pending: 2, quarantined: 0 });
      assert.deepEqual(await index.spaces(), []);
      assert.equal(await embedAll(index, one, byNumber), 2);
      assert.deepEqual(await textsNear(index, one, byNumber("1"), 1), ["1"]);
    },
  },
  {
    name: "vector: of many hashes those are known that have a vector in the space",
    async run({ index }) {
      const hashes = Array.from({ length: 700 }, (_, index) => sha256(String(index)));
      const known = hashes.filter((_, index) => index % 3 === 0);
      await index.putVectors(
        one,
        known.map((hash) => ({ hash, vector: byNumber("1") })),
      );
      await index.putVectors(two, [{ hash: hashes[1] ?? "", vector: byNumber("1") }]);
      assert.deepEqual((await index.knownVectors(one, hashes)).toSorted(), known.toSorted());
      assert.deepEqual(await index.knownVectors(two, hashes), [hashes[1]]);
      assert.deepEqual(await index.knownVectors(one, []), []);
    },
  },
  {
    name: "vector: the spaces are listed with their vectors, the one that was written to last first",
    async run({ index }) {
      const three = { ...one, providerKey: "task: 任务", dimensions: 5 };
      await index.putVectors(one, [
        { hash: sha256("1"), vector: byNumber("1") },
        { hash: sha256("2"), vector: byNumber("2") },
      ]);
      await index.putVectors(two, [{ hash: sha256("1"), vector: byNumber("1") }]);
      await index.putVectors(three, [{ hash: sha256("1"), vector: vectorOf(1, 5) }]);
      await index.useSpace({ ...one, model: "only looked at" });
      assert.deepEqual(await index.spaces(), [
        { space: three, vectors: 1 },
        { space: two, vectors: 1 },
        { space: one, vectors: 2 },
      ]);
      await index.putVectors(one, [{ hash: sha256("2"), vector: byNumber("3") }]);
      await index.useSpace(two);
      await textsNear(index, two, byNumber("1"));
      assert.deepEqual(await index.spaces(), [
        { space: one, vectors: 2 },
        { space: three, vectors: 1 },
        { space: two, vectors: 1 },
      ]);
    },
  },
  {
    name: "lifecycle: spaces and their vectors are listed again after a reopen",
    needs: ["reopens"],
    async run({ index, reopen }) {
      await index.replaceFiles([fileOf("a.md", ["1", "2"])]);
      const hashes = fileOf("a.md", ["1", "2"]).chunks.map(({ hash }) => hash);
      for (const [offset, model] of ["m", "other"].entries()) {
        await index.putVectors(
          spaceOf(model, 8),
          hashes.map((hash, index) => ({ hash, vector: vectorOf(index + offset, 8) })),
        );
      }
      const again = await reopen();
      for (const [model, nearest] of [
        ["m", "2"],
        ["other", "1"],
      ] as const) {
        const space = spaceOf(model, 8);
        await again.useSpace(space);
        assert.deepEqual(await again.pendingVectors(space, 5), []);
        const answer = await again.searchVector({ space, vector: vectorOf(1, 8), sources: ["memory"], limit: 1 });
        assert.equal(answer.rows[0]?.text, nearest);
      }
      assert.deepEqual(
        (await again.spaces()).map(({ space, vectors }) => [space.model, vectors]),
        [
          ["other", 2],
          ["m", 2],
        ],
      );
    },
  },
  {
    name: "vector: with a scope, chunks are counted within it",
    async run({ index }) {
      const scope = { within: ["shared/"], without: ["shared/own/"] };
      await index.replaceFiles([
        fileOf("shared/a.md", ["1", "2", "3", "4"]),
        fileOf("shared/own/a.md", ["1", "5"]),
        fileOf("memory/a.md", ["1", "2", "6"]),
        fileOf("shared/a.md", ["1", "7"], { source: "sessions" }),
      ]);
      await index.putVectors(one, [{ hash: sha256("1"), vector: byNumber("1") }]);
      await index.quarantine(one, [{ hash: sha256("2"), reason: "no" }]);
      const counted = await index.spaceStats(one, { sources: ["memory"], scope });
      const { embedded, pending, quarantined, nextPending } = counted;
      assert.deepEqual([embedded, pending, quarantined, nextPending], [1, 2, 1, undefined]);
      assert.equal((await index.spaceStats(one, { sources: ["memory", "sessions"], scope })).pending, 3);
    },
  },
];
