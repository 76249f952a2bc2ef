import { statSync } from "node:fs";
import { deterministicEmbeddings } from "@memslot/testkit";
import { expect, test } from "vitest";
import { copyHouse, indexFile, useHouse } from "../support/house.ts";
import { contentOf } from "../support/index-file.ts";
import { noteName, twoPartNote, twoPartNotes } from "../support/notes.ts";

const edits = 1000;

test(
  "after a thousand edits of a note the index is less than twice one that is built afresh",
  { timeout: 180_000 },
  async () => {
    const house = useHouse();
    house.write(twoPartNotes(30));
    const memory = await house.open({
      embeddings: deterministicEmbeddings(),
      memorySearch: { sync: { watch: false } },
    });
    await memory.sync();
    for (let edit = 1; edit <= edits; edit++) {
      house.write({ [noteName(7)]: `${twoPartNote(7, `edit${edit}`)}\n${"more ".repeat(edit % 50)}\n` });
      await memory.sync();
    }
    expect((await memory.search(`edit${edits}`))[0]?.path).toBe(noteName(7));
    expect(await memory.search(`edit${edits - 1}`, { minScore: 0.99 })).toEqual([]);
    await memory.compact();
    await memory.close();

    const fresh = copyHouse(house, { fresh: true });
    try {
      const other = await fresh.open({ embeddings: deterministicEmbeddings() });
      await other.sync();
      await other.close();
      const [size, freshSize] = [indexFile(house), indexFile(fresh)].map((file) => statSync(file).size);
      expect(size).toBeLessThan(2 * (freshSize ?? 0));
      expect(contentOf(indexFile(house)).chunks).toEqual(contentOf(indexFile(fresh)).chunks);
    } finally {
      await fresh.end();
    }
  },
);

test("a note that was deleted is gone from the next search, and one that was renamed costs no vector", async () => {
  const house = useHouse();
  house.write(twoPartNotes(30));
  const embeddings = deterministicEmbeddings();
  const memory = await house.open({ embeddings });
  await memory.sync();
  const { texts } = embeddings.calls();
  for (let index = 0; index < 10; index++) house.rename(noteName(index), `memory/elsewhere/note-${index}.md`);
  house.remove(noteName(20));
  expect((await memory.search("word7"))[0]?.path).toBe("memory/elsewhere/note-7.md");
  expect((await memory.search("word20")).map(({ path }) => path)).not.toContain(noteName(20));
  expect(await memory.sync()).toMatchObject({ added: 0, changed: 0, removed: 0 });
  expect(memory.status()).toMatchObject({ files: 29, vector: { index: { state: "complete" } } });
  expect(embeddings.calls().texts).toBe(texts);
});
