import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type EmbeddingApi, startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { deterministicEmbeddings } from "@memslot/testkit";
import { errorOf, post } from "./embedding-api-client.ts";

let api: EmbeddingApi;
beforeEach(async () => {
  api = await startEmbeddingApi({ dimensions: 24, limits: { inputTokens: 100 } });
});
afterEach(() => api.close());

const key = { "x-goog-api-key": "any" };
const request = (text: string, more: Record<string, unknown> = {}): Record<string, unknown> => ({
  content: { parts: [{ text }] },
  ...more,
});
const ask = (verb: string, body: unknown, headers: Record<string, string> = key): Promise<Response> =>
  post(`${api.url}/v1beta/models/gem:${verb}`, body, headers);

describe("Gemini's embeddings", () => {
  test("one text, and several in order, in every version of the path", async () => {
    const model = deterministicEmbeddings({ model: "gem", dimensions: 24 });
    const [car, bill] = await Promise.all(["a car", "an invoice"].map((text) => model.embedQuery(text)));
    for (const version of ["v1", "v1beta", "v1alpha"]) {
      const one = await post(`${api.url}/${version}/models/gem:embedContent`, request("a car"), key);
      expect(await one.json()).toEqual({
        embedding: { values: Array.from(car ?? []) },
        usageMetadata: { promptTokenCount: 2 },
      });
    }
    const many = await ask("batchEmbedContents", {
      requests: [request("a car", { model: "models/gem" }), request("an invoice")],
    });
    expect(await many.json()).toEqual({
      embeddings: [{ values: Array.from(car ?? []) }, { values: Array.from(bill ?? []) }],
      usageMetadata: { promptTokenCount: 4 },
    });
    expect(api.stats()).toMatchObject({ requests: 4, embeddingRequests: 4, texts: 5, tokens: 10 });
  });

  test("a request can ask for a width, and the parts of a content are one text", async () => {
    const parts = [{ text: "a car" }, { text: "b" }];
    const answer = await ask("embedContent", { content: { parts }, outputDimensionality: 5 });
    const { embedding } = (await answer.json()) as { embedding: { values: number[] } };
    expect(embedding.values).toHaveLength(5);
    expect(api.stats()).toMatchObject({ texts: 1 });
  });

  test.each([
    ["an empty text", "embedContent", request(""), "contents is not specified"],
    ["no request", "batchEmbedContents", { requests: [] }, "requests is not specified"],
    [
      "more than 100 requests",
      "batchEmbedContents",
      { requests: Array.from({ length: 101 }, () => request("a")) },
      "at most 100 requests",
    ],
    [
      "another model in a request",
      "batchEmbedContents",
      { requests: [request("a", { model: "models/other" })] },
      "has to be models/gem",
    ],
    [
      "a text that is too long",
      "embedContent",
      request("x".repeat(401)),
      "(101) exceeds the maximum number of tokens allowed (100)",
    ],
  ])("%s is refused as INVALID_ARGUMENT", async (_, verb, body, message) => {
    const answer = await ask(verb, body);
    expect(answer.status).toBe(400);
    const error = await errorOf(answer);
    expect(error).toMatchObject({ code: 400, status: "INVALID_ARGUMENT" });
    expect(error.message).toContain(message);
  });

  test("a key is needed, as a header or in the query", async () => {
    expect((await ask("embedContent", request("a"), {})).status).toBe(401);
    expect((await ask("embedContent?key=any", request("a"), {})).status).toBe(200);
    const strict = await startEmbeddingApi({ apiKey: "right", dimensions: 4 });
    try {
      const url = `${strict.url}/v1beta/models/gem:embedContent`;
      expect((await post(url, request("a"), { "x-goog-api-key": "right" })).status).toBe(200);
      expect((await post(`${url}?key=right`, request("a"))).status).toBe(200);
      const wrong = await post(url, request("a"), { "x-goog-api-key": "wrong" });
      expect(wrong.status).toBe(401);
      expect(await errorOf(wrong)).toMatchObject({ code: 401, status: "UNAUTHENTICATED" });
    } finally {
      await strict.close();
    }
  });

  test("models are listed, and tokens counted", async () => {
    const list = await fetch(`${api.url}/v1/models`, { headers: key });
    expect(await list.json()).toMatchObject({ models: [{ name: "models/gemini-embedding-001" }] });
    const one = await fetch(`${api.url}/v1beta/models/gem`, { headers: key });
    expect(await one.json()).toMatchObject({ name: "models/gem" });
    const count = await ask("countTokens", { contents: [{ parts: [{ text: "12345" }] }] });
    expect(await count.json()).toEqual({ totalTokens: 2 });
  });

  test("an unknown path is answered with a page, an unknown verb with JSON", async () => {
    const page = await fetch(`${api.url}/v1beta/nothing`, { headers: key });
    expect(page.status).toBe(404);
    expect(page.headers.get("content-type")).toContain("text/html");
    const verb = await ask("embedAll", {});
    expect(verb.status).toBe(404);
    expect((await errorOf(verb)).status).toBe("NOT_FOUND");
  });
});

describe("Gemini's files", () => {
  const upload = async (file: Record<string, unknown>, pieces: readonly string[]): Promise<string> => {
    const start = await post(`${api.url}/upload/v1beta/files`, { file }, { ...key, "x-goog-upload-command": "start" });
    const url = start.headers.get("x-goog-upload-url") ?? "";
    let answer = start;
    for (const [index, body] of pieces.entries()) {
      const command = index === pieces.length - 1 ? "upload, finalize" : "upload";
      const headers = { ...key, "content-type": "application/json", "x-goog-upload-command": command };
      answer = await fetch(url, { method: "POST", headers, body });
    }
    expect(answer.headers.get("x-goog-upload-status")).toBe("final");
    return ((await answer.json()) as { file: { name: string } }).file.name;
  };

  test("an upload in pieces can be looked up, downloaded and deleted", async () => {
    const name = await upload({ displayName: "mine" }, ["first ", "second"]);
    const file = (await (await fetch(`${api.url}/v1beta/${name}`, { headers: key })).json()) as unknown;
    expect(file).toMatchObject({ name, displayName: "mine", sizeBytes: "12", state: "ACTIVE" });
    for (const address of [`download/v1beta/${name}:download?alt=media`, `v1/${name}:download?alt=media`])
      expect(await (await fetch(`${api.url}/${address}`, { headers: key })).text()).toBe("first second");
    expect((await fetch(`${api.url}/v1beta/${name}`, { method: "DELETE", headers: key })).status).toBe(200);
    expect((await fetch(`${api.url}/v1beta/${name}`, { headers: key })).status).toBe(403);
  });

  test("a session that is over takes nothing more", async () => {
    await upload({}, ["x"]);
    const answer = await fetch(`${api.url}/upload/v1beta/files?upload_id=1`, {
      method: "POST",
      headers: { ...key, "x-goog-upload-command": "upload" },
      body: "y",
    });
    expect(answer.status).toBe(404);
  });
});
