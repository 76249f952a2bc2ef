import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openLedger } from "@memslot/indexing/ledger";
import { afterwards, tempFolder } from "@memslot/test-tools/files";
import { expect, test } from "vitest";
import { QmdRecord } from "./indexed-files.ts";

const took = { updatedAt: "2026-03-01T00:00:00.000Z", updateMs: 1, empty: [] };
const facts = { source: "memory", mtimeMs: 1, size: 4, recipe: "r", chunks: [] };

/** The record of a folder in which qmd has an index, and what makes notes of these hashes all that its ledger has. */
async function openRecord(folder: string, readOnly = false) {
  writeFileSync(join(folder, "index.sqlite"), "");
  const place = { store: "memory-qmd", path: join(folder, "ledger.sqlite"), mayCreate: !readOnly };
  const ledger = await openLedger({ ...place, cacheMaxEntries: 0 });
  afterwards(() => ledger.close());
  const record = new QmdRecord({ ledger, folder, readOnly });
  const write = async (hashes: Readonly<Record<string, string>>): Promise<void> => {
    await ledger.removeFiles(record.files);
    await ledger.replaceFiles(Object.entries(hashes).map(([name, hash]) => ({ ...facts, path: name, hash })));
    await record.refresh();
  };
  return { record, write };
}

function seenIn({ files }: QmdRecord): (string | undefined)[][] {
  return files.map(({ path, hash, seen }) => [path, hash, seen]);
}

test("reports what has changed or gone since qmd began to read, also to another process", async () => {
  const folder = tempFolder();
  const [{ record, write }, other] = [await openRecord(folder), await openRecord(folder)];
  await write({ "a.md": "1", "b.md": "1" });
  const before = record.files;
  await write({ "a.md": "2", "c.md": "1" });
  await record.markSeen(before, took);
  await other.record.refresh();
  for (const each of [record, other.record]) {
    expect(seenIn(each).toSorted()).toEqual([
      ["a.md", "2", "1"],
      ["c.md", "1", undefined],
    ]);
    expect([each.removed(), each.state]).toEqual([["b.md"], expect.objectContaining(took)]);
  }
  await record.markSeen(record.files, took);
  expect(record.removed()).toEqual([]);
});

test.each([false, true])(
  "nothing counts as read once the index of qmd is gone (only to look: %s)",
  async (readOnly) => {
    const folder = tempFolder();
    const { record, write } = await openRecord(folder, readOnly);
    await write({ "a.md": "1" });
    await record.markSeen(record.files, took);
    rmSync(join(folder, "index.sqlite"));
    await record.refresh();
    expect([seenIn(record), record.state]).toEqual([[["a.md", "1", undefined]], { seen: {}, empty: [] }]);
    expect(existsSync(join(folder, "ledger.sqlite"))).toBe(!readOnly);
  },
);
