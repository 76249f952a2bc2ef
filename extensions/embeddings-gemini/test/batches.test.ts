import type { EmbeddingBatches } from "@memslot/core";
import { type EmbeddingApi, startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { afterwards } from "@memslot/test-tools/files";
import { eventually } from "@memslot/test-tools/wait";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { openAt } from "./support/open.ts";

// embeddings-openai tests what both providers share: unknown jobs, aborts, cancelled jobs, answers that break off.

const signal = new AbortController().signal;
const texts = ["the roof", "die Straße", '明天上午\n\n"quoted"', "the cat", "a line\u2028inside", "the end"];

let api: EmbeddingApi;
beforeAll(async () => {
  api = await startEmbeddingApi({ dimensions: 64, apiKey: "test-key", jobMs: 0 });
});
afterAll(() => api.close());
beforeEach(() => {
  api.reset();
  api.setJobs({});
});

async function openBatches(memorySearch: Record<string, unknown> = {}): Promise<EmbeddingBatches> {
  const { batches } = await openAt(api.url, { remote: { batch: { enabled: true } }, ...memorySearch });
  if (batches === undefined) throw new Error("no batches");
  return batches;
}

const direct = async (settings = {}): Promise<Float32Array[]> =>
  (await (await openAt(api.url, settings)).embedBatch(texts)).map((vector) => Float32Array.from(vector));
const deleted = (): string[] => api.log.filter(({ method }) => method === "DELETE").map(({ path }) => path);

test.each([
  { model: "gemini-embedding-001", documentInputType: "CLUSTERING" },
  { model: "gemini-embedding-001", outputDimensionality: 128 },
  { model: "gemini-embedding-2" },
])(
  "a job with %j returns the vectors of direct calls, for any process, and its file is deleted at the end",
  async (settings) => {
    const job = await (await openBatches(settings)).submit(texts, { signal });
    const lines = api.log.find(({ path, body }) => path.startsWith("/upload/") && body.includes("the roof"))?.body;
    const requests = (lines ?? "")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { key: string });
    expect(requests.map(({ key }) => key)).toEqual(texts.map((_, index) => String(index)));
    if (settings.documentInputType)
      expect(requests[1]).toMatchObject({
        request: {
          model: `models/${settings.model}`,
          content: { parts: [{ text: texts[1] }] },
          taskType: "CLUSTERING",
        },
      });
    const later = await openBatches(settings);
    expect(await later.state(job, { signal })).toEqual({ state: "done" });
    const usages: number[] = [];
    const onUsage = ({ tokens }: { tokens: number }): number => usages.push(tokens);
    const vectors = await direct(settings);
    for (let time = 0; time < 2; time++)
      expect(await later.collect(job, { count: texts.length, onUsage })).toEqual(vectors);
    expect(usages).toEqual([expect.any(Number), usages[0]]);
    expect(usages[0]).toBeGreaterThan(0);
    expect(deleted()).toEqual([]);
    await later.discard?.(job, { signal });
    expect(deleted()).toEqual([`/v1beta/${job.split(" ")[1]}`]);
  },
);

test("a text that fails has its own error", async () => {
  api.setJobs({ outcome: "partial" });
  const batches = await openBatches();
  const job = await batches.submit([...texts, ""], { signal });
  expect(await batches.state(job, { signal })).toEqual({ state: "done" });
  const vectors = await direct();
  const failed = { kind: "transient", message: expect.stringContaining("Internal") };
  expect(await batches.collect(job, { count: 7, signal })).toMatchObject([
    ...vectors.map((vector, index) => (index % 3 === 2 ? failed : vector)),
    { kind: "input", message: expect.stringContaining("content") },
  ]);
});

test.each([
  ["failed", { state: "failed", reason: expect.stringMatching(/BATCH_STATE_FAILED/) }],
  ["expired", { state: "expired", reason: expect.stringMatching(/BATCH_STATE_EXPIRED/) }],
] as const)("a job that %s reports it and has no vectors", async (outcome, state) => {
  api.setJobs({ outcome });
  const batches = await openBatches();
  const job = await batches.submit(texts, { signal });
  expect(await batches.state(job, { signal })).toEqual(state);
  expect(await batches.collect(job, { count: 2, signal })).toEqual([undefined, undefined]);
});

test("a running job is cancelled with its file, and a job that Google does not know is unknown", async () => {
  api.setJobs({ ms: 60_000 });
  const batches = await openBatches();
  const job = await batches.submit(texts, { signal });
  expect(await batches.state(job, { signal })).toEqual({ state: "running", completed: 0 });
  await batches.cancel(job, { signal });
  expect(deleted()).toHaveLength(1);
  expect(await batches.state(job, { signal })).toEqual({ state: "failed", reason: "the job was cancelled" });
  const old = "batches/of-long-ago files/of-long-ago";
  expect(await batches.state(old, { signal })).toMatchObject({ state: "unknown" });
  expect(await batches.collect(old, { count: 1, signal })).toEqual([undefined]);
  await batches.cancel(old, { signal });
});

const line = (value: number, key?: string): string =>
  JSON.stringify({ key, response: { embedding: { values: [value] }, tokenCount: "4" } });
const gone = { error: { message: "You do not have permission to access the File or it may not exist." } };

test.each([
  ["deleted", { status: 403, body: gone }, [undefined, undefined, undefined]],
  [
    "with broken lines and unknown keys",
    { body: [line(2, "2"), "{", line(9, "9"), line(9, "x"), "[1]", line(0, "0")].join("\n") },
    [Float32Array.of(0), undefined, Float32Array.of(2)],
  ],
  ["without keys", { body: `${line(1)}\r\n\r\n${line(2)}\n` }, [Float32Array.of(1), Float32Array.of(2), undefined]],
])("results that are %s", async (_, fault, results) => {
  const batches = await openBatches();
  const job = await batches.submit(texts, { signal });
  api.fail({ match: ":download", ...fault });
  expect(await batches.collect(job, { count: 3, signal })).toEqual(results);
});

test.each([
  [":download", { status: 403 }, "auth"],
  ["/batches/", { body: { candidates: [] } }, "transient"],
  [":asyncBatchEmbedContent", { body: { candidates: [] } }, "transient"],
  [
    ":asyncBatchEmbedContent",
    {
      status: 429,
      body: {
        error: {
          status: "RESOURCE_EXHAUSTED",
          message: "You exceeded your current quota, please check your plan and billing details.",
        },
      },
    },
    "rate",
  ],
])("a failure at %s %j is of kind %s; a refused job leaves no file, any other keeps it", async (match, fault, kind) => {
  const batches = await openBatches();
  const isSubmission = match === ":asyncBatchEmbedContent";
  const job = isSubmission ? "" : await batches.submit(texts, { signal });
  api.fail({ match, ...fault });
  const call = isSubmission
    ? batches.submit(texts, { signal })
    : match === ":download"
      ? batches.collect(job, { count: 6, signal })
      : batches.state(job, { signal });
  await expect(call).rejects.toMatchObject({ kind });
  if (isSubmission) await eventually(() => deleted().length === 1);
  else expect(deleted()).toEqual([]);
});

test("the file goes to no other host than the configured one", async () => {
  const other = await startEmbeddingApi();
  afterwards(() => other.close());
  const batches = await openBatches();
  const headers = { "x-goog-upload-url": `${other.url}/upload/v1beta/files?upload_id=1` };
  api.fail({ match: "/upload/", body: {}, headers });
  await expect(batches.submit(texts, { signal })).rejects.toMatchObject({ kind: "auth" });
  expect(other.log).toEqual([]);
});
