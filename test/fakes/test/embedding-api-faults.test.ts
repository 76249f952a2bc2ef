import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type EmbeddingApi, startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { embed, errorOf, floatsOf, post } from "./embedding-api-client.ts";

let api: EmbeddingApi;
beforeEach(async () => {
  api = await startEmbeddingApi({ dimensions: 8 });
});
afterEach(() => api.close());

const ask = (signal?: AbortSignal): Promise<Response> =>
  fetch(`${api.url}/v1/embeddings`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "m", input: ["a", "b"] }),
    ...(signal && { signal }),
  });

describe("faults", () => {
  test("the next requests that match get status, body and headers; then all is well", async () => {
    const body = { error: { message: "slow down" } };
    api.fail({ match: "/embeddings", times: 2, status: 429, body, headers: { "retry-after": "20" } });
    expect((await fetch(`${api.url}/v1/models`)).status).toBe(200);
    for (let time = 0; time < 2; time++) {
      const answer = await ask();
      expect(answer.status).toBe(429);
      expect(answer.headers.get("retry-after")).toBe("20");
      expect(await answer.json()).toEqual(body);
    }
    expect((await ask()).status).toBe(200);
    expect(api.stats()).toMatchObject({ requests: 4, embeddingRequests: 3, texts: 2 });
  });

  test("faults go in the order in which they were added, and a reset clears them", async () => {
    api.fail({ status: 500 });
    api.fail({ status: 503 });
    api.fail({ status: 429 });
    expect([(await ask()).status, (await ask()).status]).toEqual([500, 503]);
    api.reset();
    expect((await ask()).status).toBe(200);
  });

  test("without a body the error has the form of the API that was asked", async () => {
    api.fail({ status: 429, times: 2 });
    expect(await errorOf(await ask())).toMatchObject({ type: "server_error" });
    const gemini = await post(`${api.url}/v1/models/gem:embedContent`, {}, { "x-goog-api-key": "any" });
    expect(await errorOf(gemini)).toMatchObject({ code: 429, status: "RESOURCE_EXHAUSTED" });
    api.fail({});
    expect((await ask()).status).toBe(500);
  });

  test("a body alone is sent with 200, text as it is", async () => {
    api.fail({ body: "{ not JSON" });
    const answer = await ask();
    expect(answer.status).toBe(200);
    expect(await answer.text()).toBe("{ not JSON");
  });

  test("html is the page of a proxy", async () => {
    api.fail({ behaviour: "html" });
    const answer = await ask();
    expect(answer.status).toBe(502);
    expect(answer.headers.get("content-type")).toContain("text/html");
    expect(await answer.text()).toContain("<h1>502 Bad Gateway</h1>");
  });

  test("drip sends the headers at once and the body byte by byte", async () => {
    api.fail({ behaviour: "drip", body: "ok!" });
    const answer = await ask();
    expect(answer.headers.get("content-length")).toBe("3");
    const sizes: number[] = [];
    for await (const part of answer.body ?? []) sizes.push(part.length);
    expect(sizes).toEqual([1, 1, 1]);
  });

  test("disconnect breaks off in the middle of the body", async () => {
    api.fail({ behaviour: "disconnect" });
    const answer = await ask();
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow("terminated");
    expect(api.stats().embeddingRequests).toBe(1);
  });

  test("hang gives no answer, and the client can go away", async () => {
    api.fail({ behaviour: "hang" });
    await expect(ask(AbortSignal.timeout(150))).rejects.toMatchObject({ name: "TimeoutError" });
    expect((await ask()).status).toBe(200);
  });

  test("vectors are spoiled as asked", async () => {
    const sizes = async (): Promise<number[]> => (await embed(api, ["a", "b"])).data.map((d) => d.embedding.length);
    api.fail({ behaviour: "short-count" });
    expect(await sizes()).toEqual([8]);
    api.fail({ behaviour: "other-size" });
    expect(await sizes()).toEqual([8, 4]);
    api.fail({ behaviour: "zero" });
    const zero = await embed(api, ["a", "b"]);
    expect(zero.data.map(({ embedding }) => [...embedding].every((value) => value === 0))).toEqual([true, false]);
    api.fail({ behaviour: "nan", times: 2 });
    const plain = await embed(api, ["a"]);
    expect(plain.data[0]?.embedding).toEqual(Array.from({ length: 8 }, () => null));
    const packed = await embed(api, ["a", "b"], { encoding_format: "base64" });
    expect(packed.data.map((entry) => floatsOf(entry).every(Number.isNaN))).toEqual([true, false]);
  });

  test("Gemini's vectors are spoiled too", async () => {
    api.fail({ behaviour: "short-count" });
    const requests = ["a", "b", "c"].map((text) => ({ content: { parts: [{ text }] } }));
    const answer = await post(
      `${api.url}/v1beta/models/gem:batchEmbedContents`,
      { requests },
      { "x-goog-api-key": "any" },
    );
    expect(((await answer.json()) as { embeddings: unknown[] }).embeddings).toHaveLength(2);
  });
});

describe("close", () => {
  test("ends what hangs, drips or waits", async () => {
    const slow = await startEmbeddingApi({ latencyMs: 60_000 });
    const running = [ask(), ask().then((answer) => answer.text()), fetch(`${slow.url}/v1/models`)];
    api.fail({ behaviour: "hang" });
    api.fail({ behaviour: "drip" });
    const outcomes = Promise.allSettled(running);
    await expect.poll(() => api.log.length + slow.log.length, { timeout: 5000 }).toBe(3);
    await Promise.all([api.close(), slow.close()]);
    expect((await outcomes).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    await expect(ask()).rejects.toThrow("fetch failed");
  });

  test("lets the process end", async () => {
    const script = `
      import { startEmbeddingApi } from "@memslot/fakes/embedding-api";
      const api = await startEmbeddingApi({ latencyMs: 30_000 });
      api.fail({ behaviour: "hang" });
      for (let times = 0; times < 2; times++) fetch(api.url + "/v1/models").catch(() => {});
      while (api.log.length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
      await api.close();`;
    const child = spawn(process.execPath, ["--conditions=@memslot/source", "--input-type=module", "--eval", script], {
      cwd: import.meta.dirname,
      stdio: "inherit",
      timeout: 20_000,
    });
    const [code] = (await once(child, "exit")) as [number | null];
    expect(code).toBe(0);
  });
});
