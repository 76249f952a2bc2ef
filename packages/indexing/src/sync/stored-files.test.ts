import { rm } from "node:fs/promises";
import { expect, test } from "vitest";
import { randomFrom } from "@memslot/test-tools/random";
import type { NoteIndex } from "../note-index.ts";
import type { FileRecord, IndexedFile } from "../index-records.ts";
import { fileOf, open, tempPath } from "../ledger/test/ledgers.ts";
import type { StoredFiles } from "../indexed-source.ts";
import { StoredListing } from "./stored-files.ts";

function listingOf(index: Pick<NoteIndex, "listFiles" | "revision">) {
  let lists = 0;
  const listFiles = async (): Promise<FileRecord[]> => {
    lists++;
    return await index.listFiles();
  };
  return {
    listing: new StoredListing({ listFiles, revision: () => index.revision?.() ?? Promise.reject() }),
    lists: () => lists,
  };
}

function plain(files: StoredFiles): FileRecord[] {
  return inOrder([...files.values()].flatMap((own) => [...own.values()]));
}

function inOrder(files: readonly FileRecord[]): FileRecord[] {
  return files.map((file) => ({ ...file, cursor: file.cursor })).toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** Like scanned notes: fractional times, with and without state. */
function noteOf(path: string, version: number): IndexedFile {
  const file = fileOf(path, [`${path} ${version}`]);
  return {
    ...file,
    mtimeMs: 1.7e12 + version + 0.123456,
    size: version,
    cursor: version % 3 === 0 ? undefined : `state ${version}`,
  };
}

test("what we write ourselves is listed without reading all files, and what others write by reading them once", async () => {
  const path = tempPath();
  const [own, other] = [await open(path), await open(path)];
  const { listing, lists } = listingOf(own);
  const table = listing.follow(own);
  const { pick, chance, below } = randomFrom(7);
  const names = Array.from({ length: 12 }, (_, number) => `memory/${number}.md`);
  await listing.files();
  let othersWrote = 0;
  let isOthers = false;
  for (let step = 1; step <= 200; step++) {
    const isOther = chance(0.15);
    const writer = isOther ? other : table;
    const chosen = [...new Set([pick(names), pick(names)])];
    const kind = below(4);
    const before = plain(await new StoredListing(own).files());
    if (kind < 2) await writer.replaceFiles(chosen.map((name) => noteOf(name, step)));
    else if (kind === 2) await writer.removeFiles(chosen.map((name) => ({ path: name, source: "memory" })));
    else {
      const touched = chosen.map((name) => noteOf(name, step)).map(({ chunks: _chunks, ...file }) => file);
      await writer.touchFiles(touched);
    }
    isOthers ||= isOther;
    if (chance(0.4)) continue;
    if (isOthers) othersWrote++;
    isOthers = false;
    const now = inOrder(await own.listFiles());
    expect(plain(await listing.files()), `step ${step}, after ${before.length} files`).toEqual(now);
    expect(lists()).toBe(1 + othersWrote);
    expect(await listing.isCurrent()).toBe(true);
  }
  expect(othersWrote).toBeGreaterThan(8);
});

test("a list in use stays as it was when more is written", async () => {
  const own = await open(tempPath());
  const { listing } = listingOf(own);
  await listing.follow(own).replaceFiles([noteOf("a.md", 1)]);
  const before = await listing.files();
  await listing.follow(own).replaceFiles([noteOf("b.md", 1)]);
  expect(plain(await listing.files()).map(({ path }) => path)).toEqual(["a.md", "b.md"]);
  expect(plain(before).map(({ path }) => path)).toEqual(["a.md"]);
});

test("a file of the index that is recreated has not the numbers of the one before", async () => {
  const path = tempPath();
  const own = await open(path);
  const { listing } = listingOf(own);
  await listing.follow(own).replaceFiles([noteOf("a.md", 1)]);
  await listing.files();

  for (const end of ["", "-wal", "-shm"]) await rm(path + end, { force: true });
  await listing.follow(own).replaceFiles([noteOf("b.md", 2)]);
  expect(plain(await listing.files()).map((file) => file.path)).toEqual(["b.md"]);
});
