import { expect, test } from "vitest";
import { worthAsking } from "./bm25.ts";

function asked(holders: Readonly<Record<string, number>>, chunkCount: number): string[] {
  return worthAsking(Object.keys(holders), (word) => holders[word] ?? 0, chunkCount);
}

test("among many chunks a word that stands in more than a fifth of them is left out, one in exactly a fifth is not", () => {
  expect(asked({ rare: 3, fifth: 2000, common: 2001 }, 10_000)).toEqual(["rare", "fifth"]);
});

test("is asked for all the same where nothing rarer is there to find", () => {
  expect(asked({ common: 2001, nowhere: 0 }, 10_000)).toEqual(["common"]);
});

test("among few chunks every word that stands anywhere is asked for", () => {
  expect(asked({ rare: 3, common: 5000, nowhere: 0 }, 5000)).toEqual(["rare", "common"]);
});
