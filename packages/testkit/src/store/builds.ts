import assert from "node:assert/strict";
import { type StoreCheck, bothSources, chunkOf, exactly, factsIn, fileOf, partOf, pathsIn, textsWith } from "./lab.ts";

const old = [fileOf("a.md", ["word old a"]), fileOf("b.md", ["word old b"])];
const anew = [
  fileOf("b.md", ["word new b"]),
  fileOf("c.md", ["word new c", "word other"]),
  fileOf("s.jsonl", ["word new s"], { source: "sessions" }),
];
const newTexts = ["word new b", "word new c", "word new s", "word other"];

/** What a store does while a whole new build is made beside the one that answers. */
export const buildChecks: readonly StoreCheck[] = [
  {
    name: "builds: nothing of the next build is found, listed or counted until it takes over",
    needs: ["builds", "keyword"],
    async run({ store }) {
      await store.replaceFiles(old);
      const before = await answersOf(store);
      const table = await partOf(store, "builds").start("one");
      assert.deepEqual(await pathsIn(table), [], "a new build is empty");
      await table.replaceFiles(anew);
      assert.deepEqual(await answersOf(store), before);
      assert.deepEqual(await pathsIn(table), ["b.md", "c.md", "s.jsonl"]);
    },
  },
  {
    name: "builds: with finish the next build answers, whole, and nothing is left of the old one",
    needs: ["builds", "keyword"],
    async run({ store }) {
      const many = Array.from({ length: 400 }, (_, index) => fileOf(`old/${index}.md`, [`word old ${index}`]));
      await store.replaceFiles(many);
      const builds = partOf(store, "builds");
      await (await builds.start("one")).replaceFiles(anew);
      await builds.finish();
      assert.deepEqual((await textsWith(store, "word")).toSorted(), newTexts);
      assert.deepEqual(await textsWith(store, "old"), []);
      assert.deepEqual(await pathsIn(store), ["b.md", "c.md", "s.jsonl"]);
      const answer = await store.searchKeyword({ terms: exactly("old", "new"), sources: bothSources, limit: 1 });
      assert.deepEqual([answer.chunkCount, answer.documentFrequencies], [4, [0, 3]]);
      const { files, chunks, sources } = await store.stats();
      assert.deepEqual([files, chunks], [3, 4]);
      assert.deepEqual(
        sources.filter((source) => source.files > 0).map((source) => [source.source, source.files, source.chunks]),
        [
          ["memory", 2, 3],
          ["sessions", 1, 1],
        ],
      );
    },
  },
  {
    name: "builds: searches that run while one takes over find all of the old or all of the new",
    needs: ["builds", "keyword"],
    async run({ store }) {
      const oldTexts = Array.from({ length: 30 }, (_, index) => `word old ${index}`);
      await store.replaceFiles(oldTexts.map((text, index) => fileOf(`old/${index}.md`, [text])));
      const builds = partOf(store, "builds");
      await (await builds.start("one")).replaceFiles(anew);
      const searches: Promise<string[]>[] = [textsWith(store, "word")];
      const state = { finished: false };
      const finished = builds.finish().finally(() => (state.finished = true));
      while (!state.finished) {
        searches.push(textsWith(store, "word"));
        await new Promise<void>((done) => setImmediate(done));
      }
      await finished;
      searches.push(textsWith(store, "word"));
      const wholes = [oldTexts, newTexts].map((texts) => texts.toSorted().join());
      for (const found of await Promise.all(searches))
        assert.ok(wholes.includes(found.toSorted().join()), `a mixture: ${found.join()}`);
    },
  },
  {
    name: "builds: the build that answers can be written to meanwhile, and neither changes the other",
    needs: ["builds", "keyword"],
    async run({ store }) {
      await store.replaceFiles(old);
      const builds = partOf(store, "builds");
      const table = await builds.start("one");
      await table.replaceFiles(anew);
      await store.replaceFiles([fileOf("b.md", ["word late b"]), fileOf("d.md", ["word late d"])]);
      await store.removeFiles([
        { path: "a.md", source: "memory" },
        { path: "c.md", source: "memory" },
      ]);
      assert.deepEqual((await textsWith(store, "word")).toSorted(), ["word late b", "word late d"]);
      assert.deepEqual(await pathsIn(table), ["b.md", "c.md", "s.jsonl"]);
      await table.removeFiles([{ path: "b.md", source: "memory" }]);
      assert.deepEqual((await textsWith(store, "word")).toSorted(), ["word late b", "word late d"]);
      await builds.finish();
      assert.deepEqual((await textsWith(store, "word")).toSorted(), newTexts.slice(1));
    },
  },
  {
    name: "builds: the table of a build replaces, touches, removes and takes tails as the store does",
    needs: ["builds", "keyword"],
    async run({ store }) {
      const { chunks: _chunks, ...facts } = fileOf("t.md", []);
      const builds = partOf(store, "builds");
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
      assert.deepEqual((await textsWith(store, "word")).toSorted(), ["word r", "word t 1", "word t 2"]);
      assert.deepEqual((await factsIn(store))[1], { ...facts, cursor: "9", mtimeMs: 5.5 });
    },
  },
  {
    name: "builds: a build of the same name goes on where it was, one of another name begins empty",
    needs: ["builds", "keyword"],
    async run({ store }) {
      const builds = partOf(store, "builds");
      await (await builds.start("one")).replaceFiles([fileOf("a.md", ["word a"])]);
      const again = await builds.start("one");
      assert.deepEqual(await pathsIn(again), ["a.md"]);
      await again.replaceFiles([fileOf("b.md", ["word b"])]);
      const other = await builds.start("two");
      assert.deepEqual(await pathsIn(other), []);
      await other.replaceFiles([fileOf("c.md", ["word c"])]);
      assert.deepEqual(await pathsIn(await builds.start("one")), [], "at most one is being made");
      await builds.finish();
      assert.deepEqual(await textsWith(store, "word"), []);
      assert.deepEqual(await store.listFiles(), []);
    },
  },
  {
    name: "builds: an abandoned build leaves nothing, and the one that answers as it was",
    needs: ["builds", "keyword"],
    async run({ store }) {
      await store.replaceFiles(old);
      const before = await answersOf(store);
      const builds = partOf(store, "builds");
      await (await builds.start("one")).replaceFiles(anew);
      await builds.abandon();
      assert.deepEqual(await answersOf(store), before);
      assert.equal((await store.stats()).generation?.next, undefined);
      assert.deepEqual(await pathsIn(await builds.start("one")), [], "nothing to go on with");
      await builds.abandon();
      await builds.abandon();
    },
  },
  {
    name: "builds: one after the other takes over, and each can be written to afterwards",
    needs: ["builds", "keyword"],
    async run({ store }) {
      const builds = partOf(store, "builds");
      for (let round = 1; round <= 4; round++) {
        const table = await builds.start("the same name");
        assert.deepEqual(await pathsIn(table), [], "a build that took over is not gone on with");
        await table.replaceFiles([fileOf("a.md", [`word ${round}`])]);
        await builds.finish();
        await store.replaceFiles([fileOf("b.md", [`word late ${round}`])]);
        assert.deepEqual((await textsWith(store, "word")).toSorted(), [`word ${round}`, `word late ${round}`]);
        assert.deepEqual(await pathsIn(store), ["a.md", "b.md"]);
      }
    },
  },
  {
    name: "builds: stats say which build answers and how far the next one is",
    needs: ["builds"],
    async run({ store }) {
      const builds = partOf(store, "builds");
      await store.replaceFiles(old);
      const first = (await store.stats()).generation ?? assert.fail("a store with builds has stats.generation");
      assert.equal(first.next, undefined);
      await (await builds.start("chunking: 笔记's")).replaceFiles(anew);
      const { generation } = await store.stats();
      const next = generation?.next ?? assert.fail("stats.generation.next is missing");
      assert.equal(generation?.id, first.id);
      assert.ok(next.id > first.id, `${next.id} does not come after ${first.id}`);
      assert.deepEqual([next.name, next.files, next.chunks], ["chunking: 笔记's", 3, 4]);
      assert.ok(next.startedAt > Date.UTC(2020), "startedAt is in milliseconds since 1970");
      await builds.finish();
      const last = (await store.stats()).generation;
      assert.deepEqual([last?.id, last?.next], [next.id, undefined]);
      assert.ok((last?.builtAt ?? 0) >= next.startedAt, "builtAt is when it took over");
    },
  },
  {
    name: "builds: after a reopen the next build is there, is gone on with by its name, and takes over",
    needs: ["builds", "keyword", "reopens"],
    async run({ store, reopen }) {
      await store.replaceFiles(old);
      const before = await answersOf(store);
      await (await partOf(store, "builds").start("one")).replaceFiles(anew.slice(0, 2));
      const again = await reopen();
      assert.deepEqual(await answersOf(again), before);
      assert.equal((await again.stats()).generation?.next?.name, "one");
      const table = await partOf(again, "builds").start("one");
      assert.deepEqual(await pathsIn(table), ["b.md", "c.md"]);
      await table.replaceFiles(anew.slice(2));
      await partOf(again, "builds").finish();
      const last = await reopen();
      assert.deepEqual((await textsWith(last, "word")).toSorted(), newTexts);
      assert.equal((await last.stats()).generation?.next, undefined);
    },
  },
];

/** All that a caller can learn of the build that answers. */
async function answersOf(store: Parameters<typeof textsWith>[0]): Promise<unknown> {
  const { files, chunks, sources } = await store.stats();
  return [
    await factsIn(store),
    await store.searchKeyword({ terms: exactly("word", "old", "new"), sources: bothSources, limit: 50 }),
    { files, chunks, sources },
  ];
}
