import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { ChunkStore } from "@memslot/indexing";
import { expect, test } from "vitest";
import {
  bytesBelow,
  embed,
  fileOf,
  find,
  indexFolder,
  near,
  open,
  spaceOf,
  tempFolder,
} from "../../test/support/stores.ts";

const space = spaceOf("m", 64);
const texts = Array.from({ length: 30 }, (_, part) => `word part${part} ${"some filler words of a note ".repeat(20)}`);

async function fill(store: ChunkStore): Promise<void> {
  const files = Array.from({ length: 60 }, (_, file) =>
    fileOf(
      `${file}.md`,
      texts.map((text) => `${text} in${file}`),
    ),
  );
  await store.replaceFiles(files);
  await embed(store, space, files);
}

async function edit(store: ChunkStore, times: number, from = 0): Promise<void> {
  for (let time = 0; time < times; time++) {
    const words = [`word edit${from + time}`, ...texts.slice(0, 9).map((text) => `${text} ${from + time}`)];
    await store.replaceFiles([fileOf("edited.md", words)]);
    await embed(store, space, [fileOf("edited.md", words)]);
  }
}

test(
  "three hundred edits of one note leave three times a fresh index at most, and after compacting one and a half",
  { timeout: 300_000 },
  async () => {
    const fresh = await tempFolder();
    const first = await open(fresh, { tidying: { keepVersionsMs: 0 } });
    await fill(first);
    await edit(first, 1, 299);
    await first.compact();
    await first.close();

    const stateDir = await tempFolder();
    // Old versions are kept for nobody, so that minutes need not pass.
    const store = await open(stateDir, { tidying: { keepVersionsMs: 0, afterWrites: 60 } });
    await fill(store);
    await edit(store, 300);
    await store.close();
    const tidied = bytesBelow(indexFolder(stateDir));
    const enough = bytesBelow(indexFolder(fresh));
    // Without any of it they leave several times as much.
    expect(tidied / enough).toBeLessThan(3);

    const again = await open(stateDir);
    const report = await again.compact();
    expect(report.afterBytes).toBeLessThanOrEqual(report.beforeBytes);
    expect(bytesBelow(indexFolder(stateDir)) / enough).toBeLessThan(1.5);
    expect(await find(again, "edit299")).toEqual(["word edit299"]);
    expect(await find(again, "edit298")).toEqual([]);
    expect(await near(again, space, "word edit299", 1)).toEqual(["word edit299"]);
  },
);

test("an index that is deleted while it is open is made anew with the next write", { timeout: 60_000 }, async () => {
  const stateDir = await tempFolder();
  const store = await open(stateDir);
  await store.replaceFiles([fileOf("a.md", ["word a"])]);
  const before = await store.revision();
  await rm(join(indexFolder(stateDir)), { recursive: true });
  await expect(find(store, "word")).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await expect(store.replaceFiles([fileOf("b.md", ["word b"])])).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(await store.listFiles()).toEqual([]);
  expect(await find(store, "word")).toEqual([]);
  expect(await store.revision()).not.toBe(before);
  await store.replaceFiles([fileOf("b.md", ["word b"])]);
  expect(await find(store, "word")).toEqual(["word b"]);
});
