import { beforeAll, expect, test } from "vitest";
import { getLoadablePath } from "sqlite-vec";
import { editsKeepCodes, fillVectors, numbered } from "../../test/agreement.ts";
import {
  copyOf,
  edit,
  fileOf,
  lookAtVectors,
  open,
  openHere,
  pendingTexts,
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
  store.close();
});

/** An index with two whole blocks and some more. */
const filled = (): Promise<string> => copyOf(whole);

function ask(store: StoreHere, text: string, limit = 5): unknown {
  return store.searchVector({ space, vector: vectorOf(text, 16), sources: both, limit }).rows;
}

test.each(cases.spoiltLayouts as [string, string][])(
  "a layout with %s is noticed, the answer is the exact one, and codes are made anew from the vectors",
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

test("that it is whole is looked at when nobody asks for anything, and after many new vectors", async () => {
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

test("damage that comes while it is open is noticed when a block is read, and the same search mends it", async () => {
  const path = await filled();
  const store = openHere(path);
  const exact = openHere(path, { engine: "exact" });
  store.useSpace(space);
  edit(path, (db) => db.exec("UPDATE chunks_codes_1 SET codes = zeroblob(length(codes))"));
  expect(ask(store, "text 300")).toEqual(ask(exact, "text 300"));
  expect(await lookAtVectors(path)).toBe("600 vectors in 2 blocks");
  store.close();
  exact.close();
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

/** Makes of the codes in a file what a release before them laid out, with sqlite-vec. */
function layOutAsBefore(path: string): void {
  edit(path, (db) => {
    db.loadExtension(getLoadablePath());
    for (const suffix of ["", "_slots", "_places", "_tail"]) db.exec(`DROP TABLE chunks_codes_1${suffix}`);
    db.exec(`CREATE VIRTUAL TABLE chunks_vec_1 USING vec0(source TEXT PARTITION KEY,
      embedding INT8[16] distance_metric=cosine, chunk_size=128)`);
    const insert = db.prepare("INSERT INTO chunks_vec_1 (rowid, source, embedding) VALUES (?, 'memory', vec_int8(?))");
    for (const id of db.prepare<[], number>("SELECT id FROM chunks").pluck().all())
      insert.run(BigInt(id), Buffer.alloc(16, id % 100));
    db.exec("INSERT INTO meta VALUES ('vector_angle:1', '0.01')");
  });
}

test.each([
  ["where sqlite-vec loads", {}],
  ["where it does not", { extensionPath: "/nowhere/vec0" }],
])("an index of a release that used sqlite-vec is taken over without embedding again, %s", async (_, settings) => {
  const path = await filled();
  layOutAsBefore(path);
  const store = await open(path, { vector: { enabled: true, ...settings } });
  await store.useSpace(space);
  expect(await pendingTexts(store, space)).toEqual([]);
  const { rows } = await store.searchVector({ space, vector: vectorOf("text 77", 16), sources: both, limit: 1 });
  expect(rows.map(({ text }) => text)).toEqual(["text 77"]);
  expect(store.health()).toMatchObject({ notices: [], vector: { engine: "wasm" } });
  await store.close();
  const left = edit(path, (db) =>
    db.prepare("SELECT name FROM sqlite_schema WHERE name GLOB 'chunks_vec_1_*'").pluck().all(),
  );
  expect(left).toEqual([]);
  expect(await lookAtVectors(path)).toBe("600 vectors in 2 blocks");
});

test("what a release that used sqlite-vec lays out again is not mistaken for codes that are in step", async () => {
  const path = await filled();
  edit(path, (db) => {
    db.loadExtension(getLoadablePath());
    db.exec("CREATE VIRTUAL TABLE chunks_vec_1 USING vec0(source TEXT PARTITION KEY, embedding INT8[16])");
    // As that release has changed the file: codes are of no chunk any more.
    db.exec("UPDATE chunks_codes_1_places SET id = id + 5000; UPDATE chunks_codes_1_slots SET ids = zeroblob(1024)");
  });
  const store = openHere(path);
  store.useSpace(space);
  expect(ask(store, "text 5", 1)).toMatchObject([{ text: "text 5" }]);
  store.close();
  expect(await lookAtVectors(path)).toBe("600 vectors in 2 blocks");
});

test("codes of a release that kept what waits beside the rest are made anew, and its table goes", async () => {
  const path = await filled();
  const exact = openHere(path, { engine: "exact" });
  edit(path, (db) => {
    // As it had them, and as it has changed them since: of chunks that this one has never had, in blocks of other codes.
    db.exec(`CREATE TABLE chunks_codes_1_rows (id INTEGER PRIMARY KEY, block INTEGER, source TEXT, file INTEGER, code BLOB);
      INSERT INTO chunks_codes_1_rows SELECT id + 5000, block, source, file, NULL FROM chunks_codes_1_places;
      UPDATE chunks_codes_1 SET codes = (SELECT codes FROM chunks_codes_1 WHERE block = 2) WHERE block = 1;
      UPDATE chunks_codes_1_slots SET sum = (SELECT sum FROM chunks_codes_1_slots WHERE block = 2)`);
  });
  const store = openHere(path);
  store.useSpace(space);
  for (const text of ["text 3", "text 300", "text 599"]) expect(ask(store, text)).toEqual(ask(exact, text));
  expect([store.pendingVectors(space, 10), store.health().vector.engine]).toEqual([[], "wasm"]);
  for (const one of [store, exact]) one.close();
  expect(await lookAtVectors(path)).toBe("600 vectors in 2 blocks");
  const tables = edit(path, (db) =>
    db
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'chunks_codes_1*' ORDER BY name")
      .pluck()
      .all(),
  );
  expect(tables).toEqual(["", "_places", "_slots", "_tail"].map((suffix) => `chunks_codes_1${suffix}`));
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
