import type { IndexVectorAnswer } from "@memslot/indexing";
import { expect, test } from "vitest";
import { kinds, randomFrom, vectorsOf } from "../../../test/support/vectors.ts";
import { edit } from "../../test/damage.ts";
import { fileOf, openHere, spaceOf, type StoreHere, tempPath } from "../../test/stores.ts";

const names = ["wasm", "sqlite-vec", "exact"] as const;
const questionsEach = 20;
/** A vector of zeros, as no provider gives one: it is put in past the check. */
const zeroEach = 37;

type Found = IndexVectorAnswer["rows"];

/** What is nearest, counted anew here: best first, of equal ones the lower id. */
function nearestOf(found: Found, limit: number): Found {
  return found
    .toSorted((left, right) => right.score - left.score || Number(left.id) - Number(right.id))
    .slice(0, limit);
}

/** Vectors with copies of some of them, in files of two sources. */
async function filledWith(vectors: readonly Float32Array[]): Promise<string> {
  const path = await tempPath();
  const space = spaceOf("m", vectors[0]?.length);
  const store = openHere(path, { engine: "wasm" });
  const files = Array.from({ length: 10 }, (_, file) => {
    const own = vectors.flatMap((_, index) => (index % 10 === file ? [`${index}`] : []));
    return fileOf(`${file < 5 ? "near" : "far"}/${file}.md`, own, file % 4 === 3 ? "sessions" : "memory");
  });
  store.replaceFiles(files);
  const byText = new Map(vectors.map((vector, index) => [`${index}`, vector]));
  const entries = files.flatMap(({ chunks }) =>
    chunks.map(({ hash, text }) => ({ hash, vector: byText.get(text) ?? expect.fail(text) })),
  );
  store.putVectors(space, entries);
  edit(path, (db) =>
    db.prepare("UPDATE vectors SET embedding = zeroblob(length(embedding)) WHERE id % ? = 0").run(zeroEach),
  );
  store.useSpace(space);
  store.close();
  return path;
}

function ask(store: StoreHere, question: Float32Array, index: number): Found {
  const sources =
    [["memory", "sessions"], ["memory"], ["sessions", "nobody's"], ["memory", "sessions"]][index % 4] ?? [];
  const scope = index % 5 === 4 ? { within: ["near/", "far/7.md"], without: ["near/2.md"] } : undefined;
  const limit = [1, 6, 24, 60][index % 3] ?? 1;
  return store.searchVector({ space: spaceOf("m", question.length), vector: question, sources, scope, limit }).rows;
}

// 200 questions, with each engine.
test.each([1, 2, 3, 15, 17, 100, 256, 384, 768, 4096])(
  "in %i dimensions all engines give the exact answer: filters, ties, copies and zeros",
  async (dimensions) => {
    const random = randomFrom(dimensions);
    const kind = kinds[dimensions % kinds.length] ?? expect.fail();
    const drawn = vectorsOf(kind, dimensions, (dimensions > 1000 ? 400 : 600) + questionsEach, random);
    const questions = drawn.slice(0, questionsEach);
    const path = await filledWith([...drawn.slice(questionsEach), ...drawn.slice(-150)]);
    const stores = names.map((engine) => openHere(path, { engine }));
    for (const store of stores) store.useSpace(spaceOf("m", dimensions));
    for (const [index, question] of questions.entries()) {
      const [wasm, sqliteVec, exact] = stores.map((store) => ask(store, question, index));
      expect(exact?.length).toBeGreaterThan(0);
      expect(exact).toEqual(nearestOf(exact ?? [], 60));
      expect(wasm).toEqual(exact);
      expect(sqliteVec).toEqual(exact);
    }
    const [, ...others] = names;
    expect(stores.map((store) => store.health().vector.engine)).toEqual([dimensions < 8 ? "exact" : "wasm", ...others]);
    expect(stores.flatMap((store) => store.health().notices)).toEqual([]);
    for (const store of stores) store.close();
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
  wasm?.close();
  exact?.close();
});

test("a filter is tested before the nearest are counted: a few far ones are found behind any number of near ones", async () => {
  const path = await tempPath();
  const space = spaceOf("m", 32);
  const vectors = vectorsOf("clustered", 32, 900, randomFrom(3));
  const [question] = vectors as [Float32Array];
  const opposite = question.map((value) => -value);
  const store = openHere(path, { engine: "wasm" });
  const near = fileOf(
    "near.md",
    Array.from({ length: 800 }, (_, index) => `near ${index}`),
  );
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
  store.close();
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
  store.close();
});

test("without WebAssembly sqlite-vec compares, without that JavaScript, each with one notice", async () => {
  const host = globalThis as { WebAssembly?: unknown };
  const kept = host.WebAssembly;
  const broken = openHere(await tempPath(), { extensionPath: "/nowhere/vec0" });
  const store = openHere(await tempPath());
  try {
    delete host.WebAssembly;
    expect([store.probeVector(), broken.probeVector()]).toEqual([true, false]);
  } finally {
    host.WebAssembly = kept;
  }
  expect(store.health().vector).toMatchObject({ engine: "sqlite-vec", available: true });
  expect(store.health().notices).toEqual([
    expect.stringMatching(/^WebAssembly cannot be used .*sqlite-vec is used instead.*store\.vector\.engine/u),
  ]);
  expect(broken.health().vector).toMatchObject({ engine: "exact", available: false });
  expect(broken.health().notices).toHaveLength(2);
  store.close();
  broken.close();
});
