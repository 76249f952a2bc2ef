import type { MemorySearchResult, SyncProgress } from "memslot";
import { describe, expect, test } from "vitest";
import { ask, manyNotes, notesSent, textsSent, until, useEmbeddingBench } from "./support/embedding-bench.ts";

const bench = useEmbeddingBench();
const quota = {
  status: 429,
  body: { error: { message: "You exceeded your current quota", code: "insufficient_quota" } },
};
const forEver = 1_000_000;

/** Cosine of what the server gives for two texts under a model of OpenAI. */
async function cosineOfOpenAi(url: string, texts: readonly string[]): Promise<number> {
  const body = { model: "model-a", input: texts };
  const { data } = await post<{ data: { embedding: number[] }[] }>(`${url}/v1/embeddings`, body);
  return cosine(data.map(({ embedding }) => embedding));
}

/** The same under the model of Google. */
async function cosineOfGoogle(url: string, texts: readonly string[]): Promise<number> {
  const requests = texts.map((text) => ({ content: { parts: [{ text }] } }));
  const address = `${url}/v1beta/models/gemini-embedding-001:batchEmbedContents`;
  const { embeddings } = await post<{ embeddings: { values: number[] }[] }>(address, { requests });
  return cosine(embeddings.map(({ values }) => values));
}

async function post<Answer>(address: string, body: object): Promise<Answer> {
  const key = address.includes("/v1beta/") ? { "x-goog-api-key": "k" } : { authorization: "Bearer k" };
  const headers = { "content-type": "application/json", ...key };
  const response = await fetch(address, { method: "POST", headers, body: JSON.stringify(body) });
  return (await response.json()) as Answer;
}

function cosine([a = [], b = []]: number[][]): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
}

/** The text that was sent for the note of a result. */
function sentFor(result: MemorySearchResult | undefined, sent: readonly string[]): string {
  const line = result?.snippet.split("\n").at(-1) ?? "";
  return sent.find((text) => line !== "" && text.includes(line)) ?? "";
}

describe("two models with vectors of one length", () => {
  test("never meet: the fallback answers from its own space, and the first comes back for nothing", async () => {
    // As long as those of Google's model, which the plugin knows.
    const { api, open, write } = await bench({ dimensions: 3072 });
    write(manyNotes(24));
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
    await until(async () => {
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
      expect(result.vectorScore).toBeCloseTo(await cosineOfGoogle(api.url, pair), 4);
    }
    expect(memory.status().embedding?.answeredBy).toMatchObject({ provider: "gemini" });

    // It is paid for again, and somebody asks.
    api.reset();
    await memory.sync();
    const back = await ask(memory, "where is the harvest");
    expect(back.report).toMatchObject({ state: "ok", mode: "hybrid" });
    expect(back.report.fallback).toBeUndefined();
    expect(textsSent(api.log)).toEqual(["memory", "where is the harvest"]);
    for (const result of back.results) {
      const pair = ["where is the harvest", sentFor(result, sentToOpenAi)];
      expect(result.vectorScore).toBeCloseTo(await cosineOfOpenAi(api.url, pair), 4);
    }
  });

  test("without a fallback no other provider is asked, in search and in sync", async () => {
    const { api, open, write } = await bench();
    write(manyNotes(4));
    api.fail({ match: "/v1/embeddings", times: forEver, ...quota });
    const memory = await open({ fallback: "none" });
    await memory.sync();
    for (const query of ["budget", "server", "kitten"]) await ask(memory, query);
    expect(api.log.map(({ path }) => path)).toEqual(["/v1/embeddings"]);
  });
});

describe("another address", () => {
  test("alone sends nothing again", async () => {
    const { api, open, write, startApi } = await bench();
    write(manyNotes(8));
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
    const { api, open, write } = await bench();
    write(manyNotes(24));
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
    const { api, open, write } = await bench();
    write(manyNotes(200));
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
    await until(() => (memory.status().vector?.embedded ?? 0) > 0, "the first vectors are stored");
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
    const { api, open, write, notes } = await bench();
    write({ ...manyNotes(8), "memory/copy.md": manyNotes(1)["memory/note-0.md"] ?? "" });
    const memory = await open();
    await memory.sync();
    expect(notesSent(api.log)).toHaveLength(8);
    api.reset();
    const { renameSync, mkdirSync } = await import("node:fs");
    mkdirSync(`${notes}/memory/moved`);
    renameSync(`${notes}/memory/note-3.md`, `${notes}/memory/moved/elsewhere.md`);
    await memory.sync();
    expect((await ask(memory, "the journey of number 3")).results[0]?.path).toBe("memory/moved/elsewhere.md");
    expect(notesSent(api.log)).toEqual(["the journey of number 3"]);
  });
});
