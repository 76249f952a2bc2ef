import { execFileSync } from "node:child_process";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { EmbeddingError, httpEmbeddingError } from "@memslot/core";
import { embeddingErrorOf } from "@memslot/core/host";
import {
  answerLines,
  checkKey,
  childEnvironment,
  limitAnswer,
  modelPrefixes,
  networkFailure,
  networkVariables,
  readBaseUrl,
  readHeaders,
  request,
  smallAnswerBytes,
  vectorAnswerBytes,
} from "@memslot/core/providers";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { rejected, stopClock } from "./support/fakes.ts";
import data from "./data/providers.json" with { type: "json" };

/** What a call complains about; empty where it does not. */
function said(run: () => void): string {
  try {
    run();
  } catch (error) {
    return String(error);
  }
  return "";
}

/** A body without an end, that counts what was taken of it. */
function endless(part: Uint8Array): { body: ReadableStream<Uint8Array>; given: () => number; isClosed: () => boolean } {
  let given = 0;
  let isClosed = false;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        given += part.length;
        controller.enqueue(part);
      },
      cancel: () => void (isClosed = true),
    },
    { highWaterMark: 0 },
  );
  return { body, given: () => given, isClosed: () => isClosed };
}

describe("a request", () => {
  afterEach(() => void vi.unstubAllEnvs());
  beforeEach(() => {
    for (const name of [...networkVariables, "NODE_USE_ENV_PROXY"]) vi.stubEnv(name, "");
  });

  async function listening(server: Server): Promise<number> {
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close().closeAllConnections());
    return (server.address() as AddressInfo).port;
  }

  /** A server that says what it got, and a proxy that leads every name to it. */
  async function startWorld(): Promise<{ port: number; proxy: string; asked: string[] }> {
    const server = createServer(async (message, response) => {
      let body = "";
      for await (const part of message) body += String(part);
      response.end(`${message.method} ${message.url} ${message.headers["content-type"] ?? ""} ${body}`);
    });
    const port = await listening(server);
    const asked: string[] = [];
    const proxy = createServer();
    proxy.on("connect", (message, socket: Socket) => {
      asked.push(message.url ?? "");
      const far = connect(port, "127.0.0.1", () => socket.write("HTTP/1.1 200 Connection established\r\n\r\n"));
      far.pipe(socket).pipe(far);
      for (const end of [far, socket]) end.on("error", () => end.destroy());
    });
    return { port, proxy: `127.0.0.1:${await listening(proxy)}`, asked };
  }

  test.each(data.proxies as [Record<string, string>, string, number][])(
    "with %j to %s goes to the proxy %i times",
    async (env, address, times) => {
      const { port, proxy, asked } = await startWorld();
      for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value.replace("PROXY", proxy));
      const url = address.replace("PORT", String(port));
      const form = new FormData();
      form.set("a", "b");
      for (const [body, seen] of [
        ["text", /^POST \/x \S* ?text/],
        [form, /^POST \/x multipart\/form-data; boundary=.*name="a"/s],
      ] as const)
        expect(await (await request(url, { method: "POST", body })).text()).toMatch(seen);
      expect([...new Set(asked)]).toEqual(times === 0 ? [] : [`${new URL(url).hostname}:80`]);
    },
  );

  test.each(data.notProxied as [string, string][])(
    "that NO_PROXY=%s excludes goes to %s without the proxy",
    async (list, url) => {
      vi.stubEnv("HTTP_PROXY", "http://127.0.0.1:1");
      vi.stubEnv("no_proxy", list);
      vi.stubGlobal("fetch", async (to: URL, { redirect }: RequestInit) => new Response(`${to.href} ${redirect}`));
      onTestFinished(() => void vi.unstubAllGlobals());
      expect(await (await request(url)).text()).toBe(`${url} manual`);
    },
  );

  test("that fails names the proxy without its password, and what stands in its way", async () => {
    vi.stubEnv("HTTPS_PROXY", "http://me:hidden@127.0.0.1:1");
    const url = "https://far.example/v1";
    const refused = networkFailure(await rejected(request(url)), { url });
    expect(refused).toMatchObject({ kind: "transient" });
    expect(refused.message).toBe(
      "cannot reach https://far.example through the proxy 127.0.0.1:1 (HTTPS_PROXY) (ECONNREFUSED): is the server running?",
    );
    const port = await listening(
      createServer().on("connect", (_, socket: Socket) => void socket.end("HTTP/1.1 407 No\r\n\r\n")),
    );
    vi.stubEnv("HTTPS_PROXY", `http://127.0.0.1:${port}`);
    expect(networkFailure(await rejected(request(url)), { url }).message).toContain("wants a name and a password");
    vi.stubEnv("HTTPS_PROXY", "socks://127.0.0.1:1");
    expect(String(await rejected(request(url)))).toContain("HTTPS_PROXY is not a proxy address");
  });
});

describe("an answer that is too long", () => {
  test.each([1000, 65_536])("is read to the limit and by no more than some parts of %i bytes beyond", async (size) => {
    const { body, given, isClosed } = endless(new Uint8Array(size));
    const answer = await limitAnswer(new Response(body), { who: "box:80", limitBytes: 1_000_000 });
    const error = await rejected(answer.text());
    expect(EmbeddingError.is(error, "transient")).toBe(true);
    expect(error).toMatchObject({ hasCost: true, message: expect.stringMatching(/^box:80 sends more than 1\.0 MB/) });
    expect(given()).toBeGreaterThan(1_000_000);
    expect(given()).toBeLessThanOrEqual(1_000_000 + 4 * size);
    expect(isClosed()).toBe(true);
  });

  test("by what it announces is not read at all", async () => {
    const { body, given, isClosed } = endless(new Uint8Array(10));
    const response = new Response(body, { headers: { "content-length": "1000001" } });
    const error = await rejected(limitAnswer(response, { who: "box", limitBytes: 1_000_000 }));
    expect(EmbeddingError.is(error, "transient")).toBe(true);
    expect([given(), isClosed()]).toEqual([0, true]);
  });

  test("because a line of it has no end is not read on", async () => {
    const { body, given } = endless(new TextEncoder().encode("x".repeat(10_000)));
    const lines = answerLines(body, { who: "box", dimensions: 8 });
    expect(EmbeddingError.is(await rejected(lines.next()), "transient")).toBe(true);
    expect(given()).toBeLessThan(2 * smallAnswerBytes);
  });
});

test("an answer within the limit comes as it is, status and headers too", async () => {
  const response = new Response("words", { status: 429, headers: { "retry-after": "3", "content-length": "5" } });
  const answer = await limitAnswer(response, { who: "box", limitBytes: 5 });
  expect([answer.status, answer.headers.get("retry-after"), await answer.text()]).toEqual([429, "3", "words"]);
  expect((await limitAnswer(new Response(null, { status: 204 }), { who: "box", limitBytes: 0 })).status).toBe(204);
});

test("there is room for every vector that was asked for, with all its digits", () => {
  const vector = Array.from({ length: 3072 }, (_, index) => -Math.PI / (index + 1) / 1e9);
  const data = Array.from({ length: 100 }, (_, index) => ({ object: "embedding", index, embedding: vector }));
  const bytes = JSON.stringify({ data }, undefined, 1).length;
  expect(vectorAnswerBytes({ texts: 100, dimensions: 3072 })).toBeGreaterThan(bytes);
  expect(vectorAnswerBytes({ texts: 1, dimensions: undefined })).toBeLessThan(2 * smallAnswerBytes);
});

test("the lines of a file are whole, wherever the network cuts them", async () => {
  const bytes = new TextEncoder().encode('{"a":"🙂"}\n{"b":"ü"}\n\n{"c":1}');
  for (const size of [1, 2, 3, 7, bytes.length]) {
    const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
      bytes.slice(index * size, (index + 1) * size),
    );
    const lines: string[] = [];
    const about = { who: "box", dimensions: 2 };
    for await (const line of answerLines(ReadableStream.from(parts), about)) lines.push(line);
    expect(lines).toEqual(['{"a":"🙂"}', '{"b":"ü"}', '{"c":1}']);
  }
});

describe("a key", () => {
  test.each(data.wrongKeys as [string, string][])("as %j is not valid, and is not shown", (value, problem) => {
    const message = said(() => checkKey({ value, source: "OPENAI_API_KEY" }));
    expect(message).toContain(`the key from OPENAI_API_KEY is not valid: it`);
    expect(message).toContain(problem);
    expect(message).not.toContain("4711");
  });

  test.each(["sk-proj-a_B-1", "none", "AIza$1x", "dGVzdA=="])("as %s may be one", (value) => {
    expect(said(() => checkKey({ value, source: "x" }))).toBe("");
  });
});

test.each(data.refusedUrls as [string, string][])("the base URL %s is refused", (written, problem) => {
  const message = said(() => readBaseUrl(written, "remote.baseUrl", { "api.vendor.example": "Vendor" }));
  expect(message).toContain(`remote.baseUrl ${problem}`);
  expect(message).not.toContain("4711");
});

test("a header that cannot be sent is named without its value", () => {
  for (const [name, value] of data.wrongHeaders as [string, string][]) {
    const message = said(() => readHeaders({ [name]: value }));
    expect(message).toContain(`${JSON.stringify(name)} cannot be sent`);
    expect(message).not.toContain("4711");
  }
  expect(readHeaders({ "X-Team": "a" })).toEqual({ "x-team": "a" });
});

describe("what an HTTP answer means", () => {
  test.each(data.answers as [number, string, string | null, string][])(
    "%d %s (%s) is %s",
    (status, message, code, kind) => {
      expect(httpEmbeddingError({ provider: "openai", status, message, code: code ?? undefined }).kind).toBe(kind);
    },
  );

  test("the message names provider, status, code and words; a page of HTML becomes one line", () => {
    const error = httpEmbeddingError({
      provider: "openai",
      status: 502,
      message: `<html><style>p { color: red }</style><h1>Bad   Gateway</h1>\n${"nginx ".repeat(200)}</html>`,
      code: "bad_gateway",
    });
    expect(error.message).toMatch(/^openai answered 502 bad_gateway: Bad Gateway nginx/);
    expect(error.message).not.toMatch(/[<>\n]|color/);
    expect(error.message.length).toBeLessThan(360);
  });

  test.each([
    [{ "retry-after": "60" }, 60_000],
    [{ "retry-after-ms": "1500", "retry-after": "60" }, 1500],
    [{ "retry-after": "0" }, 0],
    [{ "retry-after": "Thu, 01 Jan 2026 12:00:30 GMT" }, 30_000],
    [{ "retry-after": "soon" }, undefined],
    [{}, undefined],
  ])("Retry-After in %o is %s ms, at noon of that day", (headers, expected) => {
    stopClock();
    const error = httpEmbeddingError({ provider: "x", status: 429, message: "", headers: new Headers(headers) });
    expect(error.retryAfterMs).toBe(expected);
  });
});

describe("what a provider threw", () => {
  test("keeps its kind, also from another copy of the class", () => {
    const own = new EmbeddingError("quota", "empty", { retryAfterMs: 5 });
    expect(embeddingErrorOf(own, "x")).toBe(own);
    const other = Object.assign(new Error("empty"), {
      kind: "quota",
      [Symbol.for("memslot.EmbeddingError")]: true,
    });
    expect(EmbeddingError.is(other, "quota")).toBe(true);
    expect(EmbeddingError.is(other, "auth")).toBe(false);
  });

  test("an error with a status is read as an answer, any other is transient", () => {
    expect(embeddingErrorOf(Object.assign(new Error("no"), { status: 401 }), "mine").kind).toBe("auth");
    expect(embeddingErrorOf(new TypeError("fetch failed"), "mine")).toMatchObject(data.fetchFailed);
    for (const odd of [undefined, null, "text", 7, {}]) expect(embeddingErrorOf(odd, "mine").kind).toBe("transient");
  });
});

describe("the prefixes of a model", () => {
  test.each(data.prefixes as [string, string, string, string][])("%s: %s", (key, model, query, document) => {
    expect(modelPrefixes(model)).toEqual({ key, query, document });
  });

  test.each([
    ["intfloat/multilingual-e5-large-instruct", "e5-instruct", /^Instruct: [^\n]+\nQuery: $/],
    ["e5-mistral-7b-instruct-Q4_K_M.gguf", "e5-instruct", /^Instruct: [^\n]+\nQuery: $/],
    ["qwen3-embedding:0.6b", "qwen3", /^Instruct: [^\n]+\nQuery:$/],
    ["Qwen/Qwen3-Embedding-8B", "qwen3", /^Instruct: [^\n]+\nQuery:$/],
    ["hf:Qwen/Qwen3-Embedding-0.6B-GGUF/x.gguf", "qwen3", /^Instruct: [^\n]+\nQuery:$/],
  ])("%s: an instruction for queries, with the space of the model %s", (model, key, query) => {
    expect(modelPrefixes(model)).toEqual({ key, query: expect.stringMatching(query), document: "" });
  });

  test.each(data.plain)('"%s" takes texts as they are', (model) => {
    expect(modelPrefixes(model)).toBeUndefined();
  });
});

const secrets = data.planted;

describe("the environment of a child", () => {
  test("has what a program needs to run, and none of the keys of its person", () => {
    const harmless = { LC_ALL: "C.UTF-8", TMPDIR: "/tmp" };
    const environment = { ...process.env, ...secrets, ...harmless, HTTPS_PROXY: "http://proxy:1" };
    const script = "process.stdout.write(JSON.stringify(process.env))";
    const output = execFileSync(process.execPath, ["-e", script], { env: childEnvironment(environment) });
    const printed = JSON.parse(output.toString()) as Record<string, string>;
    expect(printed).toMatchObject({ PATH: process.env["PATH"], LC_ALL: "C.UTF-8", TMPDIR: "/tmp" });
    expect(JSON.stringify(printed)).not.toMatch(/planted|no-warnings|proxy/);
  });

  test("has what is asked for besides, by name or by its beginning", () => {
    const environment = { ...secrets, HTTPS_PROXY: "http://proxy:1", npm_config_registry: "r", npm_con: "x" };
    expect(childEnvironment(environment, [...networkVariables, "npm_config_*", "GITHUB_TOKEN"])).toEqual(data.passedOn);
    expect(childEnvironment({ HOME: undefined })).toEqual({});
  });
});
