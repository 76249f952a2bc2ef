import { beforeAll, describe, expect, test } from "vitest";
import { type Kind, randomFrom, vectorsOf } from "../../../test/support/vectors.ts";
import { type BitChoice, bytesOfChoice, choiceOf } from "./bit-blocks.ts";
import {
  numbered,
  copyOf,
  edit,
  fileOf,
  lookAtVectors,
  openHere,
  spaceOf,
  type StoreHere,
  tempPath,
  valueIn,
} from "../../test/stores.ts";
import cases from "../../../test/data/cases.json" with { type: "json" };

const dimensions = 512;
const count = 4608;
const space = spaceOf("m", dimensions);
const leastForBits = 4000;
const questions = 6;

interface Base {
  path: string;
  asked: Float32Array[];
}

async function createBase(kind: Kind): Promise<Base> {
  const path = await tempPath();
  const drawn = vectorsOf(kind, dimensions, count + questions, randomFrom(77));
  const store = openHere(path, { leastForBits });
  const files = Array.from({ length: 9 }, (_, file) =>
    fileOf(
      `${file}.md`,
      Array.from({ length: count / 9 }, (_each, at) => `${file * (count / 9) + at}`),
      file % 3 === 2 ? "sessions" : "memory",
    ),
  );
  store.replaceFiles(files);
  store.putVectors(
    space,
    files.flatMap(({ chunks }) =>
      chunks.map(({ hash, text }) => ({ hash, vector: drawn[Number(text)] as Float32Array })),
    ),
  );
  store.useSpace(space);
  while (await store.tidy());
  store.close();
  return { path, asked: drawn.slice(count) };
}

const bases = new Map<Kind, Base>();

beforeAll(async () => {
  for (const kind of ["clustered", "counted"] as const) bases.set(kind, await createBase(kind));
});

/** A copy for one test. */
async function filled(kind: Kind): Promise<Base> {
  const { path, asked } = bases.get(kind) ?? expect.fail(`no ${kind} vectors`);
  return { path: await copyOf(path), asked };
}

function choiceIn(path: string): BitChoice | undefined {
  return edit(path, (db) =>
    choiceOf(db.prepare<[], Buffer>(`SELECT codes FROM chunks_codes_1 WHERE block = 0`).pluck().get()),
  );
}

function putChoice(path: string, bytes: Uint8Array): void {
  edit(path, (db) => db.prepare("UPDATE chunks_codes_1 SET codes = ? WHERE block = 0").run(bytes));
}

function opened(path: string, settings: Parameters<typeof openHere>[1] = {}): StoreHere {
  const store = openHere(path, { leastForBits, ...settings });
  store.useSpace(space);
  return store;
}

type Found = ReturnType<StoreHere["searchVector"]>["rows"];

function ask(store: StoreHere, asked: readonly Float32Array[], sources: string[]): Found[] {
  return asked.map((vector) => store.searchVector({ space, vector, sources, limit: 10 }).rows);
}

/** The part of the ten nearest that is found, each of them with its exact score. */
function recall(answers: readonly Found[], exact: readonly Found[]): number {
  let found = 0;
  for (const [index, rows] of answers.entries()) {
    const wanted = new Map(exact[index]?.map(({ id, score }) => [id, score]));
    expect(rows).toHaveLength(10);
    for (const { id, score } of rows.filter((row) => wanted.has(row.id))) {
      expect(score).toBe(wanted.get(id));
      found++;
    }
  }
  return found / (10 * answers.length);
}

function agree(
  stores: readonly StoreHere[],
  exact: StoreHere,
  asked: readonly Float32Array[],
  sources: string[],
): void {
  const wanted = ask(exact, asked, sources);
  for (const store of stores) {
    expect(recall(ask(store, asked, sources), wanted)).toBeGreaterThan(0.99);
    expect(store.health()).toMatchObject({ notices: [], vector: { engine: "wasm" } });
  }
}

test("with bits first the nearest are found, with codes in memory and without, through deletions and filters", async () => {
  const { path, asked } = await filled("clustered");
  const choice = choiceIn(path) ?? expect.fail("no choice");
  expect([choice.thresholds.length, choice.vectors]).toEqual([dimensions, count]);
  expect(choice.depth).toBeLessThanOrEqual(count / 8);
  const exact = opened(path, { engine: "exact" });
  // The codes of all blocks do not fit into one mebibyte.
  const stores = [opened(path), opened(path, { memoryMB: 1 })];
  for (const sources of [["memory", "sessions"], ["sessions"]]) agree(stores, exact, asked, sources);
  stores[0]?.removeFiles([{ path: "4.md", source: "memory" }]);
  agree(stores, exact, asked, ["memory"]);
  for (const store of [...stores, exact]) store.close();
  // It is the bits that choose: with those of two numbers alone much is missed.
  const few = choice.thresholds.map((value, index) => (index < 2 ? value : 127));
  putChoice(path, bytesOfChoice({ ...choice, thresholds: few }));
  const [blind, again] = [opened(path), opened(path, { engine: "exact" })];
  expect(recall(ask(blind, asked, ["memory"]), ask(again, asked, ["memory"]))).toBeLessThan(0.9);
});

test("where bits tell too little none are made, and the answers are those of the codes", async () => {
  const { path, asked } = await filled("counted");
  expect(choiceIn(path)).toMatchObject({ thresholds: new Int8Array(0), vectors: count });
  const [store, exact] = [opened(path), opened(path, { engine: "exact" })];
  agree([store], exact, asked, ["memory"]);
  // Made for half as many, or in another form, it is made again.
  const right = choiceIn(path) as BitChoice;
  for (const bytes of [
    bytesOfChoice({ ...right, vectors: count / 2 }),
    new Uint8Array(dimensions).fill(1),
    new Uint8Array(0),
  ]) {
    putChoice(path, bytes);
    const other = opened(path);
    while (await other.tidy());
    other.close();
    expect(choiceIn(path)).toEqual(right);
  }
  putChoice(path, bytesOfChoice({ ...right, vectors: count / 2 + 1 }));
  const other = opened(path);
  while (await other.tidy());
  expect(choiceIn(path)?.vectors).toBe(count / 2 + 1);
});

function storedIn(path: string): { block: number; codes_sum: number; thresholds_sum: number; sum: number }[] {
  return edit(path, (db) =>
    db
      .prepare<[], { block: number; codes_sum: number; thresholds_sum: number; sum: number }>(
        "SELECT block, codes_sum, thresholds_sum, sum FROM chunks_codes_1_bits ORDER BY block",
      )
      .all(),
  );
}

describe("stored bits", () => {
  const whole = count / 256;

  test("are there for every block, and the first search of a process reads no codes", async () => {
    const { path, asked } = await filled("clustered");
    expect(storedIn(path).map(({ block }) => block)).toEqual(Array.from({ length: whole }, (_, index) => index + 1));
    const exact = opened(path, { engine: "exact" });
    // A search that reads codes finds them damaged and rebuilds them.
    edit(path, (db) => db.exec("UPDATE chunks_codes_1 SET codes = zeroblob(length(codes)) WHERE block > 0"));
    const sources = ["memory", "sessions"];
    for (const [index, vector] of asked.entries()) {
      const store = opened(path);
      agree([store], exact, [vector], sources);
      expect([index, isSpoilt(path)]).toEqual([index, true]);
      store.close();
    }
    const store = opened(path);
    agree([store], exact, asked, sources);
    expect(isSpoilt(path)).toBe(false);
    // When idle they are read, and stay in memory whatever happens to the file.
    while (await store.tidy());
    ask(store, asked.slice(0, 1), sources);
    while (await store.tidy());
    edit(path, (db) => db.exec("UPDATE chunks_codes_1 SET codes = zeroblob(length(codes)) WHERE block > 0"));
    agree([store], exact, asked, sources);
    expect(isSpoilt(path)).toBe(true);
    const other = opened(path);
    ask(other, asked.slice(0, 1), sources);
    while (await other.tidy());
    expect(isSpoilt(path)).toBe(false);
    agree([other], exact, asked, sources);
  });

  test("that are of other codes or thresholds are not used, those that are missing are made, and those of no block go", async () => {
    const { path, asked } = await filled("clustered");
    const right = storedIn(path);
    const versions = (): unknown => edit(path, (db) => db.prepare("SELECT version FROM chunks_codes_1_slots").all());
    const before = versions();
    const wrong = cases.wrongBits;
    for (const sql of wrong) {
      edit(path, (db) => db.exec(sql));
      const [store, exact] = [opened(path), opened(path, { engine: "exact" })];
      agree([store], exact, asked, ["memory", "sessions"]);
      // Who only reads writes nothing.
      while (await store.tidy());
      expect([sql, hasTable(path) && storedIn(path)]).not.toEqual([sql, right]);
      store.replaceFiles([fileOf("words.md", [sql])]);
      while (await store.tidy());
      for (const one of [store, exact]) one.close();
      expect([sql, storedIn(path)]).toEqual([sql, right]);
      // Nothing was taken for damage.
      expect([sql, versions()]).toEqual([sql, before]);
    }
  });

  test.each([
    ["other bits", "UPDATE chunks_codes_1_bits SET bits = zeroblob(length(bits)) WHERE block = 3"],
    ["bits cut short", "UPDATE chunks_codes_1_bits SET bits = substr(bits, 1, 160) WHERE block = 7"],
  ])("with %s are noticed, and the answer is the exact one", async (_, sql) => {
    const { path, asked } = await filled("clustered");
    edit(path, (db) => db.exec(sql));
    expect(await lookAtVectors(path)).toBe(`1 of ${whole} blocks are not what was written`);
    const [store, exact] = [opened(path), opened(path, { engine: "exact" })];
    const sources = ["memory", "sessions"];
    expect(ask(store, asked.slice(0, 1), sources)).toEqual(ask(exact, asked.slice(0, 1), sources));
    while (await store.tidy());
    agree([store], exact, asked, sources);
    for (const one of [store, exact]) one.close();
    expect(storedIn(path)).toHaveLength(whole);
    expect(await lookAtVectors(path)).toBe(`${count} vectors in ${whole} blocks`);
  });

  test("go with their blocks, and are made of new ones", async () => {
    const { path, asked } = await filled("clustered");
    const store = opened(path);
    for (const file of ["0.md", "1.md", "3.md"]) store.removeFiles([{ path: file, source: "memory" }]);
    const added = fileOf("new.md", numbered("new", 600));
    const drawn = vectorsOf("clustered", dimensions, 600, randomFrom(78));
    store.replaceFiles([added]);
    store.putVectors(
      space,
      added.chunks.map(({ hash }, at) => ({ hash, vector: drawn[at] as Float32Array })),
    );
    while (await store.tidy());
    const exact = opened(path, { engine: "exact" });
    agree([store], exact, [...asked, ...drawn.slice(0, 6)], ["memory", "sessions"]);
    for (const one of [store, exact]) one.close();
    const blocks = edit(path, (db) =>
      db.prepare("SELECT block FROM chunks_codes_1_slots ORDER BY block").pluck().all(),
    );
    expect(storedIn(path).map(({ block }) => block)).toEqual(blocks);
  });
});

function hasTable(path: string): boolean {
  return (
    edit(path, (db) => db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'chunks_codes_1_bits'").get()) !== undefined
  );
}

function isSpoilt(path: string): boolean {
  return (
    valueIn(path, "SELECT count(*) FROM chunks_codes_1 WHERE block > 0 AND codes = zeroblob(length(codes))") ===
    count / 256
  );
}
