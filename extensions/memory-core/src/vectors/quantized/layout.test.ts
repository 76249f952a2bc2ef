import { beforeAll, expect, test } from "vitest";
import { editsKeepCodes, fillVectors } from "../../test/agreement.ts";
import {
  copyOf,
  edit,
  fileOf,
  lookAtVectors,
  numbered,
  openHere,
  spaceOf,
  type StoreHere,
  tempPath,
  vectorOf,
} from "../../test/stores.ts";
import cases from "../../../test/data/cases.json" with { type: "json" };
import { openCodeBlocks } from "./code-block-cache.ts";
import type { CodeTables } from "./code-tables.ts";
import { blockBytes, blockRows, checksumOf } from "./quantize-vector.ts";

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

const width = 16;
const roomFor = 3;

/** Blocks whose codes all have one value, at first the number of the block. Lists the blocks that were read. */
function opened() {
  let reads: number[] = [];
  const numbers = new Map<number, number>();
  const isBad = new Set<number>();
  const numberOf = (block: number): number => numbers.get(block) ?? block;
  const codesOf = (number: number): Buffer => Buffer.alloc(blockBytes(width), number);
  const tables = {
    codes(block: number) {
      reads.push(block);
      return codesOf(isBad.has(block) ? 99 : numberOf(block));
    },
  } as CodeTables;
  const directory = { blocks: [], tail: [], mean: undefined, bits: undefined };
  const blocks = openCodeBlocks({ width, bits: 0, withCodes: true }, roomFor * blockBytes(width));
  const none = new Int32Array(0);
  const hold = (block: number): void => {
    const slots = { block, source: "memory", version: 1, ids: none, files: none };
    const at = blocks.holdCodes({ ...slots, sum: checksumOf(new Uint8Array(codesOf(numberOf(block)))) });
    expect(blocks.kernel.bytes().subarray(at, at + blockRows * width)).toEqual(
      new Uint8Array(blockRows * width).fill(numberOf(block)),
    );
  };
  return {
    numbers,
    isBad,
    /** A search that uses these blocks. Returns those that were read for it. */
    search(...used: number[]): number[] {
      reads = [];
      blocks.begin({ directory, tables, storedBits: undefined });
      for (const block of used) hold(block);
      return reads;
    },
  };
}

test("blocks are kept up to the limit, and the one that was used longest ago gives way", () => {
  const { search } = opened();
  expect([search(1, 2, 3), search(3, 2, 1), search(1, 3)]).toEqual([[1, 2, 3], [], []]);
  expect(search(4)).toEqual([4]);
  expect([search(1, 3, 4), search(2)]).toEqual([[], [2]]);
});

test("of more blocks than there is room for, a search finds the first ones of the last search", () => {
  const { search } = opened();
  expect(search(1, 2, 3, 4, 5, 6)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(search(1, 2, 3, 4, 5, 6)).toHaveLength(4);
});

test("a block that could not be read is read again, also if it is what it was before", () => {
  const { search, numbers, isBad } = opened();
  expect(search(1, 2)).toEqual([1, 2]);
  numbers.set(2, 7);
  isBad.add(2);
  expect(() => search(1, 2)).toThrow("block 2 of the codes is not what was written");
  numbers.clear();
  isBad.clear();
  expect([search(1, 2), search(1, 2)]).toEqual([[2], []]);
});
