import assert from "node:assert/strict";
import type { ChunkStore } from "@memslot/indexing";
import { spaceName } from "@memslot/indexing";
import { type StoreCheck, fileOf } from "../lab.ts";
import { embed, one, two } from "./vector-lab.ts";

/** In which spaces a file is whole. */
async function embeddedOf(store: ChunkStore, path: string): Promise<string[]> {
  const file = (await store.listFiles()).find((listed) => listed.path === path);
  return (file?.embedded ?? assert.fail(`${path} has no "embedded"`)).map(spaceName).toSorted();
}

/** What other hosts are told of vectors. */
export const embeddedChecks: readonly StoreCheck[] = [
  {
    name: "embedded: a space is listed with a file when every chunk of it has its vector there",
    needs: ["embedded"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2", "2"]), fileOf("b.md", ["2"])]);
      assert.deepEqual([await embeddedOf(store, "a.md"), await embeddedOf(store, "b.md")], [[], []]);
      await embed(store, one, ["2"]);
      assert.deepEqual([await embeddedOf(store, "a.md"), await embeddedOf(store, "b.md")], [[], [spaceName(one)]]);
      await embed(store, one, ["1"]);
      await embed(store, two, ["1", "2"]);
      const both = [one, two].map(spaceName).toSorted();
      assert.deepEqual([await embeddedOf(store, "a.md"), await embeddedOf(store, "b.md")], [both, both]);
    },
  },
  {
    name: "embedded: a chunk that comes without a vector takes its file out, and one that goes puts it back",
    needs: ["embedded"],
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1"])]);
      await embed(store, one, ["1"]);
      await store.replaceFiles([fileOf("a.md", ["1", "3"])]);
      assert.deepEqual(await embeddedOf(store, "a.md"), []);
      await store.replaceFiles([{ ...fileOf("a.md", []), fromLine: 11 }]);
      assert.deepEqual(await embeddedOf(store, "a.md"), [spaceName(one)]);
    },
  },
  {
    name: "embedded: another store on the same place is told of it, too",
    needs: ["embedded", "reopens", "revision"],
    async run({ store, openBeside }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      const other = await openBeside();
      await embed(store, one, ["1", "2"]);
      assert.deepEqual(await embeddedOf(other, "a.md"), [spaceName(one)]);
    },
  },
];
