import { openDatabaseStore } from "@memslot/indexing/ledger-tables";
import { expect, test } from "vitest";
import { fileOf, openHere, sha256, spaceOf, tempPath, vectorOf, words } from "../test/stores.ts";

const space = spaceOf("m");
const ledgerOf = (path: string) =>
  openDatabaseStore({ path, store: "memory-other", cacheMaxEntries: 1000, busyTimeoutMs: 1000 });

test("a vector that another store in the file has put in is found by the fast layout, too", async () => {
  const path = await tempPath();
  const store = openHere(path);
  store.replaceFiles([fileOf("a.md", ["known", "late"])]);
  store.putVectors(space, [{ hash: sha256("known"), vector: vectorOf("known") }]);
  store.useSpace(space);
  const other = ledgerOf(path);
  other.replaceFiles([fileOf("z.md", ["late"])]);
  other.putVectors(space, [{ hash: sha256("late"), vector: vectorOf("late") }]);
  const query = { space, vector: vectorOf("late"), sources: ["memory"], limit: 1 };
  expect(store.searchVector(query).rows).toMatchObject([{ text: "late", path: "a.md" }]);
  other.close();
  store.close();
});

test("words of another store are not found, and its files are no damage", async () => {
  const path = await tempPath();
  const other = ledgerOf(path);
  other.replaceFiles([fileOf("z.md", ["common word"])]);
  const store = openHere(path);
  expect(store.health().notices).toEqual([]);
  store.replaceFiles([fileOf("a.md", ["word"])]);
  other.replaceFiles([fileOf("y.md", ["word again"])]);
  const query = { terms: words("word"), sources: ["memory"], limit: 9 };
  expect(store.searchKeyword(query).rows.map(({ path: name }) => name)).toEqual(["a.md"]);
  expect(store.searchKeyword(query).chunkCount).toBe(1);
  other.close();
  store.close();
});
