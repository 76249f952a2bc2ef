import { expect, test } from "vitest";
import { fileOf, openHere, sha256, spaceOf, tempPath, vectorOf } from "../test/stores.ts";

const space = spaceOf("m");

test("a space that begins to be searched while its vectors leave keeps those that are left", async () => {
  const path = await tempPath();
  const texts = Array.from({ length: 1500 }, (_, index) => `live ${index}`);
  const before = openHere(path, { cacheMaxEntries: 0 });
  before.replaceFiles([fileOf("a.md", texts)]);
  before.putVectors(
    space,
    texts.map((text) => ({ hash: sha256(text), vector: vectorOf("x") })),
  );
  before.close();
  const store = openHere(path, { cacheMaxEntries: 0 });
  store.putVectors(spaceOf("other"), [{ hash: sha256("live 0"), vector: vectorOf("x") }]);
  expect(store.stats().cachedVectors).toBe(501);
  const query = { space, vector: vectorOf("x"), sources: ["memory"], limit: 1000 };
  expect(store.searchVector(query).rows).toHaveLength(500);
  while (await store.tidy());
  expect(store.searchVector(query).rows).toHaveLength(500);
  store.close();
});
