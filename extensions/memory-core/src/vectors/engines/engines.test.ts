import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { randomFrom, vectorsOf } from "../../../test/support/vectors.ts";
import { enginesAgree, filledWith, kernelAgrees, nearestOf, questionsEach } from "../../test/agreement.ts";
import { numbered, anyVector, fileOf, openHere, spaceOf, tempPath } from "../../test/stores.ts";
import { blockBytes, blockRows, checksumOf, encodeVector, packRows } from "../quantized/quantize-vector.ts";
import { loadSqliteVec } from "./sqlite-vec.ts";

test.each([1, 17, 384])(
  "in %i dimensions all engines give the exact answer: filters, ties, copies and zeros",
  async (dimensions) => {
    expect(await enginesAgree(dimensions)).toBe(questionsEach);
  },
);

test("of vectors that all lie within a hair of each other, most of the nearest are found, and each with its exact score", async () => {
  const drawn = vectorsOf("dense", 64, 600 + questionsEach, randomFrom(5));
  const path = await filledWith(drawn.slice(questionsEach));
  const [wasm, exact] = ["wasm", "exact"].map((engine) => openHere(path, { engine: engine as "wasm" | "exact" }));
  wasm?.useSpace(spaceOf("m", 64));
  let found = 0;
  for (const vector of drawn.slice(0, questionsEach)) {
    const query = { space: spaceOf("m", 64), vector, sources: ["memory", "sessions"], limit: 10 };
    const wanted = new Map(exact?.searchVector(query).rows.map(({ id, score }) => [id, score]));
    const { rows = [] } = wasm?.searchVector(query) ?? {};
    for (const { id, score } of rows) if (wanted.has(id) && wanted.get(id) === score) found++;
    expect(rows).toEqual(nearestOf(rows, 10));
  }
  expect(found / (10 * questionsEach)).toBeGreaterThan(0.98);
});

test("a filter is tested before the nearest are counted: a few far ones are found behind any number of near ones", async () => {
  const path = await tempPath();
  const space = spaceOf("m", 32);
  const vectors = vectorsOf("clustered", 32, 900, randomFrom(3));
  const [question] = vectors as [Float32Array];
  const opposite = question.map((value) => -value);
  const store = openHere(path, { engine: "wasm" });
  const near = fileOf("near.md", numbered("near", 800));
  const far = fileOf("far.md", ["far 0", "far 1"]);
  store.replaceFiles([near, far]);
  store.putVectors(
    space,
    near.chunks.map(({ hash }) => ({ hash, vector: question })),
  );
  store.putVectors(
    space,
    far.chunks.map(({ hash }) => ({ hash, vector: opposite })),
  );
  store.useSpace(space);
  const scope = { within: ["far.md"], without: [] };
  const { rows } = store.searchVector({ space, vector: question, sources: ["memory"], scope, limit: 9 });
  expect(rows.map(({ text }) => text)).toEqual(["far 0", "far 1"]);
  expect(store.health().vector.engine).toBe("wasm");
});

test("fewer vectors than a block are compared one by one, and status says so", async () => {
  const store = openHere(await tempPath());
  const space = spaceOf("m", 8);
  const file = fileOf(
    "a.md",
    Array.from({ length: 255 }, (_, index) => `${index}`),
  );
  const [vector, more] = vectorsOf("clustered", 8, 2, randomFrom(1)) as [Float32Array, Float32Array];
  store.replaceFiles([file]);
  store.putVectors(
    space,
    file.chunks.map(({ hash }) => ({ hash, vector })),
  );
  store.useSpace(space);
  const ask = (): unknown => store.searchVector({ space, vector: more, sources: ["memory"], limit: 3 }).rows.length;
  expect([ask(), store.health().vector.engine]).toEqual([3, "exact"]);
  store.replaceFiles([fileOf("b.md", ["0", "1"])]);
  expect([ask(), store.health().vector.engine]).toEqual([3, "wasm"]);
});

test("without WebAssembly sqlite-vec compares, without that JavaScript, each with one notice", async () => {
  const host = globalThis as { WebAssembly?: unknown };
  const kept = host.WebAssembly;
  const broken = openHere(await tempPath(), { extensionPath: "/nowhere/vec0" });
  const store = openHere(await tempPath());
  try {
    delete host.WebAssembly;
    for (const each of [store, broken]) each.searchVector(anyVector);
  } finally {
    host.WebAssembly = kept;
  }
  expect(store.health().vector).toMatchObject({ engine: "sqlite-vec", available: true });
  expect(store.health().notices).toEqual([
    expect.stringMatching(/^WebAssembly cannot be used .*sqlite-vec is used instead.*store\.vector\.engine/u),
  ]);
  expect(broken.health().vector).toMatchObject({ engine: "exact", available: false });
  expect(broken.health().notices).toHaveLength(2);
});

test("the bundled extension loads, is proved, and leaves nothing behind", () => {
  const db = new Database(":memory:");
  expect(loadSqliteVec(db, undefined)).toEqual({ ok: true, path: expect.stringContaining("vec0") });
  expect(db.prepare("SELECT count(*) FROM sqlite_temp_schema WHERE name LIKE 'vec%'").pluck().get()).toBe(0);
});

test("an extension that loads and does nothing is found out", () => {
  const db = new Database(":memory:");
  db.loadExtension = () => db;
  expect(loadSqliteVec(db, "/somewhere/else")).toEqual({
    ok: false,
    path: "/somewhere/else",
    error: "no such function: vec_version",
  });
  db.function("vec_version", () => "v0.1.9");
  expect(loadSqliteVec(db, undefined)).toMatchObject({ ok: false, error: "no such module: vec0" });
});

test.each([1, 8, 16, 17, 100, 768, 4096])(
  "in %i dimensions products, signs, differences and checksums are those of plain JavaScript, to the last bit",
  (dimensions) => {
    expect(kernelAgrees(dimensions)).toBe(blockRows);
  },
);

test("a checksum tells any change of a byte, and two rows that have changed places", () => {
  const rows = vectorsOf("random", 16, blockRows, randomFrom(2)).map((vector) => encodeVector(vector));
  const sum = checksumOf(new Uint8Array(packRows(rows)));
  expect(
    checksumOf(new Uint8Array(packRows(rows.toSpliced(3, 2, rows[4] ?? expect.fail(), rows[3] ?? expect.fail())))),
  ).not.toBe(sum);
  for (let byte = 0; byte < blockBytes(16); byte += 11) {
    const bytes = new Uint8Array(packRows(rows));
    bytes[byte] = (bytes[byte] ?? 0) ^ 0x10;
    expect(checksumOf(bytes)).not.toBe(sum);
  }
});
