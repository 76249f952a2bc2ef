import { setTimeout as pause } from "node:timers/promises";
import { toVector } from "@memslot/indexing/ledger-tables";
import { expect, test } from "vitest";
import { randomFrom } from "../../test/support/vectors.ts";
import { createCodeTables } from "./codes/code-tables.ts";
import { blockRows, encodeVector } from "./codes/code-vector.ts";
import { edit, open, openHere, spaceOf, tempPath, vectorOf, runChild } from "../test/stores.ts";

const width = 16;
const space = spaceOf("m", width);
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
    store.useSpace(space);
    for (let asked = 0; asked < questions; asked++) {
      const vector = vectorOf(`word ${Math.floor(random() * 3000)}`, width);
      const query = { space, vector, sources: ["memory", "sessions"], limit: 10 };
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
