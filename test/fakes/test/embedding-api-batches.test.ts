import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type EmbeddingApi, startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { embed, post } from "./embedding-api-client.ts";

let api: EmbeddingApi;
beforeEach(async () => {
  api = await startEmbeddingApi({ dimensions: 8, jobMs: 0 });
});
afterEach(() => api.close());

const texts = ["car", "invoice", "holiday", "backup", "doctor", "rent", "salary"];
const json = async <T>(answer: Promise<Response>): Promise<T> => (await answer).json() as Promise<T>;
const lines = (text: string): unknown[] => text.split("\n").filter(Boolean).map(parse);
const parse = (line: string): unknown => JSON.parse(line) as unknown;

interface OpenaiBatch {
  id: string;
  status: string;
  output_file_id: string | null;
  error_file_id: string | null;
  errors: { data: unknown[] } | null;
  request_counts: { total: number; completed: number; failed: number };
}

describe("OpenAI's batches", () => {
  async function submit(): Promise<OpenaiBatch> {
    const input = texts.map((text, index) => ({
      custom_id: `t${index}`,
      method: "POST",
      url: "/v1/embeddings",
      body: { model: "m", input: text },
    }));
    const form = new FormData();
    form.set("purpose", "batch");
    form.set("file", new Blob([input.map((line) => `${JSON.stringify(line)}\n`).join("")]), "in.jsonl");
    const file = await json<{ id: string }>(fetch(`${api.url}/v1/files`, { method: "POST", body: form }));
    return json(
      post(`${api.url}/v1/batches`, {
        input_file_id: file.id,
        endpoint: "/v1/embeddings",
        completion_window: "24h",
      }),
    );
  }
  const get = (id: string): Promise<OpenaiBatch> => json(fetch(`${api.url}/v1/batches/${id}`));
  const download = async (id: string | null): Promise<unknown[]> =>
    lines(await (await fetch(`${api.url}/v1/files/${id}/content`)).text());
  const ids = (results: unknown[]): unknown[] => results.map((result) => (result as { custom_id: string }).custom_id);

  test("a job is worked on, then its results can be read, in another order", async () => {
    api.setJobs({ ms: 60_000 });
    const slow = await submit();
    expect(slow.status).toBe("validating");
    expect(await get(slow.id)).toMatchObject({ status: "in_progress", output_file_id: null });
    api.setJobs({ ms: 50 });
    const { id } = await submit();
    await expect.poll(async () => (await get(id)).status, { timeout: 5000 }).toBe("completed");
    const batch = await get(id);
    expect(batch).toMatchObject({
      error_file_id: null,
      request_counts: { total: texts.length, completed: texts.length, failed: 0 },
    });
    const results = await download(batch.output_file_id);
    expect(ids(results)).toEqual(texts.map((_, index) => `t${index}`).toReversed());
    const direct = await embed(api, ["car"]);
    expect(results.at(-1)).toMatchObject({
      custom_id: "t0",
      error: null,
      response: { status_code: 200, body: { data: direct.data } },
    });
  });

  test("a job that goes well in part has an error file with every third text", async () => {
    api.setJobs({ outcome: "partial" });
    const batch = await get((await submit()).id);
    expect(batch).toMatchObject({ status: "completed", request_counts: { completed: 5, failed: 2 } });
    expect(ids(await download(batch.error_file_id)).toSorted()).toEqual(["t2", "t5"]);
    expect(await download(batch.error_file_id)).toMatchObject([{ response: { status_code: 500 } }, {}]);
    expect(ids(await download(batch.output_file_id)).toSorted()).toEqual(["t0", "t1", "t3", "t4", "t6"]);
  });

  test("an expired job has what was done until then", async () => {
    api.setJobs({ outcome: "expired" });
    const batch = await get((await submit()).id);
    expect(batch.status).toBe("expired");
    expect(ids(await download(batch.output_file_id)).toSorted()).toEqual(["t0", "t1", "t2", "t3"]);
    expect(await download(batch.error_file_id)).toMatchObject(
      ["t6", "t5", "t4"].map((custom_id) => ({ custom_id, response: null, error: { code: "batch_expired" } })),
    );
  });

  test("a failed job says why and has no files", async () => {
    api.setJobs({ outcome: "failed" });
    const batch = await get((await submit()).id);
    expect(batch).toMatchObject({ status: "failed", output_file_id: null, error_file_id: null });
    expect(batch.errors?.data).toHaveLength(1);
  });

  test("a job can be cancelled while it runs, and not when it is over", async () => {
    api.setJobs({ ms: 60_000 });
    const { id } = await submit();
    expect(await json(post(`${api.url}/v1/batches/${id}/cancel`, {}))).toMatchObject({ status: "cancelling" });
    expect((await get(id)).status).toBe("cancelled");
    api.setJobs({});
    const other = await submit();
    expect((await post(`${api.url}/v1/batches/${other.id}/cancel`, {})).status).toBe(409);
  });

  test("jobs outlive a reset, are listed, and an unknown one is not found", async () => {
    const { id } = await submit();
    api.reset();
    expect(await json(fetch(`${api.url}/v1/batches`))).toMatchObject({ data: [{ id, status: "completed" }] });
    expect((await fetch(`${api.url}/v1/batches/batch_other`)).status).toBe(404);
    expect(api.stats()).toMatchObject({ texts: texts.length, embeddingRequests: 0 });
  });

  test("files are listed and deleted", async () => {
    await submit();
    const { data } = await json<{ data: { id: string }[] }>(fetch(`${api.url}/v1/files`));
    expect(data).toMatchObject([{ filename: "in.jsonl", purpose: "batch" }]);
    const { id = "" } = data[0] ?? {};
    expect(await json(fetch(`${api.url}/v1/files/${id}`, { method: "DELETE" }))).toMatchObject({ deleted: true });
    expect((await fetch(`${api.url}/v1/files/${id}`)).status).toBe(404);
  });

  test("a job is refused without a file for batches, the right endpoint and the right window", async () => {
    const upload = async (purpose: string): Promise<string> => {
      const form = new FormData();
      form.set("purpose", purpose);
      form.set("file", new Blob(["{}"]), "in.jsonl");
      const file = await json<{ id: string }>(fetch(`${api.url}/v1/files`, { method: "POST", body: form }));
      return file.id;
    };
    const right = { input_file_id: await upload("batch"), endpoint: "/v1/embeddings", completion_window: "24h" };
    const status = async (wrong: Record<string, string>): Promise<number> =>
      (await post(`${api.url}/v1/batches`, { ...right, ...wrong })).status;
    expect(await status({})).toBe(200);
    expect(await status({ input_file_id: "file-none" })).toBe(400);
    expect(await status({ input_file_id: await upload("user_data") })).toBe(400);
    expect(await status({ endpoint: "/v1/responses" })).toBe(400);
    expect(await status({ completion_window: "48h" })).toBe(400);
  });

  test("an upload without a file or a purpose is refused", async () => {
    const noFile = new FormData();
    noFile.set("purpose", "batch");
    const noPurpose = new FormData();
    noPurpose.set("file", new Blob(["{}"]), "in.jsonl");
    for (const body of [noFile, noPurpose])
      expect((await fetch(`${api.url}/v1/files`, { method: "POST", body })).status).toBe(400);
    expect((await post(`${api.url}/v1/files`, { purpose: "batch" })).status).toBe(400);
  });
});

interface Operation {
  name: string;
  done?: boolean;
  error?: { message: string };
  metadata: { state: string; output?: { inlinedResponses?: { inlinedResponses: unknown[] }; responsesFile?: string } };
}

describe("Gemini's batches", () => {
  const key = { "x-goog-api-key": "any" };
  const requests = texts.map((text, index) => ({
    request: { content: { parts: [{ text }] } },
    metadata: { key: `t${index}` },
  }));
  const submit = (inputConfig: unknown = { requests: { requests } }): Promise<Operation> =>
    json(
      post(`${api.url}/v1beta/models/gem:asyncBatchEmbedContent`, { batch: { displayName: "d", inputConfig } }, key),
    );
  const get = (name: string): Promise<Operation> => json(fetch(`${api.url}/v1beta/${name}`, { headers: key }));

  test("a job of inlined requests gives its results in order", async () => {
    api.setJobs({ ms: 60_000 });
    const slow = await submit();
    expect(slow.metadata.state).toBe("BATCH_STATE_PENDING");
    expect((await get(slow.name)).metadata.state).toBe("BATCH_STATE_RUNNING");
    api.setJobs({ ms: 50 });
    const { name } = await submit();
    await expect.poll(async () => (await get(name)).done, { timeout: 5000 }).toBe(true);
    const { metadata: end } = await get(name);
    expect(end.state).toBe("BATCH_STATE_SUCCEEDED");
    const direct = await json<object>(post(`${api.url}/v1beta/models/gem:embedContent`, requests[0]?.request, key));
    const results = end.output?.inlinedResponses?.inlinedResponses ?? [];
    expect(results).toHaveLength(texts.length);
    expect(results[0]).toEqual({ metadata: { key: "t0" }, response: { ...direct, tokenCount: "1" } });
  });

  test("a job of a file gives a file, keyed and in another order", async () => {
    const start = { ...key, "x-goog-upload-command": "start" };
    const session = await post(`${api.url}/upload/v1beta/files`, { file: {} }, start);
    const uploaded = await json<{ file: { name: string } }>(
      fetch(session.headers.get("x-goog-upload-url") ?? "", {
        method: "POST",
        headers: { ...key, "x-goog-upload-command": "upload, finalize" },
        body: requests.map(({ request, metadata }) => JSON.stringify({ request, key: metadata.key })).join("\n"),
      }),
    );
    const { metadata } = await get((await submit({ fileName: uploaded.file.name })).name);
    const address = `${api.url}/download/v1beta/${metadata.output?.responsesFile}:download?alt=media`;
    const results = lines(await (await fetch(address, { headers: key })).text());
    expect(results.map((result) => (result as { key: string }).key)).toEqual(
      texts.map((_, index) => `t${index}`).toReversed(),
    );
    expect(results[0]).toHaveProperty("response.embedding.values");
  });

  test.each([
    ["failed", "BATCH_STATE_FAILED"],
    ["expired", "BATCH_STATE_EXPIRED"],
  ] as const)("a job that %s has no results", async (outcome, state) => {
    api.setJobs({ outcome });
    const end = await get((await submit()).name);
    expect(end).toMatchObject({ done: true, metadata: { state } });
    expect(end.metadata.output).toBeUndefined();
    expect(end.error?.message).toContain(state);
    expect(api.stats().texts).toBe(0);
  });

  test("a job that goes well in part has an error for every third text", async () => {
    api.setJobs({ outcome: "partial" });
    const { metadata } = await get((await submit()).name);
    const results = metadata.output?.inlinedResponses?.inlinedResponses ?? [];
    const failed = results.flatMap((result, index) => (Object.hasOwn(result as object, "error") ? [index] : []));
    expect(failed).toEqual([2, 5]);
    expect(results[2]).toMatchObject({ error: { code: 13 }, metadata: { key: "t2" } });
  });

  test("a job can be cancelled, listed and deleted", async () => {
    api.setJobs({ ms: 60_000 });
    const { name } = await submit();
    await post(`${api.url}/v1beta/${name}:cancel`, {}, key);
    expect((await get(name)).metadata.state).toBe("BATCH_STATE_CANCELLED");
    expect(await json(fetch(`${api.url}/v1beta/batches`, { headers: key }))).toMatchObject({ operations: [{ name }] });
    await fetch(`${api.url}/v1beta/${name}`, { method: "DELETE", headers: key });
    expect((await fetch(`${api.url}/v1beta/${name}`, { headers: key })).status).toBe(404);
  });

  test("a job without requests is refused", async () => {
    const body = { batch: { inputConfig: { fileName: "files/none" } } };
    expect((await post(`${api.url}/v1beta/models/gem:asyncBatchEmbedContent`, body, key)).status).toBe(400);
  });
});
