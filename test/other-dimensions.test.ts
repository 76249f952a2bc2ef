import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { Memory } from "memslot";
import { describe, expect, test } from "vitest";
import {
  ask,
  type EmbeddingBench,
  indexOf,
  manyNotes,
  notesSent,
  until,
  useEmbeddingBench,
} from "./support/embedding-bench.ts";

// A server that serves another model under the same name, with vectors of another length.

const bench = useEmbeddingBench();
const query = "the kitten of number 2";

/** Every stored vector stands in a space of its length. */
function lengthsIn(given: EmbeddingBench): Record<number, number> {
  const db = new DatabaseSync(indexOf(given), { readOnly: true });
  try {
    const rows = db
      .prepare(
        `SELECT s.dims, octet_length(v.embedding) AS bytes FROM embedding_cache c
         JOIN spaces s ON s.id = c.space_id JOIN vectors v ON v.id = c.vector_id`,
      )
      .all() as { dims: number; bytes: number }[];
    for (const { dims, bytes } of rows) expect(bytes).toBe(4 * dims);
    return Object.fromEntries(
      [...new Set(rows.map(({ dims }) => dims))].map((dims) => [dims, rows.filter((row) => row.dims === dims).length]),
    );
  } finally {
    db.close();
  }
}

async function expectFound(memory: Memory, dims: number): Promise<void> {
  const { report, results } = await ask(memory, query);
  expect(report).toMatchObject({ state: "ok", mode: "hybrid" });
  expect(results[0]).toMatchObject({ path: "memory/note-2.md", vectorScore: expect.any(Number) as number });
  expect(memory.status().vector).toMatchObject({ dims, embedded: 6, index: { state: "complete" } });
}

test.each([
  [64, 32],
  [32, 64],
])("vectors of %i, then of %i numbers: index embeds anew, and going back sends no note", async (before, after) => {
  const given = await bench({ dimensions: before });
  given.write(manyNotes(6));
  const first = await given.open();
  await first.sync({ reason: "cli" });
  await expectFound(first, before);
  await first.close();

  const other = await given.startApi({ dimensions: after });
  const remote = { baseUrl: `${other.url}/v1`, apiKey: "k" };
  const changed = await given.open({ remote });
  const report = await changed.sync({ reason: "cli" });
  expect(report).toMatchObject({ unchanged: 6 });
  expect(report?.pendingVectors).toBeUndefined();
  expect(notesSent(other.log)).toHaveLength(6);
  expect(given.lines.join("\n")).toContain(
    `vectors of ${after} numbers for model-a where the stored ones have ${before}: all chunks are embedded anew`,
  );
  await expectFound(changed, after);
  await changed.close();
  expect(lengthsIn(given)).toEqual({ [before]: 6, [after]: 6 });

  given.api.reset();
  const back = await given.open();
  await back.sync({ reason: "cli" });
  await expectFound(back, before);
  expect(notesSent(given.api.log)).toEqual([query]);
});

test("new notes beside the change: nothing of the new length is stored among the old", async () => {
  const given = await bench({ dimensions: 64 });
  given.write(manyNotes(5));
  const first = await given.open();
  await first.sync({ reason: "cli" });
  await first.close();
  const other = await given.startApi({ dimensions: 32 });
  given.write({ "memory/note-5.md": "# Note 5\n\n- The piano of number 5 is on my mind.\n" });
  const changed = await given.open({ remote: { baseUrl: `${other.url}/v1`, apiKey: "k" } });
  expect((await changed.sync({ reason: "cli" }))?.pendingVectors).toBeUndefined();
  await expectFound(changed, 32);
  await changed.close();
  expect(lengthsIn(given)).toEqual({ 64: 5, 32: 6 });
});

test("a process that only searches finds out by itself, says so, and is whole again", async () => {
  const given = await bench({ dimensions: 64 });
  given.write(manyNotes(6));
  const first = await given.open();
  await first.sync({ reason: "cli" });
  await first.close();
  const other = await given.startApi({ dimensions: 32 });
  const running = await given.open({ remote: { baseUrl: `${other.url}/v1`, apiKey: "k" }, sync: { watch: false } });
  const { report, results } = await ask(running, query);
  expect(report).toMatchObject({ state: "degraded", mode: "keyword" });
  expect(report.reason).toContain("0 of 6 chunks have their vector");
  expect(results[0]?.path).toBe("memory/note-2.md");
  await until(async () => (await ask(running, query)).report.state === "ok", "the new space is filled");
  await expectFound(running, 32);
});

test("one odd answer to a question changes nothing", async () => {
  const given = await bench({ dimensions: 64 });
  given.write(manyNotes(6));
  const memory = await given.open({ sync: { watch: false } });
  await memory.sync({ reason: "cli" });
  given.api.fail({ behaviour: "other-size" });
  const odd = await ask(memory, "the garden of number 4");
  expect(odd.report).toMatchObject({ state: "degraded", mode: "keyword" });
  expect(odd.report.reason).toMatch(/32 numbers where the stored ones have 64/);
  given.api.reset();
  await expectFound(memory, 64);
  expect(notesSent(given.api.log)).toEqual([query]);
});

describe("a length that was asked for", () => {
  test("is embedded anew when it is changed", async () => {
    const given = await bench();
    given.write(manyNotes(6));
    for (const dims of [48, 24, 48]) {
      const memory = await given.open({ outputDimensionality: dims });
      expect((await memory.sync({ reason: "cli" }))?.pendingVectors).toBeUndefined();
      await expectFound(memory, dims);
      await memory.close();
    }
    expect(lengthsIn(given)).toEqual({ 48: 6, 24: 6 });
  });

  test("and is not what comes, is a failure for a person: nothing is stored, no request is made twice", async () => {
    const given = await bench();
    given.write(manyNotes(6));
    const server = await given.startApi({ embed: () => Float32Array.from({ length: 16 }, (_, index) => index + 1) });
    const remote = { baseUrl: `${server.url}/v1`, apiKey: "k" };
    const memory = await given.open({ outputDimensionality: 48, remote });
    const report = await memory.sync({ reason: "cli" });
    expect(report?.pendingVectors).toMatchObject({ chunks: 6, failure: "auth" });
    expect(report?.pendingVectors?.reason).toMatch(/16 numbers where 48 were expected.*outputDimensionality/);
    expect(server.log).toHaveLength(1);
    await memory.close();
    expect(lengthsIn(given)).toEqual({});
    expect(readFileSync(`${given.notes}/memory/note-2.md`, "utf8")).toContain("kitten");
  });
});
