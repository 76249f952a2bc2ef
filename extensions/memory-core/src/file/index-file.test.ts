import { readFileSync, readdirSync, existsSync, statSync } from "node:fs";
import { truncate, writeFile, rm, mkdir } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { tempFolder } from "@memslot/test-tools/files";
import { expect, test } from "vitest";
import {
  edit,
  fileOf,
  find,
  open,
  openWith,
  tempPath,
  embedAll,
  near,
  spaceOf,
  runChild,
  expectIntegrity,
  indexWith,
  pendingTexts,
} from "../test/stores.ts";
import type { VectorSpace } from "@memslot/indexing";
import { schemaVersion } from "@memslot/indexing/ledger-tables";
import { loadSqliteVec } from "../vectors/engines/sqlite-vec.ts";

const ownerOf = (agentId: string, workspaceDir = `/notes/${agentId}`) => ({ agentId, workspaceDir });

function recorded(path: string): unknown {
  return edit(path, (db) =>
    JSON.parse(db.prepare<[], string>("SELECT value FROM meta WHERE key = 'owner'").pluck().get() ?? "null"),
  );
}

test("an index that was made for another agent is not used: not a word of it is found, and one line says why", async () => {
  const { path, store } = await openWith([fileOf("a.md", ["canary"])], { owner: ownerOf("alice") });
  await store.close();
  const before = readFileSync(path);

  const other = await open(path, { owner: ownerOf("bob") });
  const { location, notices } = other.health();
  expect(location).toBe(":memory:");
  expect(notices).toHaveLength(1);
  for (const part of [path, '"alice"', '"bob"', "{agentId}", "store.path"]) expect(notices[0]).toContain(part);
  expect(await find(other, "canary")).toEqual([]);
  await other.replaceFiles([fileOf("b.md", ["word"])]);
  expect(await find(other, "word")).toEqual(["word"]);
  await other.close();
  expect(readFileSync(path).equals(before)).toBe(true);

  const again = await open(path, { owner: ownerOf("alice") });
  expect(await find(again, "canary")).toEqual(["canary"]);
});

test("a workspace that was moved keeps its index", async () => {
  const { path, store } = await openWith([fileOf("a.md", ["word"])], { owner: ownerOf("alice") });
  await store.close();
  expect(recorded(path)).toEqual(ownerOf("alice"));
  const moved = await open(path, { owner: ownerOf("alice", "/elsewhere") });
  expect(moved.health()).toMatchObject({ location: path, notices: [] });
  expect(await find(moved, "word")).toEqual(["word"]);
  await moved.close();
  expect(recorded(path)).toEqual(ownerOf("alice", "/elsewhere"));
});

test("an index without an owner belongs to the first agent that opens it", async () => {
  const path = await indexWith(fileOf("a.md", ["word"]));
  expect(recorded(path)).toBeNull();
  await (await open(path, { owner: ownerOf("alice") })).close();
  expect(recorded(path)).toEqual(ownerOf("alice"));
  expect((await open(path, { owner: ownerOf("bob") })).health().location).toBe(":memory:");
});

test("of two agents that make the same file at once one gets it", async () => {
  const path = await tempPath();
  const stores = await Promise.all([open(path, { owner: ownerOf("alice") }), open(path, { owner: ownerOf("bob") })]);
  expect(stores.map((store) => store.health().location).toSorted()).toEqual([path, ":memory:"].toSorted());
});

test("an index that does not say whose it is any more is rebuilt", async () => {
  const { path, store } = await openWith([fileOf("a.md", ["canary"])], { owner: ownerOf("alice") });
  await store.close();
  edit(path, (db) => db.exec("UPDATE meta SET value = '{' WHERE key = 'owner'"));
  const other = await open(path, { owner: ownerOf("bob") });
  expect(other.health().notices[0]).toMatch(/does not say whose notes/u);
  expect(await find(other, "canary")).toEqual([]);
});

async function damaged(path: string): Promise<void> {
  const store = await open(path);
  await store.replaceFiles([fileOf("a.md", ["word"])]);
  await store.close();
  await truncate(path, 50);
}

const asideOf = (path: string): string[] =>
  readdirSync(dirname(path)).filter((name) => name.startsWith(`${basename(path)}.corrupt-`));

test("of damaged files only the last is kept, and files with such a name from elsewhere are", async () => {
  const path = await tempPath();
  await damaged(path);
  await writeFile(`${path}.corrupt-2024`, "mine");
  await writeFile(`${path}.corrupt-backup`, "mine too");
  const seen = new Set<string>();
  for (let round = 0; round < 3; round++) {
    const store = await open(path);
    const notice = store.health().notices[0] ?? "";
    await store.close();
    const ours = asideOf(path).filter((name) => !name.endsWith("-2024") && !name.endsWith("-backup"));
    expect(ours).toHaveLength(1);
    expect(notice).toContain(ours[0]);
    seen.add(ours[0] ?? "");
    await writeFile(`${dirname(path)}/${ours[0]}-wal`, "its log");
    await damaged(path);
  }
  expect(seen.size).toBeGreaterThan(1);
  expect(readFileSync(`${path}.corrupt-2024`, "utf8")).toBe("mine");
  expect(readFileSync(`${path}.corrupt-backup`, "utf8")).toBe("mine too");
});

test("a read-only open leaves a damaged file in place", async () => {
  const path = await tempPath();
  await damaged(path);
  const before = readFileSync(path);
  const looking = await open(path, { mayCreate: false });
  const { location, notices } = looking.health();
  expect(location).toBe(":memory:");
  expect(notices).toHaveLength(1);
  expect(notices[0]).toMatch(/is damaged .*next sync/u);
  expect(await looking.listFiles()).toEqual([]);
  await looking.close();
  expect(readFileSync(path).equals(before)).toBe(true);
  expect(readdirSync(dirname(path))).toEqual([basename(path), `${basename(path)}-sum`]);
  const store = await open(path);
  expect(store.health().location).toBe(path);
  await store.replaceFiles([fileOf("a.md", ["word"])]);
  expect(await find(store, "word")).toEqual(["word"]);
});

const space = spaceOf("m");

test("an index that is deleted while it is open is rebuilt by the next call that asks what is in it", async () => {
  for (const suffixes of [[""], ["", "-wal", "-shm"], ["-wal", "-shm", ""]]) {
    const { path, store } = await openWith([fileOf("a.md", ["old word"])]);
    const revision = await store.revision?.();
    for (const suffix of suffixes) await rm(path + suffix);
    expect(await find(store, "word"), "a search answers from what it has").toEqual(["old word"]);
    expect(await store.revision?.({ fresh: true })).not.toBe(revision);
    expect(await store.listFiles()).toEqual([]);
    expect(store.health().location).toBe(path);
    expect(store.health().notices).toEqual([expect.stringMatching(/was deleted while it was open/u)]);
    await store.replaceFiles([fileOf("b.md", ["new word"])]);
    expect(await store.revision?.(), "as many changes as there were in the old one").not.toBe(revision);
    expect(await find(store, "word")).toEqual(["new word"]);
    await store.close();
    const next = await open(path);
    expect(await find(next, "word")).toEqual(["new word"]);
  }
});

test("a whole state folder that is deleted comes back with the next write", async () => {
  const path = await tempPath();
  const store = await open(path);
  await store.useSpace(space);
  await rm(dirname(path), { recursive: true });
  await store.replaceFiles([fileOf("a.md", ["word"])]);
  expect(await embedAll(store, space)).toBe(1);
  expect(await near(store, space, "word")).toEqual(["word"]);
  expect(existsSync(path)).toBe(true);
  const layout = (await store.check())?.find(({ name }) => name === "vectors");
  expect(layout?.message, "the space that was in use is laid out again").toMatch(/^1 vectors in/u);
  if (process.platform !== "win32") expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("what another process has made in place of a deleted index is used by the one that still had the old one", async () => {
  const { path, store: running } = await openWith([fileOf("old.md", ["word old"])]);
  await rm(path);
  expect(existsSync(`${path}-shm`)).toBe(true);
  const child = runChild(["write-files", path, "new", "2"]);
  expect(await child.ended, child.output()).toBe(0);
  expect(child.output()).toContain(`open ${path}\n`);
  const next = await open(path);
  expect(next.health()).toMatchObject({ location: path, notices: [] });
  await running.replaceFiles([fileOf("b.md", ["word"])]);
  expect(running.health().notices).toEqual([expect.stringMatching(/replaced by another file/u)]);
  expect(await running.listFiles()).toHaveLength(21);
  expect(await find(next, "word")).toEqual(["word"]);
  await next.replaceFiles([fileOf("c.md", ["third"])]);
  await running.close();
  expect(await find(next, "third")).toEqual(["third"]);
  await next.close();
  expectIntegrity(path);
});

test("a foreign file that is put in place of the open index is not touched", async () => {
  const { path, store } = await openWith([fileOf("a.md", ["word"])]);
  for (const suffix of ["", "-wal", "-shm"]) await rm(path + suffix);
  await writeFile(path, "# My notes\n");
  await store.replaceFiles([fileOf("b.md", ["other"])]);
  expect(store.health().location).toBe(":memory:");
  expect(store.health().notices.join("\n")).toMatch(/not a SQLite database/u);
  expect(await find(store, "other")).toEqual(["other"]);
  expect(readFileSync(path, "utf8")).toBe("# My notes\n");
});

test("a build that was begun in a file that is gone says so, and can be begun again", async () => {
  const { path, store } = await openWith([fileOf("a.md", ["word"])]);
  const build = await store.startBuild("v2");
  await build.replaceFiles([fileOf("a.md", ["next"])]);
  for (const suffix of ["", "-wal", "-shm"]) await rm(path + suffix);
  await expect(build.replaceFiles([fileOf("b.md", ["next"])])).rejects.toThrow(/start it again/u);
  const again = await store.startBuild("v2");
  expect(await again?.listFiles()).toEqual([]);
  await again?.replaceFiles([fileOf("a.md", ["next"])]);
  await store.finishBuild();
  expect(await find(store, "next")).toEqual(["next"]);
});

test("a read-only store does not recreate a deleted file", async () => {
  const path = await indexWith(fileOf("a.md", ["word"]));
  const store = await open(path, { mayCreate: false });
  await rm(path);
  expect(await store.listFiles()).toHaveLength(1);
  expect(await find(store, "word")).toEqual(["word"]);
  expect(store.health()).toMatchObject({ location: path, notices: [] });
  expect(existsSync(path)).toBe(false);
});

test("leases outlive the file", async () => {
  const path = await tempPath();
  const locksDir = `${tempFolder()}/locks`;
  const [here, there] = [await open(path, { locksDir }), await open(path, { locksDir })];
  expect(await here.leases?.acquire("build", "rebuild")).toBe(true);
  expect(await there.leases?.holder("build")).toMatchObject({ pid: process.pid, reason: "rebuild" });
  await rm(path);
  expect(await here.listFiles()).toEqual([]);
  expect(await there.leases?.acquire("build", "other")).toBe(false);
  await here.close();
  expect(await there.leases?.acquire("build", "other")).toBe(true);
});

const older: VectorSpace = { provider: "fake", model: "older", providerKey: "", dimensions: 8 };

function ofSchema(name: string): (path: string) => void {
  return (path) =>
    edit(path, (db) => {
      expect(loadSqliteVec(db, undefined).ok).toBe(true);
      db.exec(readFileSync(new URL(`../test/${name}-schema.sql`, import.meta.url), "utf8"));
    });
}

/** Brought up to this schema in place by an earlier release: it cannot give back single pages. */
async function upgradedInPlace(path: string): Promise<void> {
  const store = await open(path);
  await store.replaceFiles([fileOf("a.md", ["kept word"])]);
  await embedAll(store, spaceOf("m"));
  await store.close();
  edit(path, (db) => {
    db.pragma("journal_mode = DELETE");
    db.pragma("auto_vacuum = NONE");
    db.exec("VACUUM");
  });
}

test.each<[what: string, make: (path: string) => unknown, space: VectorSpace, text: string]>([
  ["of the second schema", ofSchema("second"), older, "word two"],
  ["of the third schema", ofSchema("third"), spaceOf("m"), "old word"],
  ["that was upgraded in place", upgradedInPlace, spaceOf("m"), "kept word"],
])("an index %s is set aside and rebuilt with its vectors, once for all processes", async (_, make, space, text) => {
  const path = await tempPath();
  await mkdir(dirname(path), { recursive: true });
  await make(path);
  const stores = await Promise.all([open(path), open(path), open(path)] as const);
  const notices = stores.flatMap((store) => store.health().notices);
  expect(notices).toEqual([expect.stringMatching(/is of an earlier release and is rebuilt from the notes/u)]);
  const [store, second, third] = stores;
  for (const each of stores) expect(each.health().location).toBe(path);
  expect(await store.listFiles()).toEqual([]);
  await store.replaceFiles([fileOf("a.md", [text, "never embedded"])]);
  expect(await find(second, "word")).toEqual([text]);
  expect(await pendingTexts(third, space)).toEqual(["never embedded"]);
  await third.useSpace(space);
  expect(await near(third, space, text, 1)).toEqual([text]);
  for (const each of stores) await each.close();
  expect(edit(path, (db) => db.pragma("user_version", { simple: true }))).toBe(schemaVersion);
});
