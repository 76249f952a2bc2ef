import { type EmbeddingApi, startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";

// A fault that is not delivered would make the tests of the providers easier, not red.
let api: EmbeddingApi;
beforeAll(async () => {
  api = await startEmbeddingApi({ dimensions: 8 });
});
afterEach(() => api.reset());
afterAll(() => api.close());

type Fault = Parameters<EmbeddingApi["fail"]>[0];

const ask = (): Promise<Response> =>
  fetch(`${api.url}/v1/embeddings`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "m", input: ["a", "b"] }),
  });

test.each<[Fault, number, string | RegExp]>([
  [{ match: "/embeddings", status: 429, body: { error: "slow down" } }, 429, '{"error":"slow down"}'],
  [{ status: 503 }, 503, /"type":"server_error"/],
  [{}, 500, /"type":"server_error"/],
  [{ body: "{ not JSON" }, 200, "{ not JSON"],
  [{ behaviour: "html" }, 502, /<h1>502 Bad Gateway<\/h1>/],
  [{ behaviour: "drip", body: "ok" }, 200, "ok"],
])("%j is answered with %i", async (fault, status, text) => {
  api.fail(fault);
  const answer = await ask();
  expect(answer.status).toBe(status);
  expect(await answer.text()).toMatch(text);
  expect((await ask()).status, "once").toBe(200);
});

test.each<[Fault["behaviour"], number[], boolean]>([
  [undefined, [8, 8], true],
  ["short-count", [8], true],
  ["other-size", [8, 4], true],
  ["zero", [8, 8], false],
  ["nan", [8, 8], false],
])("vectors with the fault %s", async (behaviour, sizes, isFirstRight) => {
  if (behaviour !== undefined) api.fail({ behaviour });
  const { data } = (await (await ask()).json()) as { data: { embedding: (number | null)[] }[] };
  expect(data.map(({ embedding }) => embedding.length)).toEqual(sizes);
  expect(data[0]?.embedding.some((value) => value !== null && value !== 0)).toBe(isFirstRight);
});

test("a connection breaks in the middle of the body, and a hanging request ends with the server", async () => {
  api.fail({ behaviour: "disconnect" });
  await expect((await ask()).text()).rejects.toThrow("terminated");
  const other = await startEmbeddingApi();
  other.fail({ behaviour: "hang" });
  const hanging = fetch(`${other.url}/v1/models`).catch((error: unknown) => String(error));
  await expect.poll(() => other.log.length, { timeout: 40_000 }).toBe(1);
  await other.close();
  expect(await hanging).toContain("fetch failed");
});
