import assert from "node:assert/strict";
import { type StoreCheck, fileOf } from "../lab.ts";
import { byNumber, embed, one, spaceOf, textsNear, two, vectorOf } from "./vector-lab.ts";

const texts: readonly string[] = ["1", "2", "3", "4", "5"];
/** The vector that the next text has in the other space. */
const shifted = (text: string): Float32Array => byNumber(String((Number(text) % texts.length) + 1));

/** Which vectors are compared with each other. */
export const spaceChecks: readonly StoreCheck[] = [
  {
    name: "vector: two spaces of one width never mix",
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", texts)]);
      await embed(store, one, texts);
      assert.deepEqual(await textsNear(store, two, byNumber("1")), [], "the other space is empty");
      for (const other of [
        { ...one, providerKey: "another task" },
        { ...one, provider: "another" },
      ])
        assert.deepEqual(await textsNear(store, other, byNumber("1")), []);
      await embed(store, two, texts, shifted);
      assert.deepEqual(await textsNear(store, one, byNumber("2"), 1), ["2"]);
      assert.deepEqual(await textsNear(store, two, byNumber("2"), 1), ["1"]);
      await embed(store, two, ["4"], () => byNumber("9"));
      assert.deepEqual(
        await textsNear(store, one, byNumber("4"), 1),
        ["4"],
        "what is put into one is not in the other",
      );
      assert.deepEqual(await textsNear(store, two, byNumber("9"), 1), ["4"]);
    },
  },
  {
    name: "vector: a space answers whole while another one is being filled",
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", texts)]);
      await embed(store, one, texts);
      for (const [index, text] of texts.entries()) {
        await embed(store, two, [text], shifted);
        assert.deepEqual(await textsNear(store, one, byNumber(text), 1), [text]);
        assert.equal((await textsNear(store, one, byNumber(text))).length, texts.length);
        assert.equal((await textsNear(store, two, byNumber(text))).length, index + 1);
      }
    },
  },
  {
    name: "vector: a space that is come back to has its vectors, beside those of chunks that came meanwhile",
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", texts), fileOf("b.md", ["6"])]);
      await embed(store, one, [...texts, "6"]);
      await embed(store, two, [...texts, "6"], shifted);
      await store.replaceFiles([fileOf("c.md", ["6", "7"])]);
      await store.removeFiles([{ path: "b.md", source: "memory" }]);
      await embed(store, two, ["7"]);
      assert.deepEqual((await textsNear(store, one, byNumber("6"))).toSorted(), [...texts, "6"]);
      assert.deepEqual(await textsNear(store, one, byNumber("6"), 1), ["6"]);
      assert.equal((await textsNear(store, two, byNumber("6"))).length, texts.length + 2);
    },
  },
  {
    name: "vector: a space of another width under the same name is another space",
    async run({ store }) {
      await store.replaceFiles([fileOf("a.md", ["1", "2"])]);
      for (const width of [24, 7, 1024, 24, 7]) {
        const space = spaceOf("m", width);
        await embed(store, space, ["1", "2"], (text) => vectorOf(Number(text), width));
        assert.deepEqual(await textsNear(store, space, vectorOf(2, width), 1), ["2"]);
      }
      assert.deepEqual(await textsNear(store, spaceOf("m", 7), vectorOf(1, 7), 1), ["1"]);
    },
  },
  {
    name: "vector: a space that nobody has written to is empty, whatever its names",
    async run({ store }) {
      const odd = { provider: `'; DROP "x`, model: "模型/\\\0:%", providerKey: "a|b\n🙂", dimensions: 24 };
      assert.deepEqual(await textsNear(store, odd, byNumber("1")), []);
      await store.replaceFiles([fileOf("a.md", ["1"])]);
      assert.deepEqual(await textsNear(store, odd, byNumber("1")), []);
      await embed(store, odd, ["1"]);
      assert.deepEqual(await textsNear(store, odd, byNumber("1")), ["1"]);
      assert.deepEqual(await textsNear(store, { ...odd, providerKey: "a|b" }, byNumber("1")), []);
    },
  },
];
