import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import type { VectorSpace } from "@memslot/indexing";
import { schemaVersion } from "@memslot/indexing/ledger-tables";
import { expect, test } from "vitest";
import { edit, embedAll, fileOf, find, near, open, pendingTexts, spaceOf, tempPath } from "../test/stores.ts";
import { loadSqliteVec } from "../vectors/engines/sqlite-vec.ts";

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
