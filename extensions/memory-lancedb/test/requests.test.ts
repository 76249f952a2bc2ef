import type { ChunkStore } from "@memslot/indexing";
import { randomFrom } from "@memslot/test-tools/random";
import { expect, test } from "vitest";
import { embed, fileOf, openIn, requestsOf, spaceOf, startStorage, textOf, vectorOf, words } from "./support/stores.ts";

const space = spaceOf("m", 64);

/** Notes with words as rare as in a language. */
function notes(count: number, chunks: number) {
  const random = randomFrom(7);
  const word = (): string => `w${Math.floor((random.below(3000) * random.below(3000)) / 3000)}`;
  return Array.from({ length: count }, (_, file) =>
    fileOf(
      `notes/${file}.md`,
      Array.from({ length: chunks }, (_chunk, part) =>
        [`n${file}p${part}`, ...Array.from({ length: 60 }, word)].join(" "),
      ),
    ),
  );
}

type Kind = "keyword" | "vector" | "hybrid";
const kinds: readonly Kind[] = ["keyword", "vector", "hybrid"];

/** As a host searches: it asks whether something has changed, then the legs about the state that it was told of. */
async function search(
  store: ChunkStore,
  word: string,
  kind: Kind = "hybrid",
): Promise<{ byWords: string[]; byVector: string[] }> {
  const at = await store.revision?.();
  const [found, near] = await Promise.all([
    kind !== "vector" &&
      store.searchKeyword({ terms: words(word, "w100", "w2000"), sources: ["memory"], limit: 20, at }),
    kind !== "keyword" && store.searchVector({ space, vector: vectorOf(word, 64), sources: ["memory"], limit: 20, at }),
  ]);
  return { byWords: (found || { rows: [] }).rows.map(textOf), byVector: (near || { rows: [] }).rows.map(textOf) };
}

test("a search of 100 notes with 10 chunks each is two requests in a running process, and twenty at most in a fresh one", async () => {
  const storage = await startStorage();
  const files = notes(100, 10);
  const writer = await openIn(storage);
  for (let start = 0; start < files.length; start += 50) {
    await writer.replaceFiles(files.slice(start, start + 50));
    await embed(writer, space, files.slice(start, start + 50));
  }
  // What is due behind the work is done.
  await writer.close();

  for (const kind of kinds) {
    let store = writer;
    let answer: Awaited<ReturnType<typeof search>> | undefined;
    const fresh = await requestsOf(storage, async () => {
      store = await openIn(storage);
      const at = await store.revision();
      await store.listFiles({ at });
      answer = await search(store, "n42p0", kind);
    });
    expect(fresh, kind).toBeLessThanOrEqual(20);
    expect(answer?.byWords.filter((text) => text.startsWith("n42p0 "))).toHaveLength(kind === "vector" ? 0 : 1);
    expect(answer?.byVector).toHaveLength(kind === "keyword" ? 0 : 20);
    for (const word of ["n7p0", "n11p0", "n99p0"]) {
      const running = await requestsOf(storage, async () => {
        answer = await search(store, word, kind);
      });
      expect(answer?.byWords.some((text) => text.startsWith(`${word} `))).toBe(kind !== "vector");
      expect(running, kind).toBe(2);
    }
    expect(await requestsOf(storage, () => store.revision())).toBe(2);
    await store.close();
  }

  // What another host has written costs its reading, once.
  const [store, other] = [await openIn(storage), await openIn(storage)];
  await search(store, "n42p0");
  await other.replaceFiles([fileOf("notes/new.md", ["newcomer"])]);
  let found: string[] = [];
  const after = await requestsOf(storage, async () => {
    found = (await search(store, "newcomer")).byWords;
  });
  expect(found).toContain("newcomer");
  expect(after).toBeLessThanOrEqual(8);
  expect(await requestsOf(storage, () => search(store, "newcomer"))).toBe(2);
});

test("an answer at a state is of that state or a later one, and without one it is of now", async () => {
  const storage = await startStorage();
  const [mine, theirs] = [await openIn(storage), await openIn(storage)];
  await mine.replaceFiles([fileOf("a.md", ["word a"])]);
  const find = async (at?: string): Promise<string[]> =>
    (await mine.searchKeyword({ terms: words("word"), sources: ["memory"], limit: 9, at })).rows.map(textOf).toSorted();
  const before = await mine.revision();
  await theirs.replaceFiles([fileOf("b.md", ["word b"])]);
  expect(await requestsOf(storage, () => find(before)), "nothing is asked of the bucket").toBeLessThanOrEqual(2);
  expect(await requestsOf(storage, () => find(before))).toBe(0);
  // A state that is not the one told last says nothing.
  expect(await find("another")).toEqual(["word a", "word b"]);
  await theirs.replaceFiles([fileOf("c.md", ["word c"])]);
  expect(await find()).toEqual(["word a", "word b", "word c"]);
  expect((await mine.listFiles()).map(({ path }) => path).toSorted()).toEqual(["a.md", "b.md", "c.md"]);
  const now = await mine.revision();
  await theirs.removeFiles([{ path: "a.md", source: "memory" }]);
  expect((await mine.listFiles({ at: now })).length).toBe(3);
  expect((await mine.listFiles()).length).toBe(2);
  await mine.replaceFiles([fileOf("d.md", ["word d"])]);
  expect(await find(now), "what this host has written itself is always there").toContain("word d");
});
