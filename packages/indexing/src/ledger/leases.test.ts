import { readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { chmod, mkdir, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createLeases } from "./leases.ts";
import { startChild } from "../../test/support/child.ts";
import { leaseRows } from "./test/notes.ts";
import { tempFolder } from "@memslot/test-tools/files";

interface Place {
  path: string;
  locksDir: string;
}

async function place(): Promise<Place> {
  const folder = tempFolder();
  const path = join(folder, "index", "main.sqlite");
  await mkdir(join(folder, "index"));
  writeFileSync(path, "");
  return { path, locksDir: join(folder, "locks") };
}

function leasesOf({ path, locksDir }: Place): ReturnType<typeof createLeases> {
  const leases = createLeases({ indexPath: () => path, locksDir, rows: leaseRows(path) });
  onTestFinished(() => leases.close());
  return leases;
}

test("a lease that another process holds is refused, and is free at once when that process is killed", async () => {
  const at = await place();
  const here = leasesOf(at);
  const child = startChild(new URL("./test/ledger-process.ts", import.meta.url), [at.path]);
  expect(await child.ask(`hold build ${at.locksDir}`)).toBe("held");
  expect(here.acquire("build", "me")).toBe(false);
  expect(here.holder("build")).toMatchObject({ pid: child.pid, host: hostname(), reason: "test child" });
  expect(here.acquire("files", "the other lease")).toBe(true);

  await child.kill();
  expect(leaseRows(at.path).get("lease:build"), "the row of the dead is still there").toContain("test child");
  expect(here.holder("build")).toBeUndefined();
  expect(here.acquire("build", "me")).toBe(true);
  expect(here.holder("build")).toMatchObject({ pid: process.pid, reason: "me" });
});

test("two stores in one process exclude each other, whatever the name of the file", async () => {
  const at = await place();
  const first = leasesOf(at);
  const link = join(at.locksDir, "..", "link.sqlite");
  symlinkSync(at.path, link);
  const second = leasesOf({ ...at, path: link });
  expect(first.acquire("build", "first")).toBe(true);
  expect(first.acquire("build", "again")).toBe(true);
  expect(second.acquire("build", "second")).toBe(false);
  expect(second.holder("build")).toMatchObject({ reason: "first" });
  second.release("build");
  expect(second.acquire("build", "second"), "only the holder can give it back").toBe(false);
  first.close();
  expect(second.acquire("build", "second")).toBe(true);
  const elsewhere = leasesOf(await place());
  expect(elsewhere.acquire("build", "another index")).toBe(true);
});

test("locks are empty files of their own, and nothing appears beside them or the index", async () => {
  const at = await place();
  const here = leasesOf(at);
  expect([here.acquire("files", "x"), here.acquire("build", "x")]).toEqual([true, true]);
  const locks = readdirSync(at.locksDir);
  expect(locks).toHaveLength(2);
  expect(locks.map((name) => statSync(join(at.locksDir, name)).size)).toEqual([0, 0]);
  expect(readdirSync(join(at.path, ".."))).toEqual(["main.sqlite"]);
  here.close();
  expect(readdirSync(at.locksDir)).toEqual(locks);
});

test("a lock that is deleted while it is held is rebuilt by the next who asks", async () => {
  const at = await place();
  const [here, there, third] = [leasesOf(at), leasesOf(at), leasesOf(at)];
  expect(here.acquire("build", "x")).toBe(true);
  await rm(at.locksDir, { recursive: true });
  expect(there.acquire("build", "y")).toBe(true);
  expect(third.acquire("build", "z")).toBe(false);
});

test("progress and owner are read by others, while the lease is held", async () => {
  const at = await place();
  const [here, there] = [leasesOf(at), leasesOf(at)];
  here.report({ completed: 1, total: 9 });
  expect(here.holder("build")).toBeUndefined();
  here.acquire("build", "rebuild");
  here.report({ completed: 2, total: 9, label: "a.md" });
  for (const leases of [here, there])
    expect(leases.holder("build")).toMatchObject({ reason: "rebuild", completed: 2, total: 9, label: "a.md" });
});

test("without a place for locks leases are granted, and a row that cannot be read counts for nothing", async () => {
  const at = await place();
  const nowhere = createLeases({ indexPath: () => undefined, locksDir: at.locksDir, rows: leaseRows(at.path) });
  const unsaid = createLeases({ indexPath: () => at.path, locksDir: undefined, rows: leaseRows(at.path) });
  writeFileSync(join(at.locksDir, "..", "file"), "");
  const unwritable = leasesOf({ ...at, locksDir: join(at.locksDir, "..", "file", "locks") });
  for (const leases of [nowhere, unsaid, unwritable]) {
    expect(leases.acquire("build", "x")).toBe(true);
    expect(leases.holder("build")).toMatchObject({ reason: "x" });
    leases.close();
    expect(leases.holder("build")).toBeUndefined();
  }
  leaseRows(at.path).set("lease:build", "{");
  expect(leasesOf(at).holder("build")).toBeUndefined();
});

test("the folder of the locks is for its owner alone", async (context) => {
  if (process.platform === "win32") return context.skip("permissions are of another kind there");
  const at = await place();
  await chmod(join(at.locksDir, ".."), 0o755);
  leasesOf(at).acquire("build", "x");
  expect(statSync(at.locksDir).mode & 0o777).toBe(0o700);
});

test("where no row can be written the lock alone decides, and is given back", async () => {
  const at = await place();
  const full = (): never => {
    throw new Error("database or disk is full");
  };
  const rows = { get: () => undefined, set: full };
  const here = createLeases({ indexPath: () => at.path, locksDir: at.locksDir, rows });
  onTestFinished(() => here.close());
  const there = leasesOf(at);
  expect(here.acquire("build", "me")).toBe(true);
  expect(there.acquire("build", "the other")).toBe(false);
  here.report({ completed: 1, total: 2 });
  here.release("build");
  expect(there.acquire("build", "the other")).toBe(true);
});
