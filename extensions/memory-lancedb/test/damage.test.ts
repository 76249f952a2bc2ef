import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "@lancedb/lancedb";
import { tempFolder } from "@memslot/test-tools/files";
import { expect, test } from "vitest";
import {
  embed,
  fileOf,
  find,
  indexFolder,
  near,
  open,
  openIn,
  spaceOf,
  startStorage,
  type Store,
} from "./support/stores.ts";

const space = spaceOf("m");
const files = Array.from({ length: 6 }, (_, file) => fileOf(`${file}.md`, [`word one${file}`, `word two${file}`]));

/** An index with some commits, whose folder is recorded. */
async function filled(stateDir: string): Promise<void> {
  const store = await open(stateDir);
  for (const file of files) await store.replaceFiles([file]);
  await embed(store, space, files);
  await store.close();
}

/** The data files of the tables whose names begin so. */
function dataFiles(stateDir: string, table: string): string[] {
  return readdirSync(indexFolder(stateDir), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".lance") && entry.parentPath.includes(table))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}

async function expectRebuilt(store: Store): Promise<void> {
  expect(await store.listFiles()).toEqual([]);
  expect((await store.stats()).notices).toEqual([expect.stringContaining("was damaged")]);
  await store.replaceFiles(files);
  await embed(store, space, files);
  expect(await find(store, "one3")).toEqual(["word one3"]);
  expect(await near(store, space, "word two4", 1)).toEqual(["word two4"]);
}

test.each<[string, string, (store: Store) => Promise<string[]>]>([
  ["files", "v2_files_", (store) => find(store, "word")],
  ["vectors", "v2_vectors_", (store) => near(store, space, "word one3")],
])("a search that meets a missing file of the %s says so, and the index is rebuilt", async (_what, table, search) => {
  const stateDir = tempFolder();
  await filled(stateDir);
  const store = await open(stateDir);
  expect(await store.listFiles()).toHaveLength(6);
  const before = await store.revision();
  rmSync(dataFiles(stateDir, table)[0] ?? "");
  const damaged = { code: "UNAVAILABLE", message: expect.stringContaining("was damaged") };
  await expect(search(store)).rejects.toMatchObject(damaged);
  // Until the caller has listed the files, the empty index gives no answer.
  await expect(find(store, "word")).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(await store.revision()).not.toBe(before);
  await expectRebuilt(store);
});

test.each<[string, (stateDir: string) => void]>([
  [
    "a changed byte",
    (stateDir) => {
      const [path = ""] = dataFiles(stateDir, "v2_files_");
      const bytes = readFileSync(path);
      bytes[20] = (bytes[20] ?? 0) ^ 1;
      writeFileSync(path, bytes);
    },
  ],
  [
    "the loss of the newest version",
    (stateDir) => {
      const folder = join(indexFolder(stateDir), "v2_files_1.lance", "_versions");
      // LanceDB counts these names down.
      const [newest = ""] = readdirSync(folder)
        .filter((name) => name.endsWith(".manifest"))
        .toSorted();
      rmSync(join(folder, newest));
    },
  ],
  [
    "the loss of a table",
    (stateDir) => {
      const name = readdirSync(indexFolder(stateDir)).find((each) => each.startsWith("v2_vectors_")) ?? "";
      rmSync(join(indexFolder(stateDir), name), { recursive: true });
    },
  ],
])("%s while the index was closed is detected when it is opened", async (_what, damage) => {
  const stateDir = tempFolder();
  await filled(stateDir);
  damage(stateDir);
  await expectRebuilt(await open(stateDir));
});

test("an index that was deleted while it was open leaves nothing behind", async () => {
  const stateDir = tempFolder();
  await filled(stateDir);
  const store = await open(stateDir);
  await store.listFiles();
  rmSync(indexFolder(stateDir), { recursive: true });
  await store.close();
  expect(existsSync(indexFolder(stateDir))).toBe(false);
});

test("files that a compaction or a rebuild has deleted are no damage", async () => {
  const stateDir = tempFolder();
  await filled(stateDir);
  const store = await open(stateDir);
  await store.compact();
  const build = await store.build("again");
  await build.replaceFiles(files);
  await build.finish();
  await store.close();
  const again = await open(stateDir);
  expect((await again.stats()).notices).toEqual([]);
  expect(await again.listFiles()).toHaveLength(6);
});

test("an index that is deleted in a bucket while it is open is no empty answer before the caller has heard of it", async () => {
  const storage = await startStorage();
  const store = await openIn(storage);
  await store.replaceFiles(files);
  for (const key of storage.keys("notes", "")) await fetch(`${storage.url}/notes/${key}`, { method: "DELETE" });
  await expect(find(store, "word")).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(await store.listFiles()).toEqual([]);
  await store.replaceFiles(files);
  expect(await find(store, "one3")).toEqual(["word one3"]);
});

test("an index that is damaged again after three repairs is not rebuilt any more", async () => {
  const stateDir = tempFolder();
  const store = await open(stateDir);
  const messages: string[] = [];
  for (let round = 0; round < 4; round++) {
    await store.listFiles();
    await store.replaceFiles(files);
    for (const path of dataFiles(stateDir, "v2_files_")) rmSync(path);
    messages.push(await find(store, `word${round}`).then(String, String));
  }
  const [last, ...before] = messages.toReversed();
  expect(before).toEqual(Array(3).fill(expect.stringContaining("and is rebuilt")));
  expect(last).toContain("was damaged again after 3 repairs");
});

test("tables that a process has deleted or created again without closing the index are no damage", async () => {
  const stateDir = tempFolder();
  await filled(stateDir);
  const killed = await open(stateDir);
  await killed.listFiles();
  await killed.removeFiles(files);
  // No chunk has a vector: their table is deleted.
  await killed.compact();
  await killed.replaceFiles(files);
  const after = await open(stateDir);
  expect((await after.stats()).notices).toEqual([]);
  expect(await after.listFiles()).toHaveLength(6);
});

test("an index that was repaired once is kept if the process that repaired it is killed", async () => {
  const stateDir = tempFolder();
  await filled(stateDir);
  const name = readdirSync(indexFolder(stateDir)).find((each) => each.startsWith("v2_vectors_")) ?? "";
  rmSync(join(indexFolder(stateDir), name), { recursive: true });
  const killed = await open(stateDir);
  await killed.listFiles();
  await killed.replaceFiles(files);
  const after = await open(stateDir);
  expect((await after.stats()).notices).toEqual([]);
  expect(await after.listFiles()).toHaveLength(6);
});

test("an index of an earlier release is rebuilt, and a notice reports it", async () => {
  const stateDir = tempFolder();
  const earlier = await connect(indexFolder(stateDir));
  for (const name of ["v1_files_1", "v1_vectors_0123456789abcdef"]) await earlier.createTable(name, [{ id: 1 }]);
  earlier.close();
  const looking = await open(stateDir, { mayCreate: false });
  expect(await looking.listFiles()).toEqual([]);
  await looking.close();
  const store = await open(stateDir);
  expect((await store.stats()).notices).toEqual([expect.stringContaining("made by an earlier release")]);
  await store.replaceFiles(files);
  expect(readdirSync(indexFolder(stateDir)).filter((name) => name.endsWith(".lance"))).toEqual(["v2_files_1.lance"]);
  expect(await find(store, "one3")).toEqual(["word one3"]);
});
