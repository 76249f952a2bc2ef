import type { Reranker } from "@memslot/core";
import { makeFakeQmd } from "@memslot/fakes/qmd";
import { type RerankApi, startRerankApi } from "@memslot/fakes/rerank-api";
import { deterministicReranker } from "@memslot/testkit";
import { afterwards } from "@memslot/test-tools/files";
import type { Memory } from "memslot";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ask, type House, useHouse } from "./support/temp-workspace.ts";
import { placedEmbeddings } from "./support/embedding-workspace.ts";
import data from "./data/rerank.json" with { type: "json" };

const query = "zebra lantern gate";

let api: RerankApi;
beforeAll(async () => {
  api = await startRerankApi();
});
afterAll(() => api.close());
beforeEach(() => void (api.log.length = 0));

interface OpenOptions {
  slot?: string;
  rerank?: Record<string, unknown>;
  entries?: Record<string, unknown>;
  reranker?: Reranker;
}

async function open(house: House, options: OpenOptions = {}): Promise<Memory> {
  const { slot = "memory-core", rerank = {}, entries = {}, reranker } = options;
  const chosen = { provider: "rerank-http", baseUrl: `${api.url}/v1`, model: "m", timeoutMs: 10_000, ...rerank };
  const settings = { plugins: { slots: { memory: slot }, entries } };
  return await house.open({ settings, memorySearch: { query: { rerank: chosen } }, reranker });
}

/** To the index a rare word is worth more than two common ones; to the reranker one word is as good as another. */
const notes = {
  "MEMORY.md": "# Private\n\nA gate is a secret of mine.\n",
  "memory/a.md": "Zebra, zebra.\n",
  "memory/b.md": "A lantern hangs at the gate.\n",
  ...Object.fromEntries(
    [0, 1, 2, 3].map((index) => [
      `memory/c${index}.md`,
      index % 2 === 0 ? "The lantern is lit.\n" : "The gate is shut.\n",
    ]),
  ),
};

describe.each(["memory-core", "memory-lancedb"])("with %s", (slot) => {
  test("the reranker's order is that of the answer, and another question about the same is asked once", async () => {
    const house = useHouse(notes);
    const plain = await ask(await open(house, { slot, rerank: { provider: "none" } }), query);
    expect(plain.report.rerank).toBeUndefined();
    expect(plain.results[0]?.path).toBe("memory/a.md");
    expect(api.log).toEqual([]);
    const memory = await open(house, { slot });
    const first = await ask(memory, query);
    expect(first.report).toMatchObject({ state: "ok", backend: slot, rerank: { state: "done", id: "rerank-http" } });
    expect(first.results[0]?.path).toBe("memory/b.md");
    const scores = first.results.map(({ score }) => score);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
    expect((await ask(memory, query)).report.rerank?.cached).toBe(true);
    expect(api.log).toHaveLength(1);
    // A note that was saved meanwhile is read by the reranker.
    house.write({ "memory/d.md": "A lantern at the gate: the new one.\n" });
    await memory.sync();
    expect((await ask(memory, query)).report.rerank?.cached).toBe(false);
    expect(JSON.stringify(api.log.at(-1)?.body)).toContain("the new one");
    expect(memory.status().rerank).toMatchObject({ id: "rerank-http", model: "m", host: new URL(api.url).host });
  });

  test("a server that refuses leaves the order as it was, and the answer says so", async () => {
    const house = useHouse(notes);
    const plain = await ask(await open(house, { slot, rerank: { provider: "none" } }), query);
    api.fail({ status: 401, body: { message: "who are you" } });
    const { results, report } = await ask(await open(house, { slot }), query);
    expect(results).toEqual(plain.results);
    expect(report).toMatchObject({ state: "degraded", rerank: { state: "failed" } });
    expect(report.reason).toMatch(/results are in the order of the index: 127\.0\.0\.1:\d+ answered 401: who are you/);
  });
});

test("the reranker gets no private note for a group, and no key at all", async () => {
  const house = useHouse(notes);
  const key = ["ghp", "a8F3kL0pQ7xZ2mN9vB4cT6yR1wE5uI8oP3sD"].join("_");
  house.write({ "memory/keys.md": `The lantern at the gate opens with ${key} only.\n` });
  const memory = await open(house);
  await ask(memory, query);
  expect(api.log).toHaveLength(1);
  const all = JSON.stringify(api.log[0]?.body);
  expect(all).toContain("opens with");
  expect(all).toContain("a secret of mine");
  expect(all).not.toContain(key);
  api.log.length = 0;
  await ask(memory, query, { sessionKey: "agent:main:telegram:group:-100" });
  expect(JSON.stringify(api.log.map(({ body }) => body))).not.toContain("a secret of mine");
});

test("what meaning alone has found over minScore stays, though words that score less are put before it", async () => {
  const house = useHouse(data.wordAndMeaning);
  const embeddings = placedEmbeddings((text) => (text.includes("striped") ? 0.9 : 0));
  const ofHouse = { embeddings, memorySearch: { query: { rerank: { timeoutMs: 10_000 } } } };
  const plain = await house.open(ofHouse);
  await plain.sync();
  const before = await ask(plain, "zebra lantern");
  expect(before.results.find(({ path }) => path === "memory/meaning.md")).not.toHaveProperty("textScore");
  const { results, report } = await ask(
    await house.open({ ...ofHouse, reranker: deterministicReranker() }),
    "zebra lantern",
  );
  expect(report.rerank?.state).toBe("done");
  expect(results.map(({ path }) => path)).toEqual(["memory/word.md", "memory/other.md", "memory/meaning.md"]);
  expect(results[2]?.score).toBeGreaterThanOrEqual(0.35);
});

test("memory-qmd ranks by itself, asks no reranker and says so", async () => {
  const house = useHouse(notes);
  const fake = makeFakeQmd();
  afterwards(() => fake.remove());
  const entries = { "memory-qmd": { config: { command: fake.command, fallback: "none" } } };
  const memory = await open(house, { slot: "memory-qmd", entries });
  await memory.sync();
  const { results, report } = await ask(memory, query);
  expect(results.length).toBeGreaterThan(1);
  expect(report).toMatchObject(data.unused);
  expect(api.log).toEqual([]);
});

test("an application brings its own, whatever the configuration says", async () => {
  const house = useHouse(notes);
  const reranker = deterministicReranker();
  const memory = await open(house, { reranker });
  const { results, report } = await ask(memory, query);
  expect(report.rerank).toMatchObject({ state: "done", id: "deterministic" });
  expect(results[0]?.path).toBe("memory/b.md");
  expect(api.log).toEqual([]);
  await memory.close();
  // It belongs to the application, which may go on using it.
  expect(await reranker.rerank("a", ["a"], { signal: new AbortController().signal })).toEqual([1]);
});
