import assert from "node:assert/strict";
import {
  type IndexCheck,
  byNumber,
  chunkOf,
  countsIn,
  embedAll,
  factsIn,
  fileOf,
  one,
  partOf,
  pendingTexts,
  sha256,
  textsNear,
  textsWith,
  two,
} from "../lab.ts";

const old = [fileOf("a.md", ["word old a"]), fileOf("b.md", ["word old b"])];
const anew = [
  fileOf("b.md", ["word new b"]),
  fileOf("c.md", ["word new c", "word other"]),
  fileOf("s.jsonl", ["word new s"], { source: "sessions" }),
];
/** What an index says of builds, and what they want. */
export const buildChecks: readonly IndexCheck[] = [
  {
    name: "builds: the table of a build replaces, touches, removes and takes tails as the store does",
    needs: ["builds"],
    async run({ index }) {
      const { chunks: _chunks, ...facts } = fileOf("t.md", []);
      const builds = partOf(index, "builds");
      const table = await builds.start("one");
      await table.replaceFiles([fileOf("r.md", ["word gone"]), fileOf("x.md", ["word gone"])]);
      await table.replaceFiles([fileOf("r.md", ["word r"]), fileOf("t.md", ["word t 1", "word t gone"])]);
      const tail = { ...facts, cursor: "9", fromLine: 11, chunks: [chunkOf("word t 2", 11)] };
      await table.replaceFiles([tail]);
      await table.touchFiles([
        { ...facts, cursor: "9", mtimeMs: 5.5 },
        { ...facts, path: "ghost.md" },
      ]);
      await table.removeFiles([{ path: "x.md", source: "memory" }]);
      const [, touched] = await factsIn(table);
      assert.deepEqual(touched, { ...facts, cursor: "9", mtimeMs: 5.5 });
      await builds.finish();
      assert.deepEqual((await textsWith(index, "word")).toSorted(), ["word r", "word t 1", "word t 2"]);
      assert.deepEqual((await factsIn(index))[1], { ...facts, cursor: "9", mtimeMs: 5.5 });
    },
  },
  {
    name: "builds: stats say which build answers and how far the next one is",
    needs: ["builds"],
    async run({ index }) {
      const builds = partOf(index, "builds");
      await index.replaceFiles(old);
      const first = (await index.stats()).generation ?? assert.fail("a store with builds has stats.generation");
      assert.equal(first.next, undefined);
      await (await builds.start("chunking: 笔记's")).replaceFiles(anew);
      const { generation } = await index.stats();
      const next = generation?.next ?? assert.fail("stats.generation.next is missing");
      assert.equal(generation?.id, first.id);
      assert.ok(next.id > first.id, `${next.id} does not come after ${first.id}`);
      assert.deepEqual([next.name, next.files, next.chunks], ["chunking: 笔记's", 3, 4]);
      assert.ok(next.startedAt > Date.UTC(2020), "startedAt is in milliseconds since 1970");
      await builds.finish();
      const last = (await index.stats()).generation;
      assert.deepEqual([last?.id, last?.next], [next.id, undefined]);
      assert.ok((last?.builtAt ?? 0) >= next.startedAt, "builtAt is when it took over");
    },
  },
  {
    name: "vector: a rebuild of the same texts needs no new vector",
    needs: ["builds"],
    async run({ index }) {
      await index.replaceFiles([fileOf("a.md", ["1", "2"]), fileOf("b.md", ["3"])]);
      await index.useSpace(one);
      await embedAll(index, one, byNumber);
      const builds = partOf(index, "builds");
      await (await builds.start("one")).replaceFiles([fileOf("a.md", ["1"]), fileOf("moved.md", ["2", "3"])]);
      assert.deepEqual(await pendingTexts(index, one), []);
      assert.equal((await index.spaceStats(one)).nextPending, 0);
      await builds.finish();
      assert.deepEqual(await pendingTexts(index, one), []);
      assert.deepEqual(await countsIn(index, one), { embedded: 3, pending: 0, quarantined: 0 });
      for (const text of ["1", "2", "3"]) assert.deepEqual(await textsNear(index, one, byNumber(text), 1), [text]);
      assert.equal((await textsNear(index, one, byNumber("1"))).length, 3, "nothing of the old build is left");
    },
  },
  {
    name: "vector: pending texts are those of both builds, each hash once, and are counted apart",
    needs: ["builds"],
    async run({ index }) {
      await index.replaceFiles([fileOf("a.md", ["1", "2"])]);
      assert.equal((await index.spaceStats(one)).nextPending, undefined, "there is no next build");
      const builds = partOf(index, "builds");
      await (await builds.start("one")).replaceFiles([fileOf("a.md", ["2", "3", "4"]), fileOf("b.md", ["4"])]);
      assert.deepEqual(await pendingTexts(index, one), ["1", "2", "3", "4"]);
      const hashes = (await index.pendingVectors(one, 10)).map(({ hash }) => hash);
      assert.equal(new Set(hashes).size, 4);
      assert.equal((await index.pendingVectors(one, 3)).length, 3);
      assert.deepEqual(await countsIn(index, one), { embedded: 0, pending: 2, quarantined: 0 });
      assert.equal((await index.spaceStats(one)).nextPending, 4, "chunks, as in pending");
      await index.putVectors(one, [{ hash: sha256("3"), vector: byNumber("3") }]);
      assert.deepEqual(await pendingTexts(index, one), ["1", "2", "4"]);
      assert.equal((await index.spaceStats(one)).nextPending, 3);
      await builds.abandon();
      assert.deepEqual(await pendingTexts(index, one), ["1", "2"]);
      assert.equal((await index.spaceStats(one)).nextPending, undefined);
    },
  },
  {
    name: "vector: a build is pending in another space while the old one answers in its own",
    needs: ["builds"],
    async run({ index }) {
      await index.replaceFiles([fileOf("a.md", ["1", "2"])]);
      await index.useSpace(one);
      await embedAll(index, one, byNumber);
      const builds = partOf(index, "builds");
      await (await builds.start("space two")).replaceFiles([fileOf("a.md", ["2", "3"])]);
      await embedAll(index, two, byNumber);
      assert.deepEqual(await textsNear(index, one, byNumber("1"), 1), ["1"]);
      await builds.finish();
      await index.useSpace(two);
      assert.deepEqual(await pendingTexts(index, two), []);
      assert.deepEqual((await textsNear(index, two, byNumber("3"))).toSorted(), ["2", "3"]);
      assert.deepEqual(await pendingTexts(index, one), ["3"]);
    },
  },
  {
    name: "vector: a text that was refused stays so over a rebuild, and is forgotten with the build that alone had it",
    needs: ["builds"],
    async run({ index }) {
      const builds = partOf(index, "builds");
      await index.replaceFiles([fileOf("a.md", ["1", "2"])]);
      await (await builds.start("one")).replaceFiles([fileOf("a.md", ["2", "3"])]);
      await index.quarantine(
        one,
        ["1", "2", "3"].map((text) => ({ hash: sha256(text), reason: `no ${text}` })),
      );
      assert.deepEqual(await pendingTexts(index, one), []);
      assert.equal((await index.spaceStats(one)).nextPending, 0);
      assert.deepEqual(await countsIn(index, one), { embedded: 0, pending: 0, quarantined: 2 });
      await builds.finish();
      assert.deepEqual(
        (await index.quarantined(one, 9)).map(({ reason }) => reason),
        ["no 2", "no 3"],
      );
      await index.replaceFiles([fileOf("a.md", ["1", "2", "3"])]);
      assert.deepEqual(await pendingTexts(index, one), ["1"], "nobody had the text any more");
    },
  },
];
