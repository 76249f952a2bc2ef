import { mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { carryOut } from "../../src/connect/carry-out.ts";
import type { FileChange } from "../../src/connect/plan.ts";
import { type Receipts, openReceipts } from "../../src/connect/receipt.ts";
import { readTarget } from "../../src/connect/target-file.ts";

let folder = "";
let receipts: Receipts;

beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "memslot-carry-"));
  receipts = openReceipts(path.join(folder, "state"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
});

const about = { client: "cursor", scope: "user", at: "2026-05-01T08:00:00Z" } as const;
const receipt = { ...about, server: { command: "node", args: [], env: {} } };

async function planned(name: string, after: string): Promise<FileChange> {
  const file = await readTarget(path.join(folder, name));
  return { path: file.target, what: "server", file, base: file.text, after, earlier: undefined };
}

test("a file that another program has changed meanwhile stays as that one wrote it, and those before it are put back", async () => {
  await mkdir(path.join(folder, "deep"));
  await writeFile(path.join(folder, "one.json"), "one");
  await writeFile(path.join(folder, "two.json"), "two");
  const changes = [
    await planned("one.json", "ONE"),
    await planned("new.json", "NEW"),
    await planned("two.json", "TWO"),
  ];
  await writeFile(path.join(folder, "two.json"), "changed by its owner");
  await expect(carryOut(changes, receipt, receipts)).rejects.toMatchObject({ code: "BUSY" });
  expect(await readFile(path.join(folder, "one.json"), "utf8")).toBe("one");
  expect(await readFile(path.join(folder, "two.json"), "utf8")).toBe("changed by its owner");
  await expect(readFile(path.join(folder, "new.json"))).rejects.toMatchObject({ code: "ENOENT" });
});

test("the backup and the receipt are there before the file is touched", async () => {
  await writeFile(path.join(folder, "one.json"), "one");
  const change = await planned("one.json", "ONE");
  const seen: unknown[] = [];
  const watched: Receipts = {
    ...receipts,
    async save(each) {
      seen.push(
        await receipts.backup(each.files[0]?.backup ?? ""),
        await readFile(path.join(folder, "one.json"), "utf8"),
      );
      await receipts.save(each);
    },
  };
  await carryOut([change], receipt, watched);
  expect(seen).toEqual(["one", "one"]);
  expect(await readFile(path.join(folder, "one.json"), "utf8")).toBe("ONE");
});

describe("a file that the system does not let be written", () => {
  async function failing(): Promise<FileChange[]> {
    await writeFile(path.join(folder, "one.json"), "one");
    // What a link leads to that leads nowhere cannot be made, not even by root.
    await symlink("nowhere/at/all", path.join(folder, "gone"));
    return [
      await planned("one.json", "ONE"),
      await planned("deep/new.json", "NEW"),
      await planned("gone/two.json", "TWO"),
    ];
  }
  const told = { code: "UNAVAILABLE", message: expect.stringMatching(/two\.json cannot be written: /u) as string };

  test("leaves neither a receipt, nor a backup, nor a folder of the first time", async () => {
    await expect(carryOut(await failing(), receipt, receipts)).rejects.toMatchObject(told);
    expect(await readFile(path.join(folder, "one.json"), "utf8")).toBe("one");
    expect(await readdir(receipts.folder)).toEqual([]);
    expect((await readdir(folder)).toSorted()).toEqual(["gone", "one.json", "state"]);
  });

  test("leaves the receipt of an earlier time as it was", async () => {
    await writeFile(path.join(folder, "zero.json"), "zero");
    await carryOut([await planned("zero.json", "ZERO")], receipt, receipts);
    const before = receipts.get(about);
    const names = await readdir(receipts.folder);
    await expect(carryOut(await failing(), { ...receipt, at: "2026-06-01T08:00:00Z" }, receipts)).rejects.toMatchObject(
      told,
    );
    expect(receipts.get(about)).toEqual(before);
    expect(await readdir(receipts.folder)).toEqual(names);
  });
});
