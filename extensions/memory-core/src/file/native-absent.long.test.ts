import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import Database from "better-sqlite3";
import { getLoadablePath } from "sqlite-vec";
import { expect, test } from "vitest";
import { tempFolder } from "@memslot/test-tools/files";
import { edit, embedAll, fileOf, find, near, open, spaceOf, tempPath } from "../test/stores.ts";

const space = spaceOf("m");
const notes = Array.from({ length: 30 }, (_, file) =>
  fileOf(`${file}.md`, [`apple number${file}`, `pear number${file}`]),
);
/** `e_machine` in the header of an ELF file, and a number that no machine has. */
const machineAt = 18;
const noMachine = 0x7777;

/** Where sqlite-vec is looked for, and is not to be had. */
const places: Record<string, (folder: string) => Promise<string>> = {
  "is not there": async (folder) => join(folder, "vec0"),
  async "is a file that is no library"(folder) {
    await writeFile(join(folder, "vec0.so"), "not a library");
    return join(folder, "vec0.so");
  },
  async "is a library for another machine"(folder) {
    const library = readFileSync(getLoadablePath());
    library.writeUInt16LE(noMachine, machineAt);
    await writeFile(join(folder, "vec0.so"), library);
    return join(folder, "vec0.so");
  },
  async "is refused by the loader"(folder) {
    await mkdir(join(folder, "vec0.so"));
    return join(folder, "vec0.so");
  },
};

test.each(Object.keys(places))(
  "scenario 9: sqlite-vec that %s: searches by meaning all the same, one line, and no vector is asked for when it is there again",
  async (which) => {
    const extensionPath = (await places[which]?.(tempFolder())) ?? "";
    const path = await tempPath();
    const without = await open(path, { vector: { enabled: true, engine: "sqlite-vec", extensionPath } });
    for (const note of notes) await without.replaceFiles([note]);
    await without.useSpace(space);
    await embedAll(without, space);
    await without.replaceFiles(notes.slice(0, 5));
    for (let round = 0; round < 3; round++) {
      expect(await near(without, space, "pear number17", 1)).toEqual(["pear number17"]);
      expect(await find(without, "number17")).toHaveLength(2);
    }
    expect(await without.probeVector()).toBe(false);
    const { vector, notices } = without.health();
    expect(vector).toMatchObject({ available: false, extensionPath, loadError: expect.stringMatching(/\S/u) });
    expect(notices).toHaveLength(1);
    expect(notices[0]).toContain(vector.loadError);
    expect((await without.upkeep?.check())?.filter(({ ok }) => !ok)).toEqual([]);
    await without.close();

    const later = await open(path);
    await later.useSpace(space);
    expect(later.health().vector.available).toBe(true);
    expect(await later.pendingVectors(space, 10)).toEqual([]);
    expect(await near(later, space, "pear number17", 1)).toEqual(["pear number17"]);
    const vectors = (await later.upkeep?.check())?.find(({ name }) => name === "vectors");
    expect(vectors?.message).toMatch(/^60 vectors in/u);
  },
);

test("scenario 9: the table of codes is missing: answers are right at once, and it is filled from the stored vectors", async () => {
  const path = await tempPath();
  const store = await open(path);
  await store.replaceFiles(notes);
  await store.useSpace(space);
  await embedAll(store, space);
  await store.close();
  edit(path, (db: Database.Database) => {
    db.exec("DROP TABLE chunks_codes_1");
  });
  const again = await open(path);
  expect(await near(again, space, "pear number17", 1)).toEqual(["pear number17"]);
  await again.close();
  const last = await open(path);
  await last.useSpace(space);
  expect(last.health().notices).toEqual([]);
  expect(await last.pendingVectors(space, 10)).toEqual([]);
  expect((await last.upkeep?.check())?.find(({ name }) => name === "vectors")?.message).toMatch(/^60 vectors in/u);
});
