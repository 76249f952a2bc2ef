import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { connect } from "@lancedb/lancedb";
import { tempFolder } from "@memslot/test-tools/files";
import { expect, onTestFinished, test } from "vitest";
import { expectWholeFiles, startWork } from "./support/children.ts";
import { fileOf, find, indexFolder, open } from "./support/stores.ts";

test("an index of another agent is left alone, and the one that is used instead is in memory", async () => {
  const stateDir = tempFolder();
  const own = await open(stateDir, { agentId: "anna", name: "shared", workspaceDir: "/notes" });
  await own.replaceFiles([fileOf("a.md", ["secret word"])]);
  const other = await open(stateDir, { agentId: "ben", name: "shared", workspaceDir: "/notes" });
  expect(await find(other, "secret")).toEqual([]);
  expect(await other.stats()).toMatchObject({
    location: "memory",
    notices: [expect.stringContaining('the agent "anna", not of "ben"')],
  });
  await other.replaceFiles([fileOf("a.md", ["other word"])]);
  expect(await find(other, "word")).toEqual(["other word"]);
  expect(await find(own, "word")).toEqual(["secret word"]);
  const moved = await open(stateDir, { agentId: "anna", name: "shared", workspaceDir: "/elsewhere" });
  expect(await find(moved, "word")).toEqual(["secret word"]);
});

test("an index of a later release is left alone", async () => {
  const stateDir = tempFolder();
  const first = await open(stateDir);
  await first.replaceFiles([fileOf("a.md", ["word a"])]);
  await first.close();
  const connection = await connect(indexFolder(stateDir));
  onTestFinished(() => connection.close());
  await connection.createTable("v99_files_1", [{ id: 1 }]);
  const store = await open(stateDir);
  expect(await store.listFiles()).toEqual([]);
  expect((await store.stats()).notices).toEqual([expect.stringContaining("later release of memslot (layout 99")]);
  await store.replaceFiles([fileOf("b.md", ["word b"])]);
  expect(await (await connection.openTable("v2_files_1")).countRows()).toBe(2);
});

test("a store that may only read finds what is there, and writes nothing", async () => {
  const stateDir = tempFolder();
  const first = await open(stateDir);
  await first.replaceFiles([fileOf("a.md", ["word a"])]);
  await first.close();
  const files = (): string[] =>
    readdirSync(indexFolder(stateDir), { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .map((entry) => `${entry.name} ${statSync(join(entry.parentPath, entry.name)).size}`)
      .toSorted();
  const before = files();
  const store = await open(stateDir, { mayCreate: false });
  expect(await find(store, "word")).toEqual(["word a"]);
  await store.close();
  expect(files()).toEqual(before);
});

test("a process that is killed while it writes has printed nothing of LanceDB and leaves whole files", async () => {
  const stateDir = tempFolder();
  const child = startWork({ does: "write", stateDir, prefix: "a-" });
  await child.line("wrote");
  child.process.kill("SIGKILL");
  await child.ended;
  expect(child.output().trim().split("\n")).toEqual(["open", "wrote"]);
  const store = await open(stateDir);
  expect(await expectWholeFiles(store)).toBe(5);
  await store.replaceFiles([fileOf("b.md", ["word b"])]);
  expect(await find(store, "word")).toEqual(["word b"]);
});
