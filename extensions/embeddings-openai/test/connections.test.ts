import { createServer, type Server } from "node:http";
import { createServer as createPlainServer, type AddressInfo } from "node:net";
import { ProviderError, isAbort } from "@memslot/core";
import { startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { eventually } from "@memslot/test-tools/wait";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { open, openOnApi, stubFarEnd, thrownBy } from "./support/open.ts";
import cases from "./data/cases.json" with { type: "json" };

afterEach(() => vi.unstubAllGlobals());

async function listening(server: Server | ReturnType<typeof createPlainServer>): Promise<string> {
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function failureAt(baseUrl: string): Promise<Error> {
  const provider = await open({ memorySearch: { model: "some-model", remote: { baseUrl, apiKey: "sk-hidden-key" } } });
  const error = await thrownBy(provider.embedQuery("a question"));
  expect(ProviderError.is(error, "transient")).toBe(true);
  expect(String((error as Error).stack)).not.toContain("hidden");
  return error as Error;
}

describe("a server that does not answer", () => {
  test("is not running", async () => {
    const api = await startEmbeddingApi();
    await api.close();
    const error = await failureAt(`${api.url}/v1`);
    expect(error.message).toBe(`cannot reach ${api.url} (ECONNREFUSED): is the server running?`);
  });

  test("has a name that nobody has", async () => {
    const error = await failureAt("http://no-such-host.invalid:8080/v1");
    expect(error.message).toMatch(/^cannot reach http:\/\/no-such-host\.invalid:8080 \((?:ENOTFOUND|EAI_AGAIN)\): /);
  });

  test("does not speak HTTP", async () => {
    const host = await listening(createPlainServer((socket) => socket.end("SSH-2.0-OpenSSH_9.9\r\n")));
    expect((await failureAt(`http://${host}/v1`)).message).toMatch(/: it does not speak HTTP; is https:\/\/ meant\?$/);
  });

  test("does not speak TLS", async () => {
    const host = await listening(createServer((_, response) => response.end()));
    expect((await failureAt(`https://${host}/v1`)).message).toMatch(/\(ERR_SSL_\w+\): it does not speak TLS/);
  });

  test("ends the connection at once", async () => {
    const host = await listening(createPlainServer((socket) => socket.destroy()));
    expect((await failureAt(`http://${host}/v1`)).message).toMatch(/the connection ended before the answer/);
  });

  test("ends the connection half-way", async () => {
    const { api, provider } = await openOnApi();
    api.fail({ behaviour: "disconnect" });
    const error = await thrownBy(provider.embedBatch(["a note"]));
    expect(ProviderError.is(error, "transient")).toBe(true);
    expect((error as Error).message).toMatch(/the connection ended before the answer was complete/);
    expect(await provider.embedBatch(["a note"])).toHaveLength(1);
  });

  test("ends its answer too early", async () => {
    const { api, provider } = await openOnApi();
    api.fail({ body: '{"data": [', headers: { "content-type": "application/json" } });
    const error = await thrownBy(provider.embedBatch(["a note"]));
    expect(ProviderError.is(error, "transient")).toBe(true);
    expect((error as Error).message).toMatch(/incomplete or not JSON/);
  });
});

test.each(cases.systemErrors as [string, string][])(
  "what the system calls %s is said in words",
  async (code, words) => {
    stubFarEnd(() => {
      // As `fetch` of Node says it.
      const cause = Object.assign(new Error(`the words of ${code}`), { code });
      throw new TypeError("fetch failed", { cause });
    });
    expect((await failureAt("https://far.example.com/v1")).message).toMatch(new RegExp(words, "u"));
  },
);

describe("a call that is aborted", () => {
  test.each(["hang", "drip"] as const)("ends at once with the reason of the abort: %s", async (behaviour) => {
    const { api, provider } = await openOnApi();
    for (const reason of [undefined, new Error("too late")]) {
      api.reset();
      api.fail({ behaviour });
      const controller = new AbortController();
      const call = thrownBy(provider.embedBatch(["a note"], { signal: controller.signal }));
      await eventually(() => api.log.length === 1);
      controller.abort(reason);
      const error = await call;
      if (reason === undefined) expect(isAbort(error)).toBe(true);
      else expect(error).toBe(reason);
    }
    expect(await provider.embedBatch(["a note"])).toHaveLength(1);
  });

  test("before it began sends nothing", async () => {
    const { api, provider } = await openOnApi();
    expect(isAbort(await thrownBy(provider.embedQuery("text", { signal: AbortSignal.abort() })))).toBe(true);
    expect(api.log).toEqual([]);
  });
});

describe("a redirect", () => {
  test("is not followed: neither notes nor keys go to another host", async () => {
    const other = await startEmbeddingApi();
    onTestFinished(() => other.close());
    const { api, provider } = await openOnApi({ remote: { apiKey: "sk-hidden-key" } });
    for (const status of [301, 302, 303, 307, 308]) {
      api.fail({ status, body: "", headers: { location: `${other.url}/v1/embeddings?next=1` } });
      const error = await thrownBy(provider.embedBatch(["a note"]));
      expect(ProviderError.is(error, "auth")).toBe(true);
      expect((error as Error).message).toContain(
        `with a redirect to ${other.url}/v1/embeddings, and redirects are not followed`,
      );
      expect((error as Error).message).toMatch(new RegExp(`set remote.baseUrl to ${other.url}/v1$`));
    }
    expect(other.log).toEqual([]);
    expect(api.log).toHaveLength(5);
  });
});

describe("an answer that is larger than what was asked for", () => {
  test.each([["bomb"], ["endless"]] as const)("%s is not read to its end, and says so", async (behaviour) => {
    const { api, provider } = await openOnApi();
    api.fail({ times: 2, behaviour });
    for (const call of [provider.embedQuery("text"), provider.embedBatch(["a note", "another"])]) {
      const error = await thrownBy(call);
      expect(ProviderError.is(error, "transient")).toBe(true);
      expect(error).toMatchObject({ hasCost: true, message: expect.stringMatching(/sends more than \d\.\d MB/) });
    }
    expect(await provider.embedBatch(["a note"])).toHaveLength(1);
  });

  test("is refused where its length is announced, and a large refusal is cut off too", async () => {
    const { api, provider } = await openOnApi();
    api.fail({ body: "x".repeat(3_000_000) });
    expect(String(await thrownBy(provider.embedQuery("text")))).toContain("sends more than");
    api.fail({ status: 500, body: { error: { message: "x".repeat(3_000_000) } } });
    expect(ProviderError.is(await thrownBy(provider.embedQuery("text")), "transient")).toBe(true);
  });

  test("of the batch interface is not read either", async () => {
    const remote = { batch: { enabled: true } };
    const { api, provider } = await openOnApi({ api: { jobMs: 0 }, remote });
    const { signal } = new AbortController();
    const job = (await provider.batches?.submit(["one"], { signal })) ?? "";
    api.fail({ match: "/content", behaviour: "endless" });
    expect(String(await thrownBy(provider.batches?.collect(job, { count: 1 }) ?? Promise.resolve()))).toContain(
      "sends more than",
    );
    api.fail({ match: "/batches", behaviour: "bomb" });
    expect(String(await thrownBy(provider.batches?.state(job, { signal }) ?? Promise.resolve()))).toContain(
      "sends more than",
    );
  });
});
