import { rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { IndexFinding } from "memslot";
import { describe, expect, test } from "vitest";
import { indexFile, useHouse } from "../support/temp-workspace.ts";
import { expectFoundAfter, rested, saveInACrowd, twoBirds, ways } from "../support/same-mtime-saves.ts";

/** A file that takes the place of another, a copy over it, a write into it, another folder. `storms/saves.long` has all. */
const chosen = ["mv", "cp -p", "a write in place", "a folder"];

test.each(ways.filter(({ name }) => chosen.some((each) => name.includes(each))))(
  "after $name of the same size and time, the note is found by its new text",
  (way) => expectFoundAfter(way, expect.fail),
);

test("what was saved before the call of a sync is found when it has ended, with many at once", async () => {
  const memory = await useHouse().open({ memorySearch: { sync: { onSearch: false, watch: false } } });
  const { saved, lost } = await saveInACrowd(memory, { savers: 8, rounds: 6, seed: 7 });
  expect(lost).toEqual([]);
  expect(saved).toBe(48);
});

describe("a note whose change the file system does not show", () => {
  test("is named by a check of the contents, and is read again after the check has mended it", async () => {
    const house = useHouse(twoBirds);
    const memory = await house.open({ memorySearch: { sync: { watch: false } } });
    await memory.sync();
    await rested(house, memory);
    await memory.close();
    // As if it had been written without a new time: the index holds another content under the same stamp.
    const db = new DatabaseSync(indexFile(house));
    db.prepare("UPDATE files SET hash = ? WHERE path = 'memory/a.md'").run("0".repeat(64));
    db.close();
    // And as if memslot had written that itself: an index that another program has changed is rebuilt.
    rmSync(`${indexFile(house)}-sum`, { force: true });

    const again = await house.open({ memorySearch: { sync: { watch: false } } });
    const contents = async (fix: boolean): Promise<IndexFinding | undefined> =>
      (await again.check({ fix }))?.findings.find(({ name }) => name === "contents");
    const found = await contents(false);
    expect(found).toMatchObject({ ok: false });
    expect(found?.message).toMatch(/^1 file matches .*; 1 differ although .*: memory\/a\.md$/);
    expect(await contents(true)).toMatchObject({ ok: true, fixed: expect.stringContaining("read again") as string });
    expect(await again.sync()).toMatchObject({ changed: 1, unchanged: 1 });
    expect(await contents(false)).toMatchObject({ ok: true, message: "2 files match the index" });
    house.write({ "memory/b.md": "The walrus is on the beach.\n" });
    expect(await contents(false)).toMatchObject({
      ok: true,
      message: "1 file matches the index; 1 changed since the last sync: memory/b.md",
    });
  });
});
