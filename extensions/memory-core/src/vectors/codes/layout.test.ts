import { beforeAll, expect, test } from "vitest";
import { editsKeepCodes, fillVectors, numbered } from "../../test/agreement.ts";
import {
  copyOf,
  edit,
  fileOf,
  lookAtVectors,
  openHere,
  spaceOf,
  type StoreHere,
  tempPath,
  vectorOf,
} from "../../test/stores.ts";
import cases from "../../../test/data/cases.json" with { type: "json" };

const space = spaceOf("m", 16);
const both = ["memory", "sessions"];

let whole = "";

beforeAll(async () => {
  whole = await tempPath();
  const store = openHere(whole);
  store.replaceFiles([fileOf("a.md", numbered("text", 600))]);
  store.useSpace(space);
  fillVectors(store);
});

/** An index with two whole blocks and some more. */
const filled = (): Promise<string> => copyOf(whole);

function ask(store: StoreHere, text: string, limit = 5): unknown {
  return store.searchVector({ space, vector: vectorOf(text, 16), sources: both, limit }).rows;
}

test.each(cases.spoiltLayouts as [string, string][])(
  "a layout with %s is noticed, the answer is the exact one, and codes are rebuilt from the vectors",
  async (_, sql) => {
    const path = await filled();
    const exact = openHere(path, { engine: "exact" });
    edit(path, (db) => db.exec(sql));
    const store = openHere(path);
    store.useSpace(space);
    for (const text of ["text 3", "text 300", "text 599"]) expect(ask(store, text)).toEqual(ask(exact, text));
    while (await store.tidy());
    expect([store.health().notices, store.pendingVectors(space, 10)]).toEqual([[], []]);
    for (const text of ["text 3", "text 300", "text 599"]) expect(ask(store, text)).toEqual(ask(exact, text));
    expect(store.health().vector.engine).toBe("wasm");
    store.close();
    exact.close();
    expect(await lookAtVectors(path)).toBe("600 vectors in 2 blocks");
  },
);

test("the layout is checked when idle, and after many new vectors", async () => {
  const path = await filled();
  const damage = (): unknown => edit(path, (db) => db.exec("DELETE FROM chunks_codes_1_places WHERE id < 20"));
  const sound = "600 vectors in 2 blocks";
  const store = openHere(path);
  store.useSpace(space);
  damage();
  while (await store.tidy(false));
  expect(await lookAtVectors(path)).not.toBe(sound);
  while (await store.tidy(true));
  expect(await lookAtVectors(path)).toBe(sound);
  damage();
  store.replaceFiles([fileOf("b.md", numbered("more", 600))]);
  fillVectors(store);
  while (await store.tidy(false));
  store.close();
  expect(await lookAtVectors(path)).toBe("1200 vectors in 4 blocks");
});

test("damage that comes while it is open is noticed when a block is read, and the same search repairs it", async () => {
  const path = await filled();
  const store = openHere(path);
  const exact = openHere(path, { engine: "exact" });
  store.useSpace(space);
  edit(path, (db) => db.exec("UPDATE chunks_codes_1 SET codes = zeroblob(length(codes))"));
  expect(ask(store, "text 300")).toEqual(ask(exact, "text 300"));
  expect(await lookAtVectors(path)).toBe("600 vectors in 2 blocks");
});

test("through 50 edits by two processes, builds and changes of the space the answers are the exact ones", async () => {
  expect(await editsKeepCodes(50, 9)).toBeGreaterThan(12);
});

test("what is rolled back is not in the codes that are asked next", async () => {
  const path = await filled();
  const store = openHere(path);
  store.useSpace(space);
  const before = ask(store, "text 5");
  const wrong = { ...fileOf("b.md", ["text 5"]), hash: undefined as unknown as string };
  expect(() => store.replaceFiles([fileOf("c.md", ["text 5"]), wrong])).toThrow(/hash|NOT NULL|undefined/u);
  expect(ask(store, "text 5")).toEqual(before);
  store.close();
  expect(await lookAtVectors(path)).toBe("600 vectors in 2 blocks");
});

test("blocks of codes never take the places of the mean and of the thresholds", async () => {
  const path = await filled();
  const store = openHere(path);
  store.useSpace(space);
  // Laid out with a mean from the beginning, as it is not in an index that has just been filled.
  while (await store.tidy());
  store.close();
  const blocks = edit(path, (db) => ({
    slots: db.prepare("SELECT block FROM chunks_codes_1_slots ORDER BY block").pluck().all(),
    codes: db.prepare("SELECT block FROM chunks_codes_1 ORDER BY block").pluck().all(),
  }));
  expect(blocks).toEqual({ slots: [1, 2], codes: [-1, 1, 2] });
});
