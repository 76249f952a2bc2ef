import type { FileChunks } from "@memslot/indexing";
import { tempFolder } from "@memslot/test-tools/files";
import { expect, test } from "vitest";
import { ask, embed, fileOf, find, near, open, openIn, spaceOf, startStorage, type Store } from "./support/stores.ts";

const space = spaceOf("m");

async function inOneBucket(): Promise<[Store, Store]> {
  const storage = await startStorage();
  return [await openIn(storage), await openIn(storage)];
}

async function inOneFolder(): Promise<[Store, Store]> {
  const stateDir = tempFolder();
  return [await open(stateDir), await open(stateDir)];
}

test.each([
  ["hosts that share a bucket", inOneBucket],
  ["processes that share a folder", inOneFolder],
])("two %s and write the same file at once leave it once, and two versions of it leave one", async (_who, openBoth) => {
  const [mine, theirs] = await openBoth();
  for (let round = 0; round < 4; round++) {
    const same = fileOf(`same${round}.md`, [`same${round} one`, `same${round} two`]);
    const versions: FileChunks[] = ["mine", "theirs"].map((whose) =>
      fileOf(`other${round}.md`, [`other${round} ${whose} first`, `other${round} ${whose} second`]),
    );
    await Promise.all([
      mine.replaceFiles([same, ...versions.slice(0, 1)]),
      theirs.replaceFiles([same, ...versions.slice(1)]),
    ]);
    for (const store of [mine, theirs]) {
      await store.revision();
      expect((await store.listFiles()).filter(({ path }) => path.includes(`${round}`))).toHaveLength(2);
      expect((await find(store, `same${round}`)).toSorted()).toEqual([`same${round} one`, `same${round} two`]);
      const [first = "", ...rest] = await find(store, `other${round}`);
      const whose = first.split(" ")[1] ?? "";
      expect([first, ...rest].toSorted()).toEqual([`other${round} ${whose} first`, `other${round} ${whose} second`]);
      expect((await ask(store, `same${round}`)).documentFrequencies).toEqual([2]);
    }
  }
});

test("two hosts that put the vector of a text at once leave it once, and a third has it", async () => {
  const storage = await startStorage();
  const [mine, theirs] = [await openIn(storage), await openIn(storage)];
  const file = fileOf("a.md", ["word a", "word b"]);
  await mine.replaceFiles([file]);
  const before = await mine.revision();
  await Promise.all([embed(mine, space, [file]), embed(theirs, space, [file])]);
  expect(await mine.revision(), "other hosts hear of it, so that they do not embed it").not.toBe(before);
  const third = await openIn(storage);
  expect(await third.listFiles()).toMatchObject([{ path: "a.md", embedded: [space] }]);
  expect((await near(third, space, "word a", 5)).toSorted()).toEqual(["word a", "word b"]);
});

test("a host finds the finished rebuild of another one, not an unfinished one, and continues in it", async () => {
  const storage = await startStorage();
  const [mine, theirs] = [await openIn(storage), await openIn(storage)];
  await mine.replaceFiles([fileOf("a.md", ["old words"])]);
  expect(await find(theirs, "words")).toEqual(["old words"]);
  const build = await mine.build("again");
  await build.replaceFiles([fileOf("a.md", ["new words"])]);
  expect(await find(theirs, "words")).toEqual(["old words"]);
  await build.finish();
  expect(await find(theirs, "words")).toEqual(["new words"]);
  await expect(build.finish(), "it cannot be finished twice").rejects.toMatchObject({ code: "BUSY" });
  await theirs.replaceFiles([fileOf("b.md", ["more words"])]);
  expect((await find(mine, "words")).toSorted()).toEqual(["more words", "new words"]);
  expect(storage.keys("notes", "").filter((key) => key.includes("v2_files_1.lance"))).toEqual([]);
});
