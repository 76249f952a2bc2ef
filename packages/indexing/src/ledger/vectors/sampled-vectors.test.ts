import { expect, test } from "vitest";
import { embed, fileOf, openHere, sha256, spaceOf, tempPath, vectorOf } from "../test/ledgers.ts";

const space = spaceOf("m");
const texts = Array.from({ length: 40 }, (_, index) => `text ${index}`);
const lowest = texts.toSorted((a, b) => (sha256(a) < sha256(b) ? -1 : 1));

test("a sample is of the chunks with the lowest hashes, each text once, with its vector", async () => {
  const store = openHere(tempPath());
  store.replaceFiles([fileOf("a.md", texts), fileOf("b.md", texts.slice(0, 5))]);
  embed(store, space, ...texts);
  const sample = store.sampleVectors(space, 7);
  expect(sample.map(({ text }) => text)).toEqual(lowest.slice(0, 7));
  expect(sample).toEqual(store.sampleVectors(space, 7));
  for (const { hash, text, vector } of sample) expect([hash, [...vector]]).toEqual([sha256(text), [...vectorOf(text)]]);
  expect(store.sampleVectors(space, 1000)).toHaveLength(texts.length);
  store.close();
});

test("only what answers and has a vector of this space is in it", async () => {
  const store = openHere(tempPath());
  expect(store.sampleVectors(space, 10)).toEqual([]);
  store.replaceFiles([fileOf("a.md", texts)]);
  embed(store, space, ...texts.slice(0, 3), "a text that no chunk has");
  const build = store.buildStart("next");
  store.nextReplaceFiles(build, [fileOf("a.md", ["of the next build"])]);
  embed(store, space, "of the next build");
  expect(new Set(store.sampleVectors(space, 10).map(({ text }) => text))).toEqual(new Set(texts.slice(0, 3)));
  expect(store.sampleVectors(spaceOf("other"), 10)).toEqual([]);
  store.removeFiles([fileOf("a.md", texts)]);
  expect(store.sampleVectors(space, 10)).toEqual([]);
  store.close();
});

test("a note about a space outlives the ledger, and is of its store alone", async () => {
  const path = tempPath();
  const first = openHere(path);
  first.note("weight:x", "0.1");
  first.close();
  const [again, other] = [openHere(path), openHere(path, { store: "two" })];
  expect([again.noted("weight:x"), other.noted("weight:x")]).toEqual(["0.1", undefined]);
  again.close();
  other.close();
});
