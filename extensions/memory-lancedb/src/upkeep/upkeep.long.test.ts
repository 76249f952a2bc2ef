import { rm } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "@lancedb/lancedb";
import type { ChunkIndex } from "@memslot/indexing";
import { expect, onTestFinished, test } from "vitest";
import { tableOf } from "../tables/arrow-rows.ts";
import { chunkColumns, vectorColumns } from "../tables/tables.ts";
import {
  bytesBelow,
  embedAll,
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

async function fill(store: ChunkIndex): Promise<void> {
  await store.replaceFiles(
    Array.from({ length: 60 }, (_, file) =>
      fileOf(
        `${file}.md`,
        texts.map((text) => `${text} in${file}`),
      ),
    ),
  );
  await embedAll(store, space);
}

async function edit(store: ChunkIndex, times: number, from = 0): Promise<void> {
  for (let time = 0; time < times; time++) {
    await store.replaceFiles([
      fileOf("edited.md", [`word edit${from + time}`, ...texts.slice(0, 9).map((text) => `${text} ${from + time}`)]),
    ]);
    await embedAll(store, space);
  }
}

/** Tables as somebody else has them open. */
async function tableBeside(stateDir: string, name: string) {
  const connection = await connect(indexFolder(stateDir));
  onTestFinished(() => connection.close());
  return await connection.openTable(name);
}

test(
  "three hundred edits of one note leave three times a fresh index at most, and after compacting one and a half",
  { timeout: 300_000 },
  async () => {
    const fresh = await tempFolder();
    const first = await open(fresh, { tidying: { keepVersionsMs: 0 } });
    await fill(first);
    await edit(first, 1, 299);
    await first.upkeep?.compact();
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
    const report = await again.upkeep?.compact();
    expect(report?.afterBytes).toBeLessThanOrEqual(report?.beforeBytes ?? 0);
    expect(bytesBelow(indexFolder(stateDir)) / enough).toBeLessThan(1.5);
    expect(await find(again, "edit299")).toEqual(["word edit299"]);
    expect(await find(again, "edit298")).toEqual([]);
    expect(await near(again, space, "word edit299", 1)).toEqual(["word edit299"]);
  },
);

test(
  "compacting keeps what another process may need while that one holds the right to write",
  { timeout: 60_000 },
  async () => {
    const stateDir = await tempFolder();
    const store = await open(stateDir);
    await edit(store, 12);
    const other = await open(stateDir);
    expect(await other.leases?.acquire("files", "a sync")).toBe(true);
    const table = await tableBeside(stateDir, "chunks_1");
    const versions = (await table.listVersions()).length;
    await store.upkeep?.compact();
    expect((await table.listVersions()).length).toBeGreaterThan(versions);
    expect(await other.leases?.holder("files")).toMatchObject({ reason: "a sync" });
    await other.leases?.release("files");
    await store.upkeep?.compact();
    expect((await table.listVersions()).length).toBeLessThan(4);
    expect(await find(other, "edit11")).toEqual(["word edit11"]);
  },
);

test(
  "what is done in the background leaves the right to write with the one that has it",
  { timeout: 60_000 },
  async () => {
    const stateDir = await tempFolder();
    const store = await open(stateDir, { tidying: { afterMs: 1, afterWrites: 5, keepVersionsMs: 0 } });
    expect(await store.leases?.acquire("files", "mine")).toBe(true);
    await edit(store, 40);
    const table = await tableBeside(stateDir, "chunks_1");
    await expect
      .poll(async () => (await table.stats()).fragmentStats.numFragments, { timeout: 20_000 })
      .toBeLessThan(20);
    expect(await store.leases?.holder("files")).toMatchObject({ reason: "mine" });
    const other = await open(stateDir);
    expect(await other.leases?.acquire("files", "theirs")).toBe(false);
    await store.leases?.release("files");
    await expect.poll(() => other.leases?.acquire("files", "theirs"), { timeout: 20_000 }).toBe(true);
  },
);

test(
  "repair forgets a file that is not whole, drops what belongs to nothing, and keeps each vector once",
  { timeout: 60_000 },
  async () => {
    const stateDir = await tempFolder();
    const store = await open(stateDir);
    await store.replaceFiles([fileOf("a.md", ["word a1", "word a2"]), fileOf("b.md", ["word b"])]);
    await embedAll(store, space);
    const chunks = await tableBeside(stateDir, "chunks_1");
    await chunks.delete("text = 'word a1'");
    const lost = {
      id: 7,
      source: "memory",
      path: "ghost.md",
      start_line: 1,
      end_line: 1,
      bytes: 4,
      text: "lost",
      context: "",
      terms: " lost",
      hash: "x",
    };
    await chunks.add(tableOf(chunkColumns, [lost]));
    const connection = await connect(indexFolder(stateDir));
    onTestFinished(() => connection.close());
    const name = (await connection.tableNames()).find((each) => each.startsWith("vectors_")) ?? "";
    const vectors = await connection.openTable(name);
    const [row] = (await vectors.query().limit(1).toArray()) as {
      hash: string;
      sources: string;
      vector: Iterable<number>;
    }[];
    if (!row) throw new Error("there is no vector");
    await vectors.add(
      tableOf(vectorColumns(64), [{ hash: row.hash, sources: row.sources, vector: Float32Array.from(row.vector) }]),
    );
    await chunks.dropIndex("terms_idx");
    await connection.createTable("chunks_99", [{ id: 1 }]);

    const before = await store.upkeep?.check();
    expect(before?.filter(({ ok }) => !ok).map(({ name: part }) => part)).toEqual([
      "files",
      "words",
      "vectors",
      "leftovers",
    ]);
    const after = await store.upkeep?.repair();
    expect(after?.filter(({ ok }) => !ok)).toEqual([]);
    expect(after?.every(({ fixed }) => fixed !== undefined)).toBe(true);
    expect((await store.listFiles()).map(({ path }) => path)).toEqual(["b.md"]);
    expect(await find(store, "word", "lost")).toEqual(["word b"]);
    expect(await connection.tableNames()).not.toContain("chunks_99");
  },
);

test("an index that is deleted while it is open is made anew with the next write", { timeout: 60_000 }, async () => {
  const stateDir = await tempFolder();
  const store = await open(stateDir);
  await store.replaceFiles([fileOf("a.md", ["word a"])]);
  const before = await store.revision?.();
  await rm(join(indexFolder(stateDir)), { recursive: true });
  expect(await store.listFiles()).toEqual([]);
  expect(await find(store, "word")).toEqual([]);
  expect(await store.revision?.()).not.toBe(before);
  await store.replaceFiles([fileOf("b.md", ["word b"])]);
  expect(await find(store, "word")).toEqual(["word b"]);
});
