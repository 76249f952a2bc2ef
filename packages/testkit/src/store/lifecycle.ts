import assert from "node:assert/strict";
import { assertPlainData } from "../helpers/plain-data.ts";
import { type StoreCheck, bothSources, exactly, fileOf, sha256, spaceOf, textsWith, vectorOf } from "./lab.ts";

/** What a store does over its life, and when calls overlap. */
export const lifecycleChecks: readonly StoreCheck[] = [
  {
    name: "lifecycle: files and words are there again after a reopen",
    needs: ["reopens", "keyword"],
    async run({ store, reopen }) {
      await store.replaceFiles([
        fileOf("a.md", ["word one", "word two"]),
        fileOf("b.md", ["word three"], { source: "sessions" }),
      ]);
      await store.removeFiles([{ path: "b.md", source: "memory" }]);
      const before = [
        await store.listFiles(),
        await store.searchKeyword({ terms: exactly("word"), sources: bothSources, limit: 9 }),
      ];
      const again = await reopen();
      assert.deepEqual(
        [
          await again.listFiles(),
          await again.searchKeyword({ terms: exactly("word"), sources: bothSources, limit: 9 }),
        ],
        before,
      );
      await again.replaceFiles([fileOf("a.md", ["word four"])]);
      assert.deepEqual((await textsWith(again, "word")).toSorted(), ["word four", "word three"]);
    },
  },
  {
    name: "lifecycle: vectors are there again after a reopen, each space its own",
    needs: ["reopens", "vector"],
    async run({ store, reopen }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      const hashes = fileOf("a.md", ["1", "2"]).chunks.map(({ hash }) => hash);
      for (const [offset, model] of ["m", "other"].entries()) {
        await store.putVectors(
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
    name: "lifecycle: quarantine is there again after a reopen",
    needs: ["reopens", "vector"],
    async run({ store, reopen }) {
      const space = spaceOf("m", 8);
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      await store.quarantine(space, [{ hash: sha256("1"), reason: "too long" }]);
      const again = await reopen();
      assert.deepEqual(
        (await again.quarantined(space, 5)).map(({ hash, reason }) => [hash, reason]),
        [[sha256("1"), "too long"]],
      );
      assert.deepEqual(
        (await again.pendingVectors(space, 5)).map(({ text }) => text),
        ["2"],
      );
    },
  },
  {
    name: "lifecycle: calls that overlap each get their own answer",
    needs: ["keyword"],
    async run({ store }) {
      await store.replaceFiles(
        Array.from({ length: 20 }, (_, index) => fileOf(`${index}.md`, [`word unique${index}`])),
      );
      const answers = await Promise.all(
        Array.from({ length: 60 }, async (_, index) => {
          if (index % 3 === 2) await store.replaceFiles([fileOf(`extra/${index}.md`, [`extra chunk${index}`])]);
          return textsWith(store, `unique${index % 20}`);
        }),
      );
      for (const [index, answer] of answers.entries()) assert.deepEqual(answer, [`word unique${index % 20}`]);
      assert.equal((await textsWith(store, "extra")).length, 20);
    },
  },
  {
    name: "lifecycle: a file that is replaced by several calls at once holds one of the versions whole",
    needs: ["keyword"],
    async run({ store }) {
      const versions = Array.from({ length: 12 }, (_, version) =>
        fileOf(
          "a.md",
          [1, 2, 3].map((part) => `part version${version} piece${part}`),
        ),
      );
      await Promise.all(versions.map((version) => store.replaceFiles([version])));
      const found = await textsWith(store, "part");
      assert.equal(found.length, 3);
      assert.equal(new Set(found.map((text) => text.split(" ")[1])).size, 1, found.join(", "));
      const [file] = await store.listFiles();
      const written = versions.find((version) => version.hash === file?.hash);
      assert.deepEqual(
        found.toSorted(),
        written?.chunks.map((chunk) => chunk.text),
        "the facts belong to the chunks",
      );
    },
  },
  {
    name: "lifecycle: stats count files, chunks and their bytes, in all and by source",
    async run({ store }) {
      await store.replaceFiles([
        { ...fileOf("a.md", ["one", "two"]), size: 1000 },
        { ...fileOf("b.md", ["笔记🙂"]), size: 30 },
        { ...fileOf("a.md", ["four"], { source: "sessions" }), size: 7_000_000_000 },
      ]);
      const stats = await store.stats();
      assert.deepEqual([stats.files, stats.chunks], [3, 4]);
      assert.deepEqual(
        stats.sources.toSorted((left, right) => left.source.localeCompare(right.source)),
        [
          { source: "memory", files: 2, chunks: 3, bytes: 1030, chunkBytes: 16 },
          { source: "sessions", files: 1, chunks: 1, bytes: 7_000_000_000, chunkBytes: 4 },
        ],
      );
      assert.deepEqual([stats.cachedVectors, stats.cachedVectorBytes], [0, 0]);
      for (const value of [stats.databaseBytes, stats.walBytes, stats.reusableBytes])
        assert.ok(Number.isFinite(value) && value >= 0);
    },
  },
  {
    name: "lifecycle: health is plain data that says where the store is",
    async run({ store }) {
      const health = store.health();
      assertPlainData(health, "health");
      assert.notEqual(health.location, "");
      assert.ok(Array.isArray(health.notices));
    },
  },
];
