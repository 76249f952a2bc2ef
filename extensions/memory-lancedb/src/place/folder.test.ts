import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { errorOf, open, tempFolder } from "../test/places.ts";
import { closeNative } from "./close-native.ts";
import { libraryMessage } from "./open-place.ts";

test("a folder is made, for its owner alone, and keeps what is written", async () => {
  const stateDir = await tempFolder();
  const place = await open({}, { stateDir });
  const folder = join(stateDir, "memory", "lancedb", "main");
  expect(place).toMatchObject({ kind: "folder", folder, location: folder, tablePrefix: "" });
  expect(place.leases).toBeUndefined();
  if (process.platform !== "win32") expect(statSync(folder).mode & 0o777).toBe(0o700);
  await place.connection.createTable("t", [{ x: 1 }]);
  const again = await open({}, { stateDir });
  expect(await again.connection.tableNames()).toEqual(["t"]);
});

test("where nothing is there and nothing may be made, nothing is made", async () => {
  const stateDir = await tempFolder();
  const place = await open({}, { stateDir, mayCreate: false });
  expect(await place.connection.tableNames()).toEqual([]);
  expect(existsSync(join(stateDir, "memory"))).toBe(false);
  expect(place.location).toBe(join(stateDir, "memory", "lancedb", "main"));
});

test("a folder that cannot be made is UNAVAILABLE with its name and the next step", async () => {
  const stateDir = await tempFolder();
  writeFileSync(join(stateDir, "taken"), "");
  const error = await errorOf(open({ dbPath: join(stateDir, "taken") }));
  expect(error).toMatchObject({ code: "UNAVAILABLE" });
  expect(error.message).toContain(join(stateDir, "taken", "main"));
  expect(error.message).toContain("set plugins.entries.memory-lancedb.config.dbPath to another one");
});

test("what another process has written is seen with the next look", async () => {
  const stateDir = await tempFolder();
  const mine = await open({}, { stateDir });
  const table = await mine.connection.createTable("t", [{ x: 1 }]);
  const other = await open({}, { stateDir });
  await (await other.connection.openTable("t")).add([{ x: 2 }]);
  await table.checkoutLatest();
  expect(await table.countRows()).toBe(2);
});

test("a machine without a binary is told what to do", () => {
  expect(libraryMessage(new Error("Cannot find module"), "darwin", "x64")).toBe(
    'LanceDB has no binary for darwin-x64; set plugins.slots.memory to "memory-core", or use another machine',
  );
  expect(libraryMessage(new Error("Cannot find module"), "linux", "x64")).toContain("install @lancedb/lancedb again");
});

test("closing waits for calls that are under way", async () => {
  const stateDir = await tempFolder();
  const place = await open({}, { stateDir });
  const table = await place.connection.createTable("t", [{ x: 1 }]);
  for (let round = 0; round < 20; round++) {
    const other = await open({}, { stateDir });
    const calls = Array.from({ length: 20 }, () => other.connection.openTable("t"));
    const names = other.connection.tableNames();
    await other.close();
    await Promise.allSettled([...calls, names]);
  }
  const counts = Array.from({ length: 50 }, () => table.countRows());
  await closeNative(table);
  await Promise.allSettled(counts);
  expect(table.isOpen()).toBe(false);
});
