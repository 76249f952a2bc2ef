import type { IndexVectorAnswer } from "@memslot/indexing";
import { expect } from "vitest";
import { kinds, randomFrom, vectorsOf } from "../../test/support/vectors.ts";
import {
  bitWidth,
  blockBytes,
  blockRows,
  checksumOf,
  codeWidth,
  encodeQuestion,
  encodeVector,
  packRows,
  productOf,
} from "../vectors/quantized/quantize-vector.ts";
import { openKernel } from "../vectors/kernel/kernel.ts";
import {
  edit,
  fileOf,
  lookAtVectors,
  numbered,
  openHere,
  spaceOf,
  type StoreHere,
  tempPath,
  vectorOf,
} from "./stores.ts";

// Comparisons with plain JavaScript and with the exact answer: a few of them in the quick tests, all in the long ones.

type Found = IndexVectorAnswer["rows"];

const engineNames = ["wasm", "sqlite-vec", "exact"] as const;
export const questionsEach = 20;
/** A vector of zeros, as no provider gives one: it is put in past the check. */
const zeroEach = 37;

/** What is nearest, counted again here: best first, of equal ones the lower id. */
export function nearestOf(found: Found, limit: number): Found {
  return found
    .toSorted((left, right) => right.score - left.score || Number(left.id) - Number(right.id))
    .slice(0, limit);
}

/** An index with these vectors, in files of two sources. */
export async function filledWith(vectors: readonly Float32Array[]): Promise<string> {
  const path = await tempPath();
  const space = spaceOf("m", vectors[0]?.length);
  const store = openHere(path, { engine: "wasm" });
  const files = Array.from({ length: 10 }, (_, file) => {
    const own = vectors.flatMap((_each, index) => (index % 10 === file ? [`${index}`] : []));
    return fileOf(`${file < 5 ? "near" : "far"}/${file}.md`, own, file % 4 === 3 ? "sessions" : "memory");
  });
  store.replaceFiles(files);
  const entries = files.flatMap(({ chunks }) =>
    chunks.map(({ hash, text }) => ({ hash, vector: vectors[Number(text)] ?? expect.fail(text) })),
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
  const sources = [["memory", "sessions"], ["memory"], ["sessions", "unused"], ["memory", "sessions"]][index % 4] ?? [];
  const scope = index % 5 === 4 ? { within: ["near/", "far/7.md"], without: ["near/2.md"] } : undefined;
  const limit = [1, 6, 24, 60][index % 3] ?? 1;
  return store.searchVector({ space: spaceOf("m", question.length), vector: question, sources, scope, limit }).rows;
}

/** All engines give the exact answer: filters, ties, copies and zeros. Returns how many answers were compared. */
export async function enginesAgree(dimensions: number): Promise<number> {
  const kind = kinds[dimensions % kinds.length] ?? expect.fail();
  const count = (dimensions > 1000 ? 400 : 600) + questionsEach;
  const drawn = vectorsOf(kind, dimensions, count, randomFrom(dimensions));
  const path = await filledWith([...drawn.slice(questionsEach), ...drawn.slice(-150)]);
  const stores = engineNames.map((engine) => openHere(path, { engine }));
  for (const store of stores) store.useSpace(spaceOf("m", dimensions));
  for (const [index, question] of drawn.slice(0, questionsEach).entries()) {
    const [wasm, sqliteVec, exact] = stores.map((store) => ask(store, question, index));
    expect(exact?.length).toBeGreaterThan(0);
    expect(exact).toEqual(nearestOf(exact ?? [], 60));
    expect(wasm).toEqual(exact);
    expect(sqliteVec).toEqual(exact);
  }
  const [, ...others] = engineNames;
  expect(stores.map((store) => store.health().vector.engine)).toEqual([dimensions < 8 ? "exact" : "wasm", ...others]);
  expect(stores.flatMap((store) => store.health().notices)).toEqual([]);
  for (const store of stores) store.close();
  return questionsEach;
}

const at = { question: 0, out: 65_536, bits: 131_072, thresholds: 40_000, block: 262_144 };

/**
 * Products, signs, differences and checksums of the kernel are those of plain JavaScript. Returns how many vectors were
 * compared.
 */
export function kernelAgrees(dimensions: number): number {
  const width = codeWidth(dimensions);
  const [question = expect.fail(), ...vectors] = vectorsOf(
    "clustered",
    dimensions,
    blockRows + 1,
    randomFrom(dimensions),
  );
  // The largest sum that there can be, and none.
  vectors[0] = question.map(() => 1);
  vectors[1] = new Float32Array(dimensions);
  const rows = vectors.map((vector) => encodeVector(vector));
  const block = packRows(rows);
  const kernel = openKernel(at.block + blockBytes(width));
  const memory = kernel.bytes();
  memory.set(block, at.block);
  for (const asked of [question, question.map(() => 1)]) {
    const { numbers, unit } = encodeQuestion(asked);
    memory.set(new Uint8Array(numbers.buffer), at.question);
    kernel.products(at.block, at.question, at.block + blockRows * width, at.out, blockRows, width);
    const out = new Float32Array(memory.buffer, at.out, blockRows);
    expect([...out]).toEqual(rows.map((row) => productOf(row, numbers)));
    const one = (row: number): number =>
      kernel.product(at.block + row * width, at.question, at.block + blockRows * width + 4 * row, width);
    expect(rows.map((_, row) => one(row))).toEqual([...out]);
    const length = Math.hypot(...asked);
    for (const [index, vector] of vectors.entries()) {
      const cosine = vector.reduce((sum, value, place) => sum + value * (asked[place] ?? 0), 0);
      const exact = cosine === 0 ? 0 : cosine / (length * Math.hypot(...vector));
      expect((out[index] ?? 0) * unit).toBeCloseTo(exact, 1.5);
    }
  }
  expect(kernel.checksum(at.block, block.byteLength)).toBe(checksumOf(new Uint8Array(block)));
  const bits = bitWidth(width);
  const thresholds = Int8Array.from({ length: width }, (_, index) => (index % 7) - 3);
  memory.set(new Uint8Array(thresholds.buffer), at.thresholds);
  kernel.signs(at.block, at.thresholds, at.bits, blockRows, width, bits);
  const expected = rows.map((row) => {
    const signs = new Uint8Array(bits);
    for (const [index, code] of new Int8Array(row.buffer, 0, width).entries())
      if (code > (thresholds[index] ?? 0)) signs[index >> 3] = (signs[index >> 3] ?? 0) | (1 << (index & 7));
    return signs;
  });
  expect(Buffer.concat(expected).equals(memory.slice(at.bits, at.bits + blockRows * bits))).toBe(true);
  const wanted = expected[7] ?? expect.fail();
  memory.set(wanted, at.question);
  kernel.differences(at.bits, at.question, at.out, blockRows, bits);
  const ones = (byte: number): number => byte.toString(2).replaceAll("0", "").length;
  const differing = expected.map((signs) =>
    signs.reduce((sum, byte, place) => sum + ones(byte ^ (wanted[place] ?? 0)), 0),
  );
  expect([...new Int32Array(memory.buffer, at.out, blockRows)]).toEqual(differing);
  return rows.length;
}

/** Gives each pending chunk the vector of its text. */
export function fillVectors(store: StoreHere, dimensions = 16): void {
  const space = spaceOf("m", dimensions);
  const pending = store.pendingVectors(space, 10_000);
  store.putVectors(
    space,
    pending.map(({ hash, text }) => ({ hash, vector: vectorOf(text, dimensions) })),
  );
}

/**
 * Through so many edits by two processes, builds and changes of the space, the answers are the exact ones. Returns how
 * many of them came by way of the codes.
 */
export async function editsKeepCodes(steps: number, seed: number): Promise<number> {
  const space = spaceOf("m", 16);
  const path = await tempPath();
  const random = randomFrom(seed);
  const [one, two, exact] = [openHere(path), openHere(path), openHere(path, { engine: "exact" })];
  const nearest = (store: StoreHere, text: string): Found =>
    store.searchVector({ space, vector: vectorOf(text, 16), sources: ["memory", "sessions"], limit: 9 }).rows;
  one.replaceFiles([fileOf("base.md", numbered("base", 700))]);
  fillVectors(one);
  for (const store of [one, two]) store.useSpace(space);
  let byCodes = 0;
  for (let step = 0; step < steps; step++) {
    const store = random() < 0.5 ? one : two;
    const file = `${Math.floor(random() * 12)}.md`;
    const source = random() < 0.3 ? "sessions" : "memory";
    const roll = random();
    const texts = Array.from({ length: Math.floor(random() * 40) }, () => `word ${Math.floor(random() * 500)}`);
    if (roll < 0.6) store.replaceFiles([fileOf(file, texts, source)]);
    else if (roll < 0.8) store.removeFiles([{ path: file, source }]);
    else if (roll < 0.82) {
      const build = store.startBuild(`build ${step}`);
      store.replaceFiles([fileOf("base.md", numbered("base", 600, step))], build);
      fillVectors(store);
      store.finishBuild();
    } else if (roll < 0.84) store.useSpace(random() < 0.5 ? spaceOf("other", 16) : space);
    else while (await store.tidy());
    if (random() < 0.8) fillVectors(store);
    const text = `base ${Math.floor(random() * 700)}`;
    expect([step, nearest(store, text)]).toEqual([step, nearest(exact, text)]);
    if (store.health().vector.engine === "wasm") byCodes++;
  }
  for (const store of [one, two]) store.useSpace(space);
  for (const store of [one, two, exact]) store.close();
  expect(await lookAtVectors(path)).toMatch(/^\d+ vectors in \d+ blocks$/u);
  return byCodes;
}
