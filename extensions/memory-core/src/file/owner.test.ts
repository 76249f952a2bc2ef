import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { edit, fileOf, find, open, tempPath } from "../test/stores.ts";

const ownerOf = (agentId: string, workspaceDir = `/notes/${agentId}`) => ({ agentId, workspaceDir });

function recorded(path: string): unknown {
  return edit(path, (db) =>
    JSON.parse(db.prepare<[], string>("SELECT value FROM meta WHERE key = 'owner'").pluck().get() ?? "null"),
  );
}

test("an index that was made for another agent is not used: not a word of it is found, and one line says why", async () => {
  const path = await tempPath();
  const store = await open(path, { owner: ownerOf("alice") });
  await store.replaceFiles([fileOf("a.md", ["canary"])]);
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
  const path = await tempPath();
  const store = await open(path, { owner: ownerOf("alice") });
  await store.replaceFiles([fileOf("a.md", ["word"])]);
  await store.close();
  expect(recorded(path)).toEqual(ownerOf("alice"));
  const moved = await open(path, { owner: ownerOf("alice", "/elsewhere") });
  expect(moved.health()).toMatchObject({ location: path, notices: [] });
  expect(await find(moved, "word")).toEqual(["word"]);
  await moved.close();
  expect(recorded(path)).toEqual(ownerOf("alice", "/elsewhere"));
});

test("an index of nobody's belongs to the first agent that opens it", async () => {
  const path = await tempPath();
  const store = await open(path);
  await store.replaceFiles([fileOf("a.md", ["word"])]);
  await store.close();
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

test("an index that does not say whose it is any more is made anew", async () => {
  const path = await tempPath();
  const store = await open(path, { owner: ownerOf("alice") });
  await store.replaceFiles([fileOf("a.md", ["canary"])]);
  await store.close();
  edit(path, (db) => db.exec("UPDATE meta SET value = '{' WHERE key = 'owner'"));
  const other = await open(path, { owner: ownerOf("bob") });
  expect(other.health().notices[0]).toMatch(/does not say whose notes/u);
  expect(await find(other, "canary")).toEqual([]);
});
