import { expect, test, vi } from "vitest";
import { randomFrom, vectorsOf } from "../../test/support/vectors.ts";
import { editsKeepCodes, enginesAgree, questionsEach } from "../test/agreement.ts";
import { fileOf, lookAtVectors, openHere, spaceOf, type StoreHere, tempPath } from "../test/stores.ts";

// A guard against hanging, not a measure.
vi.setConfig({ testTimeout: 600_000 });

const dimensions = 256;
const settings = { leastForBits: 4000 };
const space = spaceOf("m", dimensions);
const sources = ["memory", "sessions"];
const files = 20;
const chunks = 256;

test("through 80 edits by two processes, with bits stored and codes read in between, the nearest are found", async () => {
  const path = await tempPath();
  const random = randomFrom(41);
  const drawn = vectorsOf("clustered", dimensions, 12_000, randomFrom(42));
  const vectors = new Map<string, Float32Array>();
  let next = 0;
  const write = (store: StoreHere, file: number, count: number): void => {
    const texts = Array.from({ length: count }, () => `text ${next++}`);
    const written = fileOf(`${file}.md`, texts, file % 4 === 0 ? "sessions" : "memory");
    store.replaceFiles([written]);
    for (const { hash, text } of written.chunks)
      vectors.set(hash, drawn[Number(text.slice("text ".length)) % drawn.length] as Float32Array);
    const pending = store.pendingVectors(space, 10_000);
    store.putVectors(
      space,
      pending.map(({ hash }) => ({ hash, vector: vectors.get(hash) ?? expect.fail("a chunk of no file") })),
    );
  };
  const reopened = (): StoreHere => {
    const store = openHere(path, settings);
    store.useSpace(space);
    return store;
  };
  const stores = [reopened(), reopened()];
  const exact = openHere(path, { engine: "exact" });
  for (let file = 0; file < files; file++) write(stores[0] ?? expect.fail(), file, chunks);
  while (await stores[0]?.tidy());
  const counts = { asked: 0, found: 0, wanted: 0, byCodes: 0, reopened: 0 };
  for (let step = 0; step < 80; step++) {
    const one = Math.floor(random() * 2);
    let store = stores[one] ?? expect.fail();
    const roll = random();
    const file = Math.floor(random() * files);
    if (roll < 0.4) write(store, file, 100 + Math.floor(random() * 300));
    else if (roll < 0.5) store.removeFiles([{ path: `${file}.md`, source: file % 4 === 0 ? "sessions" : "memory" }]);
    else if (roll < 0.7) while (await store.tidy(random() < 0.5));
    else if (roll < 0.85) await store.tidy(true);
    else {
      store.close();
      stores[one] = store = reopened();
      counts.reopened++;
    }
    for (let question = 0; question < 3; question++) {
      const vector = drawn[Math.floor(random() * drawn.length)] as Float32Array;
      const asked = { space, vector, sources: random() < 0.3 ? ["sessions"] : sources, limit: 10 };
      const wanted = new Map(exact.searchVector(asked).rows.map(({ id, score }) => [id, score]));
      const found = store.searchVector(asked).rows.filter(({ id }) => wanted.has(id));
      for (const { id, score } of found) expect([step, id, score]).toEqual([step, id, wanted.get(id)]);
      counts.asked++;
      counts.found += found.length;
      counts.wanted += wanted.size;
      if (store.health().vector.engine === "wasm") counts.byCodes++;
    }
    expect([step, store.health().notices]).toEqual([step, []]);
  }
  process.stdout.write(`${JSON.stringify(counts)}\n`);
  expect(counts.found / counts.wanted).toBeGreaterThan(0.99);
  expect(counts.byCodes).toBeGreaterThan(counts.asked / 2);
  for (const store of [...stores, exact]) store.close();
  expect(await lookAtVectors(path)).toMatch(/^\d+ vectors in \d+ blocks$/u);
});

test.each([2, 3, 15, 100, 256, 768, 4096])("in %i dimensions all engines give the exact answer", async (dimensions) => {
  expect(await enginesAgree(dimensions)).toBe(questionsEach);
});

test.each([9, 10, 11])("through 150 edits by two processes the answers are the exact ones (seed %i)", async (seed) => {
  expect(await editsKeepCodes(150, seed)).toBeGreaterThan(37);
});
