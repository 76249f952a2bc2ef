import { type EmbeddingBatches, ProviderError } from "@memslot/core";
import { type EmbeddingApi, startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { eventually } from "@memslot/test-tools/wait";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { openAt } from "./support/open-gemini.ts";

const signal = new AbortController().signal;
const texts = ["the roof", "die Straße", '明天上午\n\n"quoted"', "the cat", "a line\u2028inside", "the end"];

describe("batch jobs", () => {
  let api: EmbeddingApi;
  beforeAll(async () => {
    api = await startEmbeddingApi({ dimensions: 64, apiKey: "test-key", jobMs: 0 });
  });
  afterAll(() => api.close());
  beforeEach(() => {
    api.reset();
    api.setJobs({ outcome: "done", ms: 0 });
  });

  async function openBatches(memorySearch: Record<string, unknown> = {}): Promise<EmbeddingBatches> {
    const { batches } = await openAt(api.url, { remote: { batch: { enabled: true } }, ...memorySearch });
    if (batches === undefined) throw new Error("no batches");
    return batches;
  }

  const vectorsNow = async (settings: Record<string, unknown> = {}) =>
    (await (await openAt(api.url, settings)).embedBatch(texts)).map((vector) => Float32Array.from(vector));
  const requestsOf = (method: string) => api.log.filter((request) => request.method === method);

  test.each([
    ["gemini-embedding-001", undefined],
    ["gemini-embedding-001", 128],
    ["gemini-embedding-2", undefined],
  ])(
    "a job of %s gives the vectors that requests would, in the order of the texts",
    async (model, outputDimensionality) => {
      const settings = { model, outputDimensionality };
      const batches = await openBatches(settings);
      const job = await batches.submit(texts, { signal });
      expect(await batches.state(job, { signal })).toEqual({ state: "done" });
      const told: number[] = [];
      const results = await batches.collect(job, { count: texts.length, onUsage: ({ tokens }) => told.push(tokens) });
      expect(results).toEqual(await vectorsNow(settings));
      expect(told).toHaveLength(1);
      expect(told[0]).toBeGreaterThan(0);
    },
  );

  test("the texts are marked as notes, and their file is deleted when the vectors are stored", async () => {
    const batches = await openBatches({ documentInputType: "CLUSTERING" });
    const job = await batches.submit(texts, { signal });
    const lines = api.log.find(({ path, body }) => path.startsWith("/upload/") && body.includes("the roof"))?.body;
    const requests = (lines ?? "")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);
    expect(requests).toHaveLength(texts.length);
    expect(requests[1]).toEqual({
      key: "1",
      request: {
        model: "models/gemini-embedding-001",
        content: { parts: [{ text: texts[1] }] },
        taskType: "CLUSTERING",
      },
    });
    expect(requestsOf("DELETE")).toHaveLength(0);
    await batches.collect(job, { count: texts.length, signal });
    expect(requestsOf("DELETE")).toHaveLength(0);
    await batches.discard?.(job, { signal });
    expect(requestsOf("DELETE").map(({ path }) => path)).toEqual([`/v1beta/${job.split(" ")[1]}`]);
  });

  test("a job outlives the process that submitted it, and can be collected twice", async () => {
    const job = await (await openBatches()).submit(texts, { signal });
    const later = await openBatches();
    expect(await later.state(job, { signal })).toEqual({ state: "done" });
    const first = await later.collect(job, { count: texts.length, signal });
    expect(await later.collect(job, { count: texts.length, signal })).toEqual(first);
    expect(first).toEqual(await vectorsNow());
  });

  test("a text that fails is told by itself", async () => {
    api.setJobs({ outcome: "partial", ms: 0 });
    const batches = await openBatches();
    const job = await batches.submit([...texts, ""], { signal });
    expect(await batches.state(job, { signal })).toEqual({ state: "done" });
    const results = await batches.collect(job, { count: 7, signal });
    const vectors = await vectorsNow();
    for (const [index, result] of results.entries()) {
      if (index === 6) expect(result).toMatchObject({ kind: "input", message: expect.stringContaining("content") });
      else if (index % 3 === 2)
        expect(result).toMatchObject({ kind: "transient", message: expect.stringContaining("Internal") });
      else expect(result).toEqual(vectors[index]);
    }
    expect(results.filter((result) => ProviderError.is(result))).toHaveLength(3);
  });

  test.each([
    ["failed", { state: "failed", reason: expect.stringMatching(/BATCH_STATE_FAILED/) }],
    ["expired", { state: "expired", reason: expect.stringMatching(/BATCH_STATE_EXPIRED/) }],
  ] as const)("a job that %s says so and has nothing", async (outcome, state) => {
    api.setJobs({ outcome, ms: 0 });
    const batches = await openBatches();
    const job = await batches.submit(texts, { signal });
    expect(await batches.state(job, { signal })).toEqual(state);
    expect(await batches.collect(job, { count: 3, signal })).toEqual([undefined, undefined, undefined]);
  });

  test("a job that runs can be cancelled, with its file", async () => {
    api.setJobs({ ms: 60_000 });
    const batches = await openBatches();
    const job = await batches.submit(texts, { signal });
    expect(await batches.state(job, { signal })).toEqual({ state: "running", completed: 0 });
    await batches.cancel(job, { signal });
    expect(requestsOf("DELETE")).toHaveLength(1);
    expect(await batches.state(job, { signal })).toEqual({ state: "failed", reason: "the job was cancelled" });
  });

  test("a job that Google does not know is unknown, and nothing is left of it", async () => {
    const batches = await openBatches();
    const job = "batches/of-long-ago files/of-long-ago";
    expect(await batches.state(job, { signal })).toMatchObject({ state: "unknown" });
    expect(await batches.collect(job, { count: 2, signal })).toEqual([undefined, undefined]);
    await batches.cancel(job, { signal });
    await expect(batches.state("../files/x y", { signal })).rejects.toMatchObject({ kind: "input" });
  });

  test("results that are gone already leave the texts to be done anew", async () => {
    const batches = await openBatches();
    const job = await batches.submit(texts, { signal });
    api.fail({
      match: ":download",
      status: 403,
      body: { error: { message: "You do not have permission to access the File or it may not exist." } },
    });
    expect(await batches.collect(job, { count: 6, signal })).toEqual(Array.from({ length: 6 }));
  });

  test("a download that breaks off or is refused is a failure, and its file stays for the next try", async () => {
    const batches = await openBatches();
    const job = await batches.submit(texts, { signal });
    api.fail({ match: ":download", behaviour: "disconnect" });
    await expect(batches.collect(job, { count: 6, signal })).rejects.toMatchObject({ kind: "transient" });
    api.fail({ match: ":download", status: 403 });
    await expect(batches.collect(job, { count: 6, signal })).rejects.toMatchObject({ kind: "auth" });
    expect(requestsOf("DELETE")).toHaveLength(0);
    expect(await batches.collect(job, { count: 6, signal })).toEqual(await vectorsNow());
  });

  test("lines that cannot be read, and keys that nobody asked for, spoil no other line", async () => {
    const batches = await openBatches();
    const job = await batches.submit(texts, { signal });
    const line = (key: string, value: number) => JSON.stringify({ key, response: { embedding: { values: [value] } } });
    api.fail({
      match: ":download",
      body: [line("2", 2), "{", line("9", 9), line("x", 9), "[1]", line("0", 0)].join("\n"),
    });
    const results = await batches.collect(job, { count: 3, signal });
    expect(results).toEqual([Float32Array.of(0), undefined, Float32Array.of(2)]);
  });

  test("results without keys are taken in their order", async () => {
    const batches = await openBatches();
    const job = await batches.submit(texts, { signal });
    const line = (value: number) => JSON.stringify({ response: { embedding: { values: [value] }, tokenCount: "4" } });
    api.fail({ match: ":download", body: `${line(1)}\r\n\r\n${line(2)}\n` });
    const told: number[] = [];
    const results = await batches.collect(job, { count: 2, signal, onUsage: ({ tokens }) => told.push(tokens) });
    expect(results).toEqual([Float32Array.of(1), Float32Array.of(2)]);
    expect(told).toEqual([8]);
  });

  test("a job that is refused leaves no file behind, and is a matter of waiting", async () => {
    const batches = await openBatches();
    const message = "You exceeded your current quota, please check your plan and billing details.";
    api.fail({
      match: ":asyncBatchEmbedContent",
      status: 429,
      body: { error: { status: "RESOURCE_EXHAUSTED", message } },
    });
    await expect(batches.submit(texts, { signal })).rejects.toMatchObject({ kind: "rate" });
    await eventually(() => requestsOf("DELETE").length === 1);
  });

  test("an answer that is no job is a failure that passes", async () => {
    const batches = await openBatches();
    api.fail({ match: ":asyncBatchEmbedContent", body: { candidates: [] } });
    await expect(batches.submit(texts, { signal })).rejects.toMatchObject({ kind: "transient" });
    const job = await batches.submit(texts, { signal });
    api.fail({ match: "/batches/", body: { candidates: [] } });
    await expect(batches.state(job, { signal })).rejects.toMatchObject({ kind: "transient" });
  });

  test("what a file held goes to no other host", async () => {
    const other = await startEmbeddingApi();
    onTestFinished(() => other.close());
    const batches = await openBatches();
    api.fail({
      match: "/upload/",
      body: {},
      headers: { "x-goog-upload-url": `${other.url}/upload/v1beta/files?upload_id=1` },
    });
    await expect(batches.submit(texts, { signal })).rejects.toMatchObject({ kind: "auth" });
    expect(other.log).toEqual([]);
  });
});
