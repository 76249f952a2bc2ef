import { type EmbeddingBatches, ProviderError, isAbort } from "@memslot/core";
import type { EmbeddingApi } from "@memslot/fakes/embedding-api";
import { failureOf } from "@memslot/fakes/plugin-context";
import { eventually } from "@memslot/test-tools/wait";
import { describe, expect, test } from "vitest";
import { type ApiSetup, openOnApi } from "./support/open.ts";

const { signal } = new AbortController();
const texts = ["first note", 'second "note"\nof two lines', "third 🙂", "fourth"];

interface Bench {
  api: EmbeddingApi;
  batches: EmbeddingBatches;
  /** The vectors of direct calls. */
  direct: unknown[];
  submit(): Promise<string>;
  collect(job: string, onUsage?: (usage: { tokens: number }) => void): Promise<unknown[]>;
  /** `POST /v1/files` */
  calls(match?: string): string[];
}

async function benchOf({ api: options, remote, ...setup }: ApiSetup = {}): Promise<Bench> {
  const { api, provider } = await openOnApi({
    ...setup,
    api: { jobMs: 0, ...options },
    remote: { ...remote, batch: { enabled: true } },
  });
  const direct = numbers(await provider.embedBatch(texts));
  api.reset();
  const { batches } = provider;
  if (!batches) throw new Error("there is no batch interface");
  return {
    api,
    batches,
    direct,
    submit: () => batches.submit(texts, { signal }),
    collect: async (job, onUsage) => numbers(await batches.collect(job, { count: 4, signal, onUsage })),
    calls: (match = "") =>
      api.log.map(({ method, path }) => `${method} ${path}`).filter((call) => call.includes(match)),
  };
}

const numbers = (vectors: readonly unknown[]): unknown[] =>
  vectors.map((vector) => (ArrayBuffer.isView(vector) ? [...(vector as Float32Array)] : vector));

describe("a batch job", () => {
  test("returns the vectors of direct calls in the order of the texts, and keeps its files until they are stored", async () => {
    const { api, batches, direct, submit, collect, calls } = await benchOf({
      memorySearch: { outputDimensionality: 16 },
    });
    const job = await submit();
    expect(calls()).toEqual(["POST /v1/files", "POST /v1/batches"]);
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
    expect(await batches.state(job, { signal })).toEqual({ state: "done" });
    const usages: number[] = [];
    expect(await collect(job, ({ tokens }) => usages.push(tokens))).toEqual(direct);
    expect(usages).toEqual([texts.reduce((sum, text) => sum + Math.ceil(text.length / 4), 0)]);
    expect(calls("DELETE")).toEqual([]);
    await batches.discard?.(job, { signal });
    expect(calls("DELETE")).toHaveLength(2);
  });

  test("adds the prefix of the model to every note", async () => {
    const { api, submit } = await benchOf({ memorySearch: { model: "nomic-embed-text" } });
    await submit();
    expect(api.log[0]?.body).toContain('"input":["search_document: first note"]');
  });

  test.each([
    ["partial", { state: "done" }, [0, 1, 3]],
    ["expired", { state: "expired", reason: expect.stringMatching(/./) }, [0, 1]],
    ["failed", { state: "failed", reason: "The input file cannot be worked on." }, []],
  ] as const)("%s: the processed texts have vectors", async (outcome, state, done) => {
    const { api, batches, direct, submit, collect } = await benchOf();
    api.setJobs({ outcome });
    const job = await submit();
    expect(await batches.state(job, { signal })).toEqual(state);
    for (const [index, result] of (await collect(job)).entries())
      if (done.some((each) => each === index)) expect(result).toEqual(direct[index]);
      else if (outcome !== "partial") expect(result).toBeUndefined();
      else expect(result).toMatchObject({ kind: "transient", message: expect.stringMatching(/answered 500/) });
  });

  test("is unknown if the server does not know it", async () => {
    const { batches, collect } = await benchOf();
    expect(await batches.state("batch_of_another", { signal })).toMatchObject({ state: "unknown" });
    expect(await collect("batch_of_another")).toEqual(Array.from({ length: 4 }));
    await batches.cancel("batch_of_another", { signal });
    await expect(batches.state("../files/x y", { signal })).rejects.toMatchObject({ kind: "input" });
  });

  test("is cancelled with its file, also after its end", async () => {
    const { api, batches, submit, calls } = await benchOf({ api: { jobMs: 60_000 } });
    const job = await submit();
    expect(await batches.state(job, { signal })).toEqual({ state: "running", completed: 0 });
    api.reset();
    await batches.cancel(job, { signal });
    expect(calls()).toEqual(["POST /v1/batches/batch_1/cancel", "DELETE /v1/files/file-1"]);
    expect(await batches.state(job, { signal })).toEqual({ state: "failed", reason: "the job was cancelled" });
    api.setJobs({ ms: 0 });
    const quick = await submit();
    expect(await batches.state(quick, { signal })).toEqual({ state: "done" });
    await batches.cancel(quick, { signal });
  });
});

describe("a failure of a batch job", () => {
  test("of a text that is too long is of kind `input`", async () => {
    const { batches } = await benchOf({ api: { limits: { inputTokens: 20 } } });
    const job = await batches.submit(["short", "long ".repeat(100)], { signal });
    const [short, long] = await batches.collect(job, { count: 2, signal });
    expect([ProviderError.is(short), ProviderError.is(long, "input")]).toEqual([false, true]);
  });

  test("at the submission leaves no file behind", async () => {
    const { api, submit, calls } = await benchOf();
    api.fail({ match: "/batches", status: 429, body: { error: { message: "Enqueued token limit reached" } } });
    await expect(submit()).rejects.toMatchObject({ kind: "rate" });
    await eventually(() => calls().includes("DELETE /v1/files/file-1"));
  });

  test.each([{ status: 404, body: "404 page not found" }, { body: "<html>hello</html>" }, { status: 501 }])(
    "for want of a batch interface names the setting: %j",
    async (fault) => {
      const { api, submit } = await benchOf();
      api.fail({ match: "/files", ...fault });
      const words = /It seems to have no batch interface: set .*remote\.batch\.enabled to false$/;
      await expect(submit()).rejects.toMatchObject({ kind: "auth", message: expect.stringMatching(words) });
    },
  );

  test("while results are read deletes nothing, and they can be read again", async () => {
    const { api, batches, direct, submit, collect, calls } = await benchOf();
    const job = await submit();
    for (const behaviour of ["disconnect", "endless"] as const) {
      api.fail({ match: "/content", behaviour });
      await expect(collect(job)).rejects.toMatchObject({ kind: "transient" });
    }
    api.fail({ match: "/batches", behaviour: "bomb" });
    await expect(batches.state(job, { signal })).rejects.toThrow("sends more than");
    expect(calls("DELETE")).toEqual([]);
    expect(await collect(job)).toEqual(direct);
  });

  test("by a wrong key is of kind `auth` in every step", async () => {
    const { api, batches, submit, collect } = await benchOf();
    const state = (): Promise<unknown> => batches.state("batch_1", { signal });
    for (const step of [submit, state, () => batches.cancel("batch_1", { signal }), () => collect("batch_1")]) {
      api.fail({ status: 401 });
      await expect(step()).rejects.toMatchObject({ kind: "auth" });
    }
  });

  test.each(["/files", "/batches", "/content"])("by an abort during %s ends the call", async (match) => {
    const { api, batches, submit, calls } = await benchOf();
    const job = await submit();
    api.reset();
    api.fail({ match, behaviour: "hang" });
    const controller = new AbortController();
    const how = { signal: controller.signal };
    const call = match === "/content" ? batches.collect(job, { count: 4, ...how }) : batches.submit(texts, how);
    const outcome = failureOf(call);
    await eventually(() => calls(match).length > 0);
    controller.abort();
    expect(await outcome).toSatisfy(isAbort);
  });
});
