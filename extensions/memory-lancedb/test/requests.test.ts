import type { ChunkStore } from "@memslot/indexing";
import { expect, test } from "vitest";
import { openIn, requestsOf, startStorage } from "./support/buckets.ts";
import { embed, fileOf, randomFrom, spaceOf, textOf, vectorOf, words } from "./support/stores.ts";

const space = spaceOf("m", 64);

/** Notes with words as rare as in a language. */
function notes(count: number, chunks: number) {
  const random = randomFrom(7);
  const word = (): string => `w${Math.floor(random() * random() * 3000)}`;
  return Array.from({ length: count }, (_, file) =>
    fileOf(
      `notes/${file}.md`,
      Array.from({ length: chunks }, (_chunk, part) =>
        [`n${file}p${part}`, ...Array.from({ length: 60 }, word)].join(" "),
      ),
    ),
  );
}

/** As a host searches: it asks whether something has changed, then for both legs. */
async function search(store: ChunkStore, word: string): Promise<{ byWords: string[]; byVector: string[] }> {
  await store.revision?.();
  const [found, near] = await Promise.all([
    store.searchKeyword({ terms: words(word, "w100", "w2000"), sources: ["memory"], limit: 20 }),
    store.searchVector({ space, vector: vectorOf(word, 64), sources: ["memory"], limit: 20 }),
  ]);
  return { byWords: found.rows.map(textOf), byVector: near.rows.map(textOf) };
}

test.each([
  [200, 1],
  [100, 10],
])(
  "a search of %i notes with %i chunks each is two requests in a running process, and twenty at most in a fresh one",
  { timeout: 120_000 },
  async (count, chunks) => {
    const storage = await startStorage();
    const files = notes(count, chunks);
    const writer = await openIn(storage);
    for (let start = 0; start < count; start += 50) {
      await writer.replaceFiles(files.slice(start, start + 50));
      await embed(writer, space, files.slice(start, start + 50));
    }
    // What is due behind the work is done.
    await writer.close();

    let store = writer;
    let answer: Awaited<ReturnType<typeof search>> | undefined;
    const fresh = await requestsOf(storage, async () => {
      store = await openIn(storage);
      await store.revision();
      await store.listFiles();
      answer = await search(store, "n42p0");
    });
    expect(fresh).toBeLessThanOrEqual(20);
    expect(answer?.byWords.filter((text) => text.startsWith("n42p0 "))).toHaveLength(1);
    expect(answer?.byVector).toHaveLength(20);
    for (const word of ["n7p0", "n11p0", "n99p0"]) {
      const running = await requestsOf(storage, async () => {
        answer = await search(store, word);
      });
      expect(answer?.byWords.some((text) => text.startsWith(`${word} `))).toBe(true);
      expect(running).toBe(2);
    }
    expect(await requestsOf(storage, () => store.revision())).toBe(2);

    // What another host has written costs its reading, once.
    const other = await openIn(storage);
    await other.replaceFiles([fileOf("notes/new.md", ["newcomer"])]);
    const after = await requestsOf(storage, async () => {
      answer = await search(store, "newcomer");
    });
    expect(answer?.byWords).toContain("newcomer");
    expect(after).toBeLessThanOrEqual(12);
    expect(await requestsOf(storage, () => search(store, "newcomer"))).toBe(2);
  },
);
