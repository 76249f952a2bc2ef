import assert from "node:assert/strict";
import { assertPlainData } from "../helpers/plain-data.ts";
import { type StoreCheck, bothSources, exactly, fileOf, listIn, textsWith } from "./lab.ts";
import { byNumber, embed, one, rowsNear, textsNear } from "./vectors/vector-lab.ts";

/** What a store says of itself, and what it does for its size. */
export const statsChecks: readonly StoreCheck[] = [
  {
    name: "stats: they are plain data, count the chunks, and say where the store is without a key",
    async run({ store }) {
      await store.replaceFiles([
        fileOf("a.md", ["one", "two", "two"]),
        fileOf("a.md", ["four"], { source: "sessions" }),
        fileOf("none.md", []),
      ]);
      const stats = await store.stats();
      assertPlainData(stats, "stats");
      assert.equal(stats.chunks, 4);
      assert.ok(Number.isFinite(stats.bytes) && stats.bytes >= 0, `${stats.bytes} bytes`);
      assert.notEqual(stats.location.trim(), "");
      const secret = /:\/\/[^/@\s]*:[^/@\s]+@|(?:key|token|secret|password|signature)=[^&\s]+/iu;
      assert.doesNotMatch(stats.location, secret);
      for (const notice of stats.notices ?? []) assert.doesNotMatch(notice, /[\r\n]/u, "a notice is one line");
      await store.removeFiles([{ path: "a.md", source: "memory" }]);
      assert.equal((await store.stats()).chunks, 1);
    },
  },
  {
    name: "compact: gives space back, changes no answer, and leaves the store fit for use",
    needs: ["compact"],
    async run({ store }) {
      const filler = Array.from({ length: 200 }, (_, index) => fileOf(`gone/${index}.md`, [`word filler ${index}`]));
      const texts = ["1", "2", "3"];
      await store.replaceFiles([...filler, fileOf("a.md", texts), fileOf("b.md", ["word old"])]);
      await embed(store, one, texts);
      await store.replaceFiles([fileOf("b.md", ["word b"])]);
      await store.removeFiles(filler);
      const told = async (): Promise<unknown> => [
        await listIn(store),
        await store.searchKeyword({ terms: exactly("word", "2", "filler"), sources: bothSources, limit: 20 }),
        await rowsNear(store, one, byNumber("2")),
      ];
      const before = await told();
      const report = (await store.compact?.()) ?? assert.fail("compact gave no report");
      assertPlainData(report, "the report of compact");
      const { beforeBytes, afterBytes } = report;
      assert.ok(Number.isFinite(beforeBytes) && afterBytes >= 0, `${beforeBytes} to ${afterBytes}`);
      assert.ok(afterBytes <= beforeBytes, `${beforeBytes} to ${afterBytes}`);
      assert.deepEqual(await told(), before);
      await store.replaceFiles([fileOf("after.md", ["word after"])]);
      assert.deepEqual(await textsWith(store, "word"), ["word after", "word b"]);
    },
  },
  {
    name: "compact: searches go on meanwhile",
    needs: ["compact"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      await embed(store, one, ["1", "2"]);
      const compacted = store.compact?.();
      const found = await Promise.all(
        Array.from({ length: 10 }, () => Promise.all([textsWith(store, "1"), textsNear(store, one, byNumber("2"), 1)])),
      );
      await compacted;
      for (const answer of found) assert.deepEqual(answer, [["1"], ["2"]]);
    },
  },
];
