import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { connect } from "@lancedb/lancedb";
import type { ChunkStore } from "@memslot/indexing";
import { tempFolder } from "@memslot/test-tools/files";
import { eventually } from "@memslot/test-tools/wait";
import { expect, onTestFinished, test } from "vitest";
import { embed, fileOf, find, indexFolder, near, open, spaceOf, textOf, vectorOf } from "../../test/support/stores.ts";
import { vectorIndexFrom } from "./compaction.ts";

/** Bytes of all files below a folder. */
function bytesBelow(folder: string): number {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

test("three hundred edits of one note leave three times a fresh index at most, and after compacting one and a half", async () => {
  const space = spaceOf("m", 64);
  const texts = Array.from(
    { length: 30 },
    (_, part) => `word part${part} ${"some filler words of a note ".repeat(20)}`,
  );
  const fill = async (store: ChunkStore): Promise<void> => {
    const of = (file: number): string[] => texts.map((text) => `${text} in${file}`);
    const files = Array.from({ length: 60 }, (_, file) => fileOf(`${file}.md`, of(file)));
    await store.replaceFiles(files);
    await embed(store, space, files);
  };
  const edit = async (store: ChunkStore, time: number): Promise<void> => {
    const edited = fileOf("edited.md", [`word edit${time}`, ...texts.slice(0, 9).map((text) => `${text} ${time}`)]);
    await store.replaceFiles([edited]);
    await embed(store, space, [edited]);
  };
  const fresh = tempFolder();
  const first = await open(fresh, { tidying: { keepVersionsMs: 0 } });
  await fill(first);
  await edit(first, 299);
  await first.compact();
  await first.close();

  const stateDir = tempFolder();
  // Old versions are not kept, so that minutes need not pass.
  const store = await open(stateDir, { tidying: { keepVersionsMs: 0, afterWrites: 60 } });
  await fill(store);
  for (let time = 0; time < 300; time++) await edit(store, time);
  await store.close();
  const enough = bytesBelow(indexFolder(fresh));
  // Without any of it they leave several times as much.
  expect(bytesBelow(indexFolder(stateDir)) / enough).toBeLessThan(3);

  const again = await open(stateDir);
  const report = await again.compact();
  expect(report.afterBytes).toBeLessThanOrEqual(report.beforeBytes);
  expect(bytesBelow(indexFolder(stateDir)) / enough).toBeLessThan(1.5);
  expect(await find(again, "edit299")).toEqual(["word edit299"]);
  expect(await find(again, "edit298")).toEqual([]);
  expect(await near(again, space, "word edit299", 1)).toEqual(["word edit299"]);
}, 300_000);

test("an index that is deleted while it is open is rebuilt with the next write", async () => {
  const stateDir = tempFolder();
  const store = await open(stateDir);
  await store.replaceFiles([fileOf("a.md", ["word a"])]);
  const before = await store.revision();
  rmSync(indexFolder(stateDir), { recursive: true });
  await expect(find(store, "word")).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await expect(store.replaceFiles([fileOf("b.md", ["word b"])])).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(await store.listFiles()).toEqual([]);
  expect(await find(store, "word")).toEqual([]);
  expect(await store.revision()).not.toBe(before);
  await store.replaceFiles([fileOf("b.md", ["word b"])]);
  expect(await find(store, "word")).toEqual(["word b"]);
}, 60_000);

test("from some thousand vectors on an index answers, with what comparing all of them gives", async () => {
  const dimensions = 96;
  const space = spaceOf("m", dimensions);
  const count = vectorIndexFrom + 500;
  const texts = Array.from({ length: count }, (_, index) => `text ${index}`);
  const stateDir = tempFolder();
  const store = await open(stateDir, { tidying: { afterMs: 50, keepVersionsMs: 0 } });
  const sourceOf = (file: number): string => (file % 4 === 0 ? "sessions" : "memory");
  const files = Array.from({ length: count / 50 }, (_, file) => {
    const own = texts.slice(file * 50, file * 50 + 50);
    return fileOf(`${file % 10 === 0 ? "some" : "most"}/${file}.md`, own, sourceOf(file));
  });
  await store.replaceFiles(files);
  await embed(store, space, files);
  // No search waits for it.
  expect(await near(store, space, "text 77", 1)).toEqual(["text 77"]);
  const connection = await connect(indexFolder(stateDir));
  onTestFinished(() => connection.close());
  const name = (await connection.tableNames()).find((each) => each.startsWith("v2_vectors_")) ?? "";
  await eventually(async () => {
    const stats = await (await connection.openTable(name)).indexStats("vector_idx");
    return stats?.indexType === "IVF_RQ";
  }, "the index of the vectors");

  const vectors = texts.map((text) => ({ text, vector: vectorOf(text, dimensions) }));
  let found = 0;
  for (let query = 0; query < 25; query++) {
    const asked = vectorOf(`query ${query}`, dimensions);
    const exact = vectors
      .map(({ text, vector }) => ({
        text,
        score: vector.reduce((sum, value, at) => sum + value * (asked[at] ?? 0), 0),
      }))
      .toSorted((left, right) => right.score - left.score)
      .slice(0, 20);
    const { rows } = await store.searchVector({ space, vector: asked, sources: ["memory", "sessions"], limit: 100 });
    const scores = new Map(rows.map((row) => [textOf(row), row.score]));
    for (const { text, score } of exact.filter((each) => scores.has(each.text))) {
      found++;
      expect(Math.abs((scores.get(text) ?? 0) - score)).toBeLessThan(1e-4);
    }
  }
  // Vectors in all directions are the hardest there are: those of a model lie in groups.
  expect(found / (25 * 20)).toBeGreaterThan(0.99);

  const edited = [fileOf("new.md", ["brand new"]), fileOf("most/1.md", ["text 50 again"])];
  await store.replaceFiles(edited);
  await embed(store, space, edited);
  expect(await near(store, space, "brand new", 1)).toEqual(["brand new"]);
  expect(await near(store, space, "text 55", 3)).not.toContain("text 55");
  const vector = vectorOf("q", dimensions);
  for (const source of ["sessions", "memory"]) {
    const { rows } = await store.searchVector({ space, vector, sources: [source], limit: 30 });
    expect(rows).toHaveLength(30);
    expect(new Set(rows.map((row) => row.source))).toEqual(new Set([source]));
  }
  const scope = { within: ["some/"], without: ["some/20.md"] };
  const { rows } = await store.searchVector({ space, vector, sources: ["memory"], scope, limit: 2000 });
  const inScope = files.filter((_, file) => file % 10 === 0 && sourceOf(file) === "memory" && file !== 20);
  expect(rows).toHaveLength(inScope.length * 50);
}, 180_000);
