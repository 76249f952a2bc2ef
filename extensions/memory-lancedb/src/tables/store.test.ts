import { connect } from "@lancedb/lancedb";
import { expect, onTestFinished, test } from "vitest";
import manifest from "../../memslot.plugin.json" with { type: "json" };
import plugin from "../index.ts";
import { createWriteQueue } from "./writes.ts";
import { startChild } from "@memslot/test-tools/child";
import { bytesBelow, fileOf, find, indexFolder, open, tempFolder } from "../../test/support/stores.ts";

test("an index of another agent is left alone, and the one that is used instead is in memory", async () => {
  const stateDir = await tempFolder();
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
  const stateDir = await tempFolder();
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

test("whoever only looks finds what is there, and writes nothing", async () => {
  const stateDir = await tempFolder();
  const first = await open(stateDir);
  await first.replaceFiles([fileOf("a.md", ["word a"])]);
  await first.close();
  const before = bytesBelow(indexFolder(stateDir));
  const store = await open(stateDir, { mayCreate: false });
  expect(await find(store, "word")).toEqual(["word a"]);
  await store.close();
  expect(bytesBelow(indexFolder(stateDir))).toBe(before);
});

test("a process that opens, writes and closes prints nothing of LanceDB and ends by itself", async () => {
  const child = startChild(new URL("../../test/support/write-files.ts", import.meta.url), [
    await tempFolder(),
    "a-",
    "2",
  ]);
  expect(await child.ended).toBe(0);
  expect(
    child
      .output()
      .split("\n")
      .filter((line) => !/^(?:open |wrote$|done$|$)/.test(line)),
  ).toEqual([]);
});

test("a write that meets another one is tried again, one that fails for another reason is not", async () => {
  const writes = createWriteQueue(() => undefined);
  let attempts = 0;
  const answer = await writes.run(async () => {
    if (++attempts < 3) throw new Error("lance error: Retryable commit conflict for version 7");
    return "written";
  });
  expect([answer, attempts]).toEqual(["written", 3]);
  attempts = 0;
  const failing = writes.run(async () => {
    attempts++;
    throw new Error("no space left on device");
  });
  await expect(failing).rejects.toThrow("no space left");
  expect(attempts).toBe(1);
});

test("the plugin says the same of its settings as its manifest does", () => {
  expect(plugin.configSchema).toEqual(manifest.configSchema);
  expect(plugin.id).toBe(manifest.id);
});
