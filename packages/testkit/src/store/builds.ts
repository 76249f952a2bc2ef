import assert from "node:assert/strict";
import type { ChunkStore } from "@memslot/indexing";
import {
  type StoreCheck,
  bothSources,
  buildOf,
  chunkCountOf,
  chunkOf,
  exactly,
  fileOf,
  listIn,
  pathsIn,
  textsWith,
} from "./lab.ts";

const old = [fileOf("a.md", ["word old a"]), fileOf("b.md", ["word old b"])];
const anew = [
  fileOf("b.md", ["word new b"]),
  fileOf("c.md", ["word new c", "word other"]),
  fileOf("s.jsonl", ["word new s"], { source: "sessions" }),
];
const newTexts = ["word new b", "word new c", "word new s", "word other"];

/** All that a caller can learn of the build that answers, but for vectors. */
async function answersOf(store: ChunkStore): Promise<unknown> {
  return [
    await listIn(store),
    await store.searchKeyword({ terms: exactly("word", "old", "new"), sources: bothSources, limit: 50 }),
    await chunkCountOf(store),
  ];
}

/** What a store does while a whole new build is made beside the one that answers. */
export const buildChecks: readonly StoreCheck[] = [
  {
    name: "builds: nothing of the next build is found, listed or counted until it is finished",
    needs: ["build"],
    async run({ store }) {
      await store.replaceFiles(old);
      const before = await answersOf(store);
      const build = await buildOf(store, "one");
      assert.deepEqual(await pathsIn(build), [], "a new build is empty");
      await build.replaceFiles(anew);
      assert.deepEqual(await answersOf(store), before);
      assert.deepEqual(await pathsIn(build), ["b.md", "c.md", "s.jsonl"]);
    },
  },
  {
    name: "builds: with finish the next build answers, whole, and nothing is left of the old one",
    needs: ["build"],
    async run({ store }) {
      const many = Array.from({ length: 400 }, (_, index) => fileOf(`old/${index}.md`, [`word old ${index}`]));
      await store.replaceFiles(many);
      const build = await buildOf(store, "one");
      await build.replaceFiles(anew);
      await build.finish();
      assert.deepEqual(await textsWith(store, "word"), newTexts);
      assert.deepEqual(await textsWith(store, "old"), []);
      assert.deepEqual(await listIn(store), await sorted(anew));
      const answer = await store.searchKeyword({ terms: exactly("old", "new"), sources: bothSources, limit: 1 });
      assert.deepEqual([answer.chunkCount, answer.documentFrequencies], [4, [0, 3]]);
      assert.equal(await chunkCountOf(store), 4);
    },
  },
  {
    name: "builds: searches that run while one is finished find all of the old or all of the new",
    needs: ["build"],
    async run({ store }) {
      const oldTexts = Array.from({ length: 30 }, (_, index) => `word old ${index}`);
      await store.replaceFiles(oldTexts.map((text, index) => fileOf(`old/${index}.md`, [text])));
      const build = await buildOf(store, "one");
      await build.replaceFiles(anew);
      const searches: Promise<string[]>[] = [textsWith(store, "word")];
      const state = { finished: false };
      const finished = build.finish().finally(() => (state.finished = true));
      while (!state.finished) {
        // A search of each moment, and no flood that keeps the build from its end.
        if (searches.length < 100) searches.push(textsWith(store, "word"));
        await new Promise<void>((done) => setImmediate(done));
      }
      await finished;
      searches.push(textsWith(store, "word"));
      const wholes = [oldTexts, newTexts].map((texts) => texts.toSorted().join());
      for (const found of await Promise.all(searches))
        assert.ok(wholes.includes(found.join()), `a mixture: ${found.join()}`);
    },
  },
  {
    name: "builds: the build that answers can be written to meanwhile, and neither changes the other",
    needs: ["build"],
    async run({ store }) {
      await store.replaceFiles(old);
      const build = await buildOf(store, "one");
      await build.replaceFiles(anew);
      await store.replaceFiles([fileOf("b.md", ["word late b"]), fileOf("d.md", ["word late d"])]);
      await store.removeFiles([
        { path: "a.md", source: "memory" },
        { path: "c.md", source: "memory" },
      ]);
      assert.deepEqual(await textsWith(store, "word"), ["word late b", "word late d"]);
      assert.deepEqual(await pathsIn(build), ["b.md", "c.md", "s.jsonl"]);
      await build.removeFiles([{ path: "b.md", source: "memory" }]);
      assert.deepEqual(await textsWith(store, "word"), ["word late b", "word late d"]);
      await build.finish();
      assert.deepEqual(await textsWith(store, "word"), newTexts.slice(1));
    },
  },
  {
    name: "builds: one replaces, removes and takes tails as the store does",
    needs: ["build"],
    async run({ store }) {
      const build = await buildOf(store, "one");
      await build.replaceFiles([fileOf("r.md", ["word gone"]), fileOf("x.md", ["word gone"]), fileOf("e.md", [])]);
      await build.replaceFiles([fileOf("r.md", ["word r"]), fileOf("t.md", ["word t 1", "word t gone"])]);
      const tail = { ...fileOf("t.md", ["grown"]), fromLine: 11, chunks: [chunkOf("word t 2", 11)] };
      await build.replaceFiles([tail]);
      await build.removeFiles([
        { path: "x.md", source: "memory" },
        { path: "ghost.md", source: "memory" },
      ]);
      const listed = await listIn(build);
      assert.deepEqual(
        listed.map(({ path, hash }) => [path, hash]),
        [fileOf("e.md", []), fileOf("r.md", ["word r"]), tail].map(({ path, hash }) => [path, hash]),
      );
      await build.finish();
      assert.deepEqual(await textsWith(store, "word"), ["word r", "word t 1", "word t 2"]);
      assert.deepEqual(await listIn(store), listed);
    },
  },
  {
    name: "builds: one of the same name goes on where it was, one of another name begins empty",
    needs: ["build"],
    async run({ store }) {
      await (await buildOf(store, "one")).replaceFiles([fileOf("a.md", ["word a"])]);
      const again = await buildOf(store, "one");
      assert.deepEqual(await pathsIn(again), ["a.md"]);
      await again.replaceFiles([fileOf("b.md", ["word b"])]);
      assert.deepEqual(await pathsIn(await buildOf(store, "one")), ["a.md", "b.md"]);
      const other = await buildOf(store, "two");
      assert.deepEqual(await pathsIn(other), []);
      await other.replaceFiles([fileOf("c.md", ["word c"])]);
      const last = await buildOf(store, "one");
      assert.deepEqual(await pathsIn(last), [], "at most one is being made");
      await last.finish();
      assert.deepEqual([await textsWith(store, "word"), await store.listFiles()], [[], []]);
    },
  },
  {
    name: "builds: an abandoned one leaves nothing, and the one that answers as it was",
    needs: ["build"],
    async run({ store }) {
      await store.replaceFiles(old);
      const before = await answersOf(store);
      const build = await buildOf(store, "one");
      await build.replaceFiles(anew);
      await build.abandon();
      assert.deepEqual(await answersOf(store), before);
      const again = await buildOf(store, "one");
      assert.deepEqual(await pathsIn(again), [], "nothing to go on with");
      await again.abandon();
      assert.deepEqual(await answersOf(store), before);
    },
  },
  {
    name: "builds: one after the other answers, and each can be written to afterwards",
    needs: ["build"],
    async run({ store }) {
      for (let round = 1; round <= 4; round++) {
        const build = await buildOf(store, "the same name");
        assert.deepEqual(await pathsIn(build), [], "a build that was finished is not gone on with");
        await build.replaceFiles([fileOf("a.md", [`word ${round}`])]);
        await build.finish();
        await store.replaceFiles([fileOf("b.md", [`word late ${round}`])]);
        assert.deepEqual(await textsWith(store, "word"), [`word ${round}`, `word late ${round}`]);
        assert.deepEqual(await pathsIn(store), ["a.md", "b.md"]);
      }
    },
  },
  {
    name: "builds: after a reopen the next build is there, is gone on with by its name, and answers",
    needs: ["build", "reopens"],
    async run({ store, reopen }) {
      const name = "chunking: 笔记's {1} %/\\";
      await store.replaceFiles(old);
      const before = await answersOf(store);
      await (await buildOf(store, name)).replaceFiles(anew.slice(0, 2));
      const again = await reopen();
      assert.deepEqual(await answersOf(again), before);
      const build = await buildOf(again, name);
      assert.deepEqual(await pathsIn(build), ["b.md", "c.md"]);
      await build.replaceFiles(anew.slice(2));
      await build.finish();
      const last = await reopen();
      assert.deepEqual(await textsWith(last, "word"), newTexts);
      assert.deepEqual(await pathsIn(await buildOf(last, name)), []);
    },
  },
];

async function sorted(files: typeof anew): Promise<unknown> {
  return await listIn({ listFiles: async () => files });
}
