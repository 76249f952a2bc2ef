import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "@memslot/test-tools/files";
import { expect, test } from "vitest";
import { createFolderRecord } from "./folder-record.ts";

function folderWithTable(): { folder: string; files: string[] } {
  const names = ["old", "new"].map((name) => `v2_files_1.lance/data/${name}.lance`);
  const folder = tempFolder(Object.fromEntries(names.map((name) => [name, name])));
  return { folder, files: names.map((name) => join(folder, name)) };
}

test("a file that is gone differs from the record", async () => {
  const { folder, files } = folderWithTable();
  const record = createFolderRecord(folder);
  await record.write();
  expect(await createFolderRecord(folder).compare(true)).toBe("same");
  rmSync(files[0] ?? "");
  expect([record.looksSame(), await createFolderRecord(folder).compare(true)]).toEqual([false, "differs"]);
});

test("a store that is quiet records nothing while another one deletes files", async () => {
  const { folder, files } = folderWithTable();
  const [quiet, busy] = [createFolderRecord(folder), createFolderRecord(folder)];
  await quiet.write();
  await busy.changing(async () => {
    await quiet.write();
    rmSync(files[0] ?? "");
    expect(await quiet.compare(true)).toBe("unknown");
  });
  expect(await quiet.compare(true)).toBe("unknown");
  await busy.write();
  expect(await quiet.compare(true)).toBe("same");
});

test("a record that another one's change has overtaken says nothing", async () => {
  const { folder, files } = folderWithTable();
  const [slow, busy] = [createFolderRecord(folder), createFolderRecord(folder)];
  const writing = slow.write().catch(() => undefined);
  // However far the writing is by now: it may have looked at the file that goes.
  await busy.changing(async () => rmSync(files[0] ?? ""));
  await writing;
  expect(await createFolderRecord(folder).compare(true)).not.toBe("differs");
});

test("the mark of a process that has died keeps nobody from recording", async () => {
  const { folder } = folderWithTable();
  // No system gives a process so high a number.
  writeFileSync(join(folder, "writing-2147483646-x"), "");
  const record = createFolderRecord(folder);
  await record.write();
  expect([await record.compare(true), readdirSync(folder).filter((name) => name.startsWith("writing-"))]).toEqual([
    "same",
    [],
  ]);
});

test.each(["null", "7", "[]", '{"files":null}', "{"])("a record that is %s is none", async (text) => {
  const { folder } = folderWithTable();
  writeFileSync(join(folder, "files.json"), text);
  expect(await createFolderRecord(folder).compare(true)).toBe("unknown");
});
