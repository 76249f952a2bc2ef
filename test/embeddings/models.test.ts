import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { type EmbeddingApi, quirks } from "@memslot/fakes/embedding-api";
import { eventually } from "@memslot/test-tools/wait";
import { deterministicEmbeddings } from "@memslot/testkit";
import type { Memory, MemorySearchResult, SyncProgress } from "memslot";
import { describe, expect, test } from "vitest";
import {
  type EmbeddingHouse,
  expectQuirkHandled,
  manyNotes,
  notesSent,
  textsSent,
  useEmbeddingHouse,
} from "../support/embedding-workspace.ts";
import { ask, indexFile } from "../support/temp-workspace.ts";

const quota = {
  status: 429,
  body: { error: { message: "You exceeded your current quota", code: "insufficient_quota" } },
};
const forEver = 1_000_000;

/** Cosine of the vectors of two texts, as the server makes them. */
async function cosineOf(model: string, texts: readonly string[]): Promise<number> {
  const { embedQuery } = deterministicEmbeddings({ model, dimensions: 3072 });
  const [a = [], b = []] = await Promise.all(texts.map((text) => embedQuery(text)));
  return Array.from(a).reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
}

/** The text that was sent for the note of a result. */
function sentFor(result: MemorySearchResult | undefined, sent: readonly string[]): string {
  const line = result?.snippet.split("\n").at(-1) ?? "";
  return sent.find((text) => line !== "" && text.includes(line)) ?? "";
}

describe("two models with vectors of one length", () => {
  test("never meet: the fallback answers from its own space, and the first comes back for nothing", async () => {
    // As long as those of Google's model, which the plugin knows.
    const { api, open } = await useEmbeddingHouse(manyNotes(24), { dimensions: 3072 });
    const memory = await open({ fallback: "gemini", sync: { watch: false } });
    await memory.sync();
    expect((await ask(memory, "what about the kitten")).report).toMatchObject({ state: "ok", mode: "hybrid" });
    const sentToOpenAi = textsSent(api.log);
    api.reset();

    api.fail({ match: "/v1/embeddings", times: forEver, ...quota });
    const first = await ask(memory, "which bridge was it");
    expect(first.report).toMatchObject({
      state: "degraded",
      mode: "keyword",
      reason: expect.stringMatching(/insufficient_quota.*fallback.*no chunk|0 of 24/s) as string,
      legs: { vector: undefined },
    });
    expect(memory.status().fallback).toMatchObject({ from: "openai", to: "gemini" });

    let answer = await ask(memory, "number of the bridge");
    await eventually(async () => {
      answer = await ask(memory, "number of the bridge");
      return answer.report.mode === "hybrid";
    }, "the space of the fallback is filled");
    expect(answer.report).toMatchObject({
      state: "degraded",
      fallback: { from: "openai", to: "gemini", reason: expect.stringContaining("insufficient_quota") as string },
    });
    const sentToGoogle = textsSent(api.log, "batchEmbedContents");
    for (const result of answer.results) {
      const pair = ["number of the bridge", sentFor(result, sentToGoogle)];
      expect(result.vectorScore).toBeCloseTo(await cosineOf("gemini-embedding-001", pair), 4);
    }
    expect(memory.status().embedding?.answeredBy).toMatchObject({ provider: "gemini" });

    // The account has credit again.
    api.reset();
    await memory.sync();
    const back = await ask(memory, "where is the harvest");
    expect(back.report).toMatchObject({ state: "ok", mode: "hybrid" });
    expect(back.report.fallback).toBeUndefined();
    expect(textsSent(api.log)).toEqual(["memory", "where is the harvest"]);
    for (const result of back.results) {
      const pair = ["where is the harvest", sentFor(result, sentToOpenAi)];
      expect(result.vectorScore).toBeCloseTo(await cosineOf("model-a", pair), 4);
    }
  });

  test("without a fallback no other provider is asked, in search and in sync", async () => {
    const { api, open } = await useEmbeddingHouse(manyNotes(4));
    api.fail({ match: "/v1/embeddings", times: forEver, ...quota });
    const memory = await open({ fallback: "none" });
    await memory.sync();
    for (const query of ["budget", "server", "kitten"]) await ask(memory, query);
    expect(api.log.map(({ path }) => path)).toEqual(["/v1/embeddings"]);
  });
});

describe("another address", () => {
  test("alone sends nothing again", async () => {
    const { api, open, startApi } = await useEmbeddingHouse(manyNotes(8));
    const memory = await open();
    await memory.sync();
    await memory.close();
    api.reset();
    const other = await startApi();
    const moved = await open({ remote: { baseUrl: `${other.url}/v1`, apiKey: "another" } });
    await moved.sync();
    expect([...notesSent(api.log), ...notesSent(other.log)]).toEqual([]);
    expect((await ask(moved, "the kitten")).report).toMatchObject({ state: "ok", mode: "hybrid" });
    expect(notesSent(other.log)).toEqual(["the kitten"]);
    expect(api.log).toEqual([]);
  });
});

describe("another model", () => {
  test("is filled in the background while the one before answers, and going back costs nothing", async () => {
    const { api, open } = await useEmbeddingHouse(manyNotes(24));
    const before = await open({ model: "model-a" });
    await before.sync();
    await before.close();
    api.reset();

    // The new vectors are held up: every request for notes fails for a while, questions to the old model do not.
    const memory = await open({ model: "model-b", sync: { watch: false } });
    api.fail({ match: "/v1/embeddings", behaviour: "hang" });
    const during = await ask(memory, "the piano of number 5");
    expect(during.report).toMatchObject({
      state: "degraded",
      mode: "hybrid",
      reason: expect.stringContaining("model-a answered") as string,
    });
    const models = api.log.map(({ body }) => (JSON.parse(body) as { model: string }).model);
    expect(models).toContain("model-a");
    await memory.close();

    const again = await open({ model: "model-b" });
    await again.sync();
    expect((await ask(again, "the garden")).report).toMatchObject({ state: "ok", mode: "hybrid" });
    await again.close();
    api.reset();

    const back = await open({ model: "model-a" });
    await back.sync();
    expect((await ask(back, "the garden")).report).toMatchObject({ state: "ok", mode: "hybrid" });
    expect(notesSent(api.log)).toEqual(["the garden"]);
  });

  test("takes nothing from the one before until it is done, also where no cache is kept", async () => {
    const { api, open } = await useEmbeddingHouse(manyNotes(200));
    const settings = { cache: { enabled: false }, remote: { nonBatchConcurrency: 1 }, sync: { watch: false } };
    const before = await open({ model: "model-a", ...settings });
    await before.sync();
    await before.close();

    const memory = await open({ model: "model-b", ...settings });
    const controller = new AbortController();
    const progress = ({ label, completed }: SyncProgress): void => {
      if (label?.startsWith("embedding") && completed > 0) controller.abort();
    };
    await expect(memory.sync({ signal: controller.signal, progress })).rejects.toMatchObject({ name: "AbortError" });
    // The call ends at once, the work behind it a moment later.
    await eventually(() => (memory.status().vector?.embedded ?? 0) > 0, "the first vectors are stored");
    expect(memory.status().vector?.embedded).toBeLessThan(160);
    api.fail({ match: "/v1/embeddings", behaviour: "hang" });
    expect((await ask(memory, "the piano of number 5")).report).toMatchObject({
      mode: "hybrid",
      reason: expect.stringContaining("model-a answered") as string,
    });
  });
});

describe("files that move", () => {
  test("and texts that stand twice are embedded once, and an interrupted run goes on where it was", async () => {
    const { api, open, rename } = await useEmbeddingHouse({
      ...manyNotes(8),
      "memory/copy.md": manyNotes(1)["memory/note-0.md"] ?? "",
    });
    const memory = await open();
    await memory.sync();
    expect(notesSent(api.log)).toHaveLength(8);
    api.reset();
    rename("memory/note-3.md", "memory/moved/elsewhere.md");
    await memory.sync();
    expect((await ask(memory, "the journey of number 3")).results[0]?.path).toBe("memory/moved/elsewhere.md");
    expect(notesSent(api.log)).toEqual(["the journey of number 3"]);
  });
});

// The others are a storm in faults.long.test.ts.
test.each(quirks.filter(({ name }) => /^(?:nannull|zero|nested|dimdrift|efreject.*|b64\w+|403cf)$/.test(name)))(
  "a provider with the quirk $name is right, or refused by name",
  (quirk) => expectQuirkHandled(quirk),
);

const query = "the kitten of number 2";

test("an index that is asked for again with nothing changed sends no request, in another process either", async () => {
  const given = await useEmbeddingHouse(manyNotes(6), { dimensions: 64 });
  const memory = await given.open();
  await memory.sync({ reason: "cli" });
  given.api.reset();
  await memory.sync({ reason: "cli" });
  await memory.close();
  await (await given.open()).sync({ reason: "cli" });
  expect(given.api.stats().embeddingRequests).toBe(0);
});

test("a provider that gives every text the same vector is named, lists no note, and is repaired by a forced index", async () => {
  const given = await useEmbeddingHouse(manyNotes(6), { dimensions: 3 });
  const allSame = quirks.find(({ name }) => name === "allsame")?.faults ?? [];
  for (const fault of allSame) given.api.fail({ times: 1000, ...fault });
  const memory = await given.open();
  const report = await memory.sync({ reason: "cli" });
  expect(report?.pendingVectors).toMatchObject({
    chunks: 6,
    reason: expect.stringContaining("openai/model-a gives every text the same vector") as string,
  });
  const unknown = await ask(memory, "zebra");
  expect([unknown.results, unknown.report.state, unknown.report.mode]).toEqual([[], "degraded", "keyword"]);
  expect(unknown.report.reason).toContain("the same vector");
  expect((await ask(memory, query)).results[0]?.path).toBe("memory/note-2.md");
  const { embedding, vector } = memory.status();
  expect([vector?.semanticAvailable, embedding?.sameVectors?.includes("index --force")]).toEqual([false, true]);
  expect(await memory.probeEmbeddingAvailability()).toMatchObject({ ok: false, error: embedding?.sameVectors });
  expect((await memory.check())?.findings.filter(({ ok }) => !ok)).toMatchObject([{ name: "sample by vectors" }]);
  await memory.close();
  const looking = await given.open();
  expect(looking.status().embedding?.sameVectors).toBe(embedding?.sameVectors);
  given.api.reset();
  expect((await looking.sync({ reason: "cli", force: true }))?.pendingVectors).toBeUndefined();
  expect((await ask(looking, query)).report).toMatchObject({ state: "ok", mode: "hybrid" });
  expect(looking.status().embedding?.sameVectors).toBeUndefined();
});

/** An index with vectors of one length, and a server with another model under the same name: its vectors have another length. */
async function changeLength(
  before: number,
  after: number,
  notes = 6,
): Promise<{ given: EmbeddingHouse; other: EmbeddingApi; remote: object }> {
  const given = await useEmbeddingHouse(manyNotes(notes), { dimensions: before });
  const memory = await given.open();
  await memory.sync({ reason: "cli" });
  if (notes === 6) await expectFound(memory, before);
  await memory.close();
  const other = await given.startApi({ dimensions: after });
  return { given, other, remote: { baseUrl: `${other.url}/v1`, apiKey: "k" } };
}

/** Counts the stored vectors by their length. Every vector belongs to a space of its length. */
function lengthsIn(given: EmbeddingHouse): Record<number, number> {
  const db = new DatabaseSync(indexFile(given), { readOnly: true });
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
])("vectors of %i, then of %i numbers: index embeds again, and going back sends no note", async (before, after) => {
  const { given, other, remote } = await changeLength(before, after);
  const changed = await given.open({ remote });
  const report = await changed.sync({ reason: "cli" });
  expect(report).toMatchObject({ unchanged: 6 });
  expect(report?.pendingVectors).toBeUndefined();
  expect(notesSent(other.log)).toHaveLength(6);
  expect(given.notices.join("\n")).toContain(
    `vectors of ${after} numbers for model-a where the stored ones have ${before}: all chunks are embedded again`,
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
  const { given, remote } = await changeLength(64, 32, 5);
  given.write({ "memory/note-5.md": "# Note 5\n\n- The piano of number 5 is on my mind.\n" });
  const changed = await given.open({ remote });
  expect((await changed.sync({ reason: "cli" }))?.pendingVectors).toBeUndefined();
  await expectFound(changed, 32);
  await changed.close();
  expect(lengthsIn(given)).toEqual({ 64: 5, 32: 6 });
});

test("a process that only searches notices the change, reports it, and fills the new space", async () => {
  const { given, remote } = await changeLength(64, 32);
  const running = await given.open({ remote, sync: { watch: false } });
  const { report, results } = await ask(running, query);
  expect(report).toMatchObject({ state: "degraded", mode: "keyword" });
  expect(report.reason).toContain("0 of 6 chunks have their vector");
  expect(results[0]?.path).toBe("memory/note-2.md");
  await eventually(async () => (await ask(running, query)).report.state === "ok", "the new space is filled");
  await expectFound(running, 32);
});

test("one odd answer to a question changes nothing", async () => {
  const given = await useEmbeddingHouse(manyNotes(6), { dimensions: 64 });
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
  test("is embedded again when it is changed", async () => {
    const given = await useEmbeddingHouse(manyNotes(6));
    for (const dims of [48, 24, 48]) {
      const memory = await given.open({ outputDimensionality: dims });
      expect((await memory.sync({ reason: "cli" }))?.pendingVectors).toBeUndefined();
      await expectFound(memory, dims);
      await memory.close();
    }
    expect(lengthsIn(given)).toEqual({ 48: 6, 24: 6 });
  });

  test("and is not what comes, is a failure for a person: nothing is stored, no request is made twice", async () => {
    const given = await useEmbeddingHouse(manyNotes(6));
    const server = await given.startApi({ embed: () => Float32Array.from({ length: 16 }, (_, index) => index + 1) });
    const remote = { baseUrl: `${server.url}/v1`, apiKey: "k" };
    const memory = await given.open({ outputDimensionality: 48, remote });
    const report = await memory.sync({ reason: "cli" });
    expect(report?.pendingVectors).toMatchObject({ chunks: 6, failure: "auth" });
    expect(report?.pendingVectors?.reason).toMatch(/16 numbers where 48 were expected.*outputDimensionality/);
    expect(server.log).toHaveLength(1);
    await memory.close();
    expect(lengthsIn(given)).toEqual({});
    expect(readFileSync(given.at("memory/note-2.md"), "utf8")).toContain("kitten");
  });
});
