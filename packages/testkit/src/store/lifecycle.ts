import assert from "node:assert/strict";
import { isAbort } from "@memslot/core";
import type { ChunkStore } from "@memslot/indexing";
import { type StoreCheck, bothSources, chunkCountOf, exactly, fileOf, listIn, rowsWith, textsWith } from "./lab.ts";
import { byNumber, embed, one, rowsNear, spaceOf, textsNear, two } from "./vectors/vector-lab.ts";

/** The pieces of one version of a file. */
const versionOf = (version: string): string[] => [1, 2, 3].map((piece) => `part ${version} ${piece}`);

/** What a store does over its life, and when searches overlap with a write. */
export const lifecycleChecks: readonly StoreCheck[] = [
  {
    name: "lifecycle: files and words are there again after a reopen",
    needs: ["reopens"],
    async run({ store, reopen }) {
      await store.replaceFiles([
        fileOf("a.md", ["word one", "word two"]),
        fileOf("b.md", ["word three"], { source: "sessions" }),
        fileOf("empty.md", []),
        fileOf("gone.md", ["word gone"]),
      ]);
      await store.removeFiles([{ path: "gone.md", source: "memory" }]);
      const told = async (from: ChunkStore): Promise<unknown> => [
        await listIn(from),
        await from.searchKeyword({ terms: exactly("word"), sources: bothSources, limit: 9 }),
        await chunkCountOf(from),
      ];
      const before = await told(store);
      const again = await reopen();
      assert.deepEqual(await told(again), before);
      await again.replaceFiles([fileOf("a.md", ["word four"])]);
      assert.deepEqual(await textsWith(again, "word"), ["word four", "word three"]);
      assert.deepEqual(await textsWith(await reopen(), "word"), ["word four", "word three"]);
    },
  },
  {
    name: "lifecycle: vectors are there again after a reopen, each space its own",
    needs: ["reopens"],
    async run({ store, reopen }) {
      const other = spaceOf("two", 7);
      await store.replaceFiles([fileOf("a.md", ["1", "2"]), fileOf("b.md", ["3"])]);
      await embed(store, one, ["1", "2"]);
      await embed(store, two, ["1", "2"], (text) => byNumber(`${text}0`));
      const before = [await rowsNear(store, one, byNumber("2")), await rowsNear(store, two, byNumber("10"))];
      const again = await reopen();
      const after = [await rowsNear(again, one, byNumber("2")), await rowsNear(again, two, byNumber("10"))];
      assert.deepEqual(after, before);
      assert.equal(after[0]?.length, 2);
      assert.deepEqual(
        (
          await again.searchVector({
            space: other,
            vector: new Float32Array(7).fill(1),
            sources: bothSources,
            limit: 3,
          })
        ).rows,
        [],
      );
      await again.replaceFiles([fileOf("c.md", ["2"])]);
      await embed(again, one, ["3"]);
      assert.deepEqual(await textsNear(again, one, byNumber("2"), 2), ["2", "2"]);
      assert.deepEqual(await textsNear(await reopen(), one, byNumber("3"), 1), ["3"]);
    },
  },
  {
    name: "lifecycle: nothing that was done is lost when a store is closed at once",
    needs: ["reopens"],
    async run({ store, reopen }) {
      let open = store;
      for (const [index, text] of ["word a", "word b", "word c"].entries()) {
        await open.replaceFiles([fileOf(`${index}.md`, [text])]);
        open = await reopen();
      }
      await open.removeFiles([{ path: "1.md", source: "memory" }]);
      open = await reopen();
      await embed(open, one, ["word a"], () => byNumber("1"));
      open = await reopen();
      assert.deepEqual(await textsWith(open, "word"), ["word a", "word c"]);
      assert.deepEqual(await textsNear(open, one, byNumber("1")), ["word a"]);
    },
  },
  {
    name: "lifecycle: searches that overlap each get their own answer",
    async run({ store }) {
      const numbers = Array.from({ length: 20 }, (_, index) => index);
      await store.replaceFiles(numbers.map((index) => fileOf(`${index}.md`, [`word unique${index}`])));
      const texts = numbers.map((index) => `word unique${index}`);
      await embed(store, one, texts, (text) => byNumber(text.slice(11)));
      const answers = await Promise.all(
        [...numbers, ...numbers].map((index) =>
          Promise.all([textsWith(store, `unique${index}`), textsNear(store, one, byNumber(String(index)), 1)]),
        ),
      );
      for (const [index, answer] of answers.entries()) {
        const text = `word unique${index % 20}`;
        assert.deepEqual(answer, [[text], [text]]);
      }
    },
  },
  {
    name: "lifecycle: searches beside a write find each file whole, as it was or as it is",
    async run({ store }) {
      const paths = Array.from({ length: 30 }, (_, index) => `${index}.md`);
      const filesOf = (version: string) => paths.map((path) => fileOf(path, versionOf(version)));
      await store.replaceFiles(filesOf("v0"));
      for (const version of ["v1", "v2", "v3"]) {
        const written = store.replaceFiles(filesOf(version));
        const searches: ReturnType<typeof rowsWith>[] = [];
        for (let turn = 0; turn < 5; turn++) {
          searches.push(rowsWith(store, "part"));
          await new Promise<void>((done) => setImmediate(done));
        }
        const answers = await Promise.all(searches);
        await written;
        for (const rows of [...answers, await rowsWith(store, "part")]) {
          for (const path of paths) {
            const own = rows.filter((row) => row.path === path).map(({ hash }) => hash);
            const wholes = ["v0", "v1", "v2", "v3"].map((each) => fileOf(path, versionOf(each)).chunks);
            const isWhole = wholes.some(
              (chunks) =>
                chunks
                  .map(({ hash }) => hash)
                  .toSorted()
                  .join() === own.toSorted().join(),
            );
            assert.ok(isWhole, `${path} is found by ${own.length} chunks, not of one version`);
          }
        }
        assert.deepEqual(new Set(await textsWith(store, version)), new Set(versionOf(version)));
      }
    },
  },
  {
    name: "lifecycle: a search that is aborted ends, and the next one answers",
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["word one"])]);
      await embed(store, one, ["word one"], () => byNumber("1"));
      const search = async (signal: AbortSignal): Promise<number[]> => {
        const wanted = { sources: bothSources, limit: 9, terms: exactly("word"), space: one, vector: byNumber("1") };
        const answers = [store.searchKeyword(wanted, { signal }), store.searchVector(wanted, { signal })];
        return (await Promise.all(answers)).map(({ rows }) => rows.length);
      };
      const [aborted, soon] = [AbortSignal.abort(), new AbortController()];
      const ended = [aborted, soon.signal].map((signal) => search(signal).catch((error: unknown) => error));
      soon.abort();
      for (const end of await Promise.all(ended)) if (!isAbort(end)) assert.deepEqual(end, [1, 1]);
      assert.deepEqual(await search(new AbortController().signal), [1, 1]);
    },
  },
  {
    name: "lifecycle: what is written is seen by the next search, by words and by vectors",
    async run({ store }) {
      for (let round = 0; round < 10; round++) {
        const text = `word r${round}`;
        await store.replaceFiles([fileOf("a.md", [text])]);
        assert.deepEqual(await textsWith(store, "word"), [text]);
        await embed(store, one, [text], () => byNumber(String(round)));
        assert.deepEqual(await textsNear(store, one, byNumber(String(round))), [text]);
      }
    },
  },
];
