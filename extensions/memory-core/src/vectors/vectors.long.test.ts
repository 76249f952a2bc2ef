import { expect, test, vi } from "vitest";
import { randomFrom, vectorsOf } from "../../test/support/vectors.ts";
import { editsKeepCodes, enginesAgree, questionsEach } from "../test/agreement.ts";
import {
  fileOf,
  lookAtVectors,
  openHere,
  spaceOf,
  type StoreHere,
  tempPath,
  edit,
  open,
  vectorOf,
  runChild,
} from "../test/stores.ts";
import { setTimeout as pause } from "node:timers/promises";
import { toVector } from "@memslot/indexing/ledger-tables";
import { createCodeTables } from "./codes/code-tables.ts";
import { blockRows, encodeVector } from "./codes/code-vector.ts";

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

const width = 16;
const narrow = spaceOf("m", width);
const kills = 40;
const questions = 5;

/** How many codes there are; fails where one is not that of the stored vector of its chunk, or a chunk is in twice. */
function codesOf(path: string): number {
  return edit(path, (db) => {
    const tables = createCodeTables(db)(1);
    const mean = tables.mean();
    const vector = db
      .prepare<[number], Buffer>(
        `SELECT v.embedding FROM chunks c JOIN embedding_cache e ON e.hash = c.hash JOIN vectors v ON v.id = e.vector_id
         WHERE c.id = ?`,
      )
      .pluck();
    const codeOf = (id: number): Uint8Array =>
      encodeVector(toVector(vector.get(id) ?? expect.fail(`no vector of ${id}`)), mean);
    const seen = new Set<number>();
    let slots = 0;
    const look = (id: number, code: Uint8Array): void => {
      if (!codeOf(id).every((byte, at) => byte === code[at])) expect.fail(`the codes of ${id} are of another vector`);
      seen.add(id);
      slots++;
    };
    for (const { id, code } of tables.tail()) look(id, code);
    for (const { block } of tables.versions()) {
      const codes = tables.codes(block) ?? expect.fail(`no codes of ${block}`);
      for (const [slot, id] of (tables.slots(block)?.ids ?? []).entries()) {
        const numbers = codes.subarray(slot * width, (slot + 1) * width);
        const factor = codes.subarray(blockRows * width + slot * 4).subarray(0, 4);
        if (id !== 0) look(id, Buffer.concat([numbers, factor]));
      }
    }
    expect(seen.size, "each chunk once").toBe(slots);
    expect(db.pragma("integrity_check", { simple: true })).toBe("ok");
    return slots;
  });
}

test(`a writer is killed ${kills} times: codes are those of the vectors, and the answers the exact ones`, async () => {
  const path = await tempPath();
  const random = randomFrom(4);
  const child = (seed: number) => runChild(["write-vectors", path, String(seed)]);
  let byCodes = 0;
  let inBlocks = 0;
  let inSlots = 0;
  for (let round = 0; round < kills; round++) {
    const writers = round % 3 === 2 ? [child(round), child(round + 1000)] : [child(round)];
    for (const writer of writers) await writer.line("open");
    // Anywhere in what it writes; how far it has come does not matter.
    await pause(random() * 120);
    for (const writer of writers) writer.process.kill("SIGKILL");
    for (const writer of writers) expect(await writer.ended, writer.output()).toBe("SIGKILL");
    inSlots += codesOf(path);
    const [store, exact] = [openHere(path), openHere(path, { engine: "exact" })];
    store.useSpace(narrow);
    for (let asked = 0; asked < questions; asked++) {
      const vector = vectorOf(`word ${Math.floor(random() * 3000)}`, width);
      const query = { space: narrow, vector, sources: ["memory", "sessions"], limit: 10 };
      expect(store.searchVector(query).rows).toEqual(exact.searchVector(query).rows);
      if (store.health().vector.engine === "wasm") byCodes++;
    }
    inBlocks += edit(path, (db) => createCodeTables(db)(1).size().blocks);
    expect(store.health().notices).toEqual([]);
    store.close();
    exact.close();
    const looked = await open(path);
    const findings = await looked.check();
    expect(findings?.find(({ name }) => name === "vectors")).toMatchObject({ ok: true });
    await looked.close();
  }
  expect(byCodes).toBeGreaterThan(kills * questions * 0.7);
  expect(inBlocks).toBeGreaterThan(kills);
  expect(inSlots).toBeGreaterThan(kills * blockRows);
}, 600_000);
