import { type EmbeddingBatches, ProviderError, isAbort } from "@memslot/core";
import type { EmbeddingApi } from "@memslot/fakes/embedding-api";
import { eventually } from "@memslot/test-tools/wait";
import { describe, expect, test } from "vitest";
import { openOnApi, thrownBy } from "./support/open.ts";

const { signal } = new AbortController();
const texts = ["first note", 'second "note"\nof two lines', "third 🙂", "fourth"];

async function openBatches(
  options: Parameters<typeof openOnApi>[0] = {},
): Promise<{ api: EmbeddingApi; batches: EmbeddingBatches; direct: ArrayLike<number>[] }> {
  const { api, provider } = await openOnApi({ ...options, remote: { ...options.remote, batch: { enabled: true } } });
  const direct = await provider.embedBatch(texts);
  api.reset();
  const { batches } = provider;
  if (!batches) throw new Error("there is no batch interface");
  return { api, batches, direct };
}

async function ended(batches: EmbeddingBatches, job: string): Promise<unknown> {
  let state = await batches.state(job, { signal });
  await eventually(async () => (state = await batches.state(job, { signal })).state !== "running");
  return state;
}

const calls = (api: EmbeddingApi): string[] => api.log.map(({ method, path }) => `${method} ${path}`);
const numbers = (vectors: readonly unknown[]): unknown[] =>
  vectors.map((vector) => (ArrayBuffer.isView(vector) ? [...(vector as Float32Array)] : vector));

describe("a batch job", () => {
  test("gives the vectors that direct calls give, in the order of the texts", async () => {
    const { api, batches, direct } = await openBatches({ memorySearch: { outputDimensionality: 16 } });
    const job = await batches.submit(texts, { signal });
    expect(calls(api)).toEqual(["POST /v1/files", "POST /v1/batches"]);
    const lines = /\r\n\r\n(\{[\s\S]*?\})\n\r\n/.exec(api.log[0]?.body ?? "")?.[1]?.split("\n") ?? [];
    expect(lines.map((line) => JSON.parse(line))).toEqual(
      texts.map((text, index) => ({
        custom_id: String(index),
        method: "POST",
        url: "/v1/embeddings",
        body: { model: "some-model", input: [text], encoding_format: "base64", dimensions: 16 },
      })),
    );
    expect(JSON.parse(api.log[1]?.body ?? "")).toMatchObject({ endpoint: "/v1/embeddings", completion_window: "24h" });

    expect(await ended(batches, job)).toEqual({ state: "done" });
    api.reset();
    const usages: number[] = [];
    const results = await batches.collect(job, { count: 4, signal, onUsage: ({ tokens }) => usages.push(tokens) });
    expect(numbers(results)).toEqual(numbers(direct));
    const tokens = texts.map((text) => Math.ceil(text.length / 4)).reduce((sum, count) => sum + count, 0);
    expect(usages).toEqual([tokens]);
    // Notes and results stay there until the vectors are stored.
    expect(calls(api).filter((call) => call.startsWith("DELETE"))).toEqual([]);
    await batches.discard?.(job, { signal });
    expect(calls(api).filter((call) => call.startsWith("DELETE"))).toHaveLength(2);
  });

  test("puts the prefix of the model in front of every note", async () => {
    const { api, batches } = await openBatches({ memorySearch: { model: "nomic-embed-text" } });
    await batches.submit(["a note"], { signal });
    expect(api.log[0]?.body).toContain('"input":["search_document: a note"]');
  });

  test("with failures gives an error for each text that failed, and the vectors of the others", async () => {
    const { api, batches, direct } = await openBatches();
    api.setJobs({ outcome: "partial" });
    const job = await batches.submit(texts, { signal });
    expect(await ended(batches, job)).toEqual({ state: "done" });
    const results = await batches.collect(job, { count: 4, signal });
    const failed = results.filter((result) => ProviderError.is(result, "transient"));
    expect(failed.length).toBeGreaterThan(0);
    expect(failed.length).toBeLessThan(4);
    expect(failed[0]?.message).toMatch(/answered 500/);
    for (const [index, result] of numbers(results).entries())
      if (!ProviderError.is(result)) expect(result).toEqual(numbers(direct)[index]);
  });

  test.each([
    ["expired", 2, expect.stringMatching(/./)],
    ["failed", 0, "The input file cannot be worked on."],
  ] as const)("that %s says why, and gives the %i vectors that were done", async (outcome, done, reason) => {
    const { api, batches, direct } = await openBatches();
    api.setJobs({ outcome });
    const job = await batches.submit(texts, { signal });
    expect(await ended(batches, job)).toEqual({ state: outcome, reason });
    const results = await batches.collect(job, { count: 4, signal });
    expect(numbers(results)).toEqual(numbers(direct).map((vector, index) => (index < done ? vector : undefined)));
  });

  test("that the server does not know is unknown, and gives nothing", async () => {
    const { batches } = await openBatches();
    expect(await batches.state("batch_of_somebody_else", { signal })).toMatchObject({ state: "unknown" });
    expect(await batches.collect("batch_of_somebody_else", { count: 2, signal })).toEqual([undefined, undefined]);
    await batches.cancel("batch_of_somebody_else", { signal });
  });

  test("can be cancelled, also when it has ended, and takes its notes along", async () => {
    const { api, batches } = await openBatches({ api: { jobMs: 60_000 } });
    const job = await batches.submit(texts, { signal });
    expect(await batches.state(job, { signal })).toEqual({ state: "running", completed: 0 });
    api.reset();
    await batches.cancel(job, { signal });
    expect(calls(api)).toEqual(["POST /v1/batches/batch_1/cancel", "DELETE /v1/files/file-1"]);
    expect(await batches.state(job, { signal })).toEqual({ state: "failed", reason: "the job was cancelled" });
    api.setJobs({ ms: 0 });
    const quick = await batches.submit(texts, { signal });
    expect(await ended(batches, quick)).toEqual({ state: "done" });
    await batches.cancel(quick, { signal });
  });
});

describe("what goes wrong with a job", () => {
  test("a text of the job that is too long is known as such", async () => {
    const { batches } = await openBatches({ api: { jobMs: 0, limits: { inputTokens: 20 } } });
    const job = await batches.submit(["short", "long ".repeat(100)], { signal });
    await ended(batches, job);
    const [short, long] = await batches.collect(job, { count: 2, signal });
    expect(ProviderError.is(short)).toBe(false);
    expect(ProviderError.is(long, "input")).toBe(true);
  });

  test("a job that is not taken leaves no file behind", async () => {
    const { api, batches } = await openBatches();
    api.fail({ match: "/batches", status: 429, body: { error: { message: "Enqueued token limit reached" } } });
    const error = await thrownBy(batches.submit(texts, { signal }));
    expect(ProviderError.is(error, "rate")).toBe(true);
    await eventually(() => calls(api).includes("DELETE /v1/files/file-1"));
  });

  test("a server without a batch interface says what to set", async () => {
    const { api, batches } = await openBatches();
    for (const fault of [
      { status: 404, body: "404 page not found" },
      { body: "<html>hello</html>" },
      { status: 501 },
    ]) {
      api.fail({ match: "/files", ...fault });
      const error = await thrownBy(batches.submit(texts, { signal }));
      expect(ProviderError.is(error, "auth")).toBe(true);
      expect((error as Error).message).toMatch(
        /It seems to have no batch interface: set .*remote\.batch\.enabled to false$/,
      );
    }
  });

  test("answers that break off are fetched again, and nothing is deleted before", async () => {
    const { api, batches, direct } = await openBatches({ api: { jobMs: 0 } });
    const job = await batches.submit(texts, { signal });
    await ended(batches, job);
    api.fail({ match: "/content", behaviour: "disconnect" });
    expect(ProviderError.is(await thrownBy(batches.collect(job, { count: 4, signal })), "transient")).toBe(true);
    expect(calls(api).filter((call) => call.startsWith("DELETE"))).toEqual([]);
    expect(numbers(await batches.collect(job, { count: 4, signal }))).toEqual(numbers(direct));
  });

  test("a wrong key is a wrong key here too", async () => {
    const { api, batches } = await openBatches();
    for (const step of ["submit", "state", "cancel"] as const) {
      api.fail({ status: 401 });
      const call = step === "submit" ? batches.submit(texts, { signal }) : batches[step]("batch_1", { signal });
      expect(ProviderError.is(await thrownBy(call), "auth")).toBe(true);
    }
    api.fail({ status: 401 });
    expect(ProviderError.is(await thrownBy(batches.collect("batch_1", { count: 1, signal })), "auth")).toBe(true);
  });

  test.each(["/files", "/batches", "/content"])("an abort while %s is being asked ends the call", async (match) => {
    const { api, batches } = await openBatches({ api: { jobMs: 0 } });
    const job = await batches.submit(texts, { signal });
    api.reset();
    api.fail({ match, behaviour: "hang" });
    const controller = new AbortController();
    const how = { signal: controller.signal };
    const call = match === "/content" ? batches.collect(job, { count: 4, ...how }) : batches.submit(texts, how);
    const outcome = thrownBy(call);
    await eventually(() => calls(api).some((line) => line.includes(match)));
    controller.abort();
    expect(isAbort(await outcome)).toBe(true);
  });
});
