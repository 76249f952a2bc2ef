import { readFileSync } from "node:fs";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { isAbort } from "@memslot/core";
import plugin from "@memslot/rerank-local";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { contextFor, open, tinyReranker } from "./support/open.ts";
import data from "./data/rerank-local.json" with { type: "json" };

/** In the place of node-llama-cpp, in a process that is a real one. */
const llama = new URL("support/fake-llama.mjs", import.meta.url).href;
const signal = new AbortController().signal;
const texts = ["the cat sleeps", "the backup runs at night"];

test.each([
  ["no model", undefined, "CONFIG", /query\.rerank\.modelPath is not set/],
  ["an invalid address", "hf:user", "CONFIG", /query\.rerank\.modelPath is "hf:user"/],
  ["a missing file", "/nowhere/m.gguf", "UNAVAILABLE", /\/nowhere\/m\.gguf cannot be used: it does not exist/],
  ["a text", llama.slice("file://".length), "UNAVAILABLE", /cannot be used: it is not a GGUF file; set .*modelPath/],
])("opening is refused for %s", async (_, modelPath, code, words) => {
  const opening = plugin.open(contextFor(modelPath));
  await expect(opening).rejects.toMatchObject({ code, message: expect.stringMatching(words) });
});

test("opening starts nothing, and states model, host and limit", async () => {
  expect(await open(tinyReranker(), { llama: "file:///nowhere.mjs" })).toMatchObject(data.reranker);
});

describe("a model in a process of its own", () => {
  test("scores texts by the query, cut to what it takes", async () => {
    const reranker = await open(tinyReranker(), { llama });
    expect(await reranker.rerank("backup night", texts, { signal })).toEqual([0, 1]);
    const long = `${"filler ".repeat(500)}backup`;
    expect(await reranker.rerank("backup night", [long, "night", ""], { signal })).toEqual([0, 0.5, 0]);
    expect(await reranker.rerank("cat ".repeat(500), ["cat"], { signal })).toEqual([1]);
    expect(await reranker.rerank("cat", [], { signal })).toEqual([]);
  });

  test("an abort ends a call that hangs", async () => {
    const reranker = await open(tinyReranker(), { llama });
    await reranker.warm?.();
    const controller = new AbortController();
    const call = reranker.rerank("hang", texts, { signal: controller.signal });
    controller.abort();
    await expect(call).rejects.toSatisfy(isAbort);
  });

  test("that crashes takes nothing with it, and is started again", async () => {
    const reranker = await open(tinyReranker(), { llama });
    const failed = reranker.rerank("crash", texts, { signal });
    await expect(failed).rejects.toMatchObject({ kind: "transient", message: expect.stringContaining("SIGABRT") });
    expect(await reranker.rerank("cat", texts, { signal })).toEqual([1, 0]);
  });

  test("answers nothing after close", async () => {
    const reranker = await open(tinyReranker(), { llama });
    await reranker.rerank("cat", texts, { signal });
    for (let time = 0; time < 2; time++) await reranker.close?.();
    await expect(reranker.rerank("cat", texts, { signal })).rejects.toMatchObject({ code: "CLOSED" });
  });
});

describe("a model that has to be fetched", () => {
  async function serve(answer: (server: Server) => Parameters<typeof createServer>[1]): Promise<string> {
    const server: Server = createServer();
    server.on("request", answer(server) as (...args: unknown[]) => void);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/tiny.gguf`;
  }

  test("is downloaded in the background, and searches report it without waiting", async () => {
    const bytes = readFileSync(tinyReranker());
    const gate = Promise.withResolvers<void>();
    const url = await serve(() => async (_, response) => {
      await gate.promise;
      response.writeHead(200, { "content-length": bytes.length }).end(bytes);
    });
    const reranker = await open(url, { llama });
    for (let time = 0; time < 2; time++)
      await expect(reranker.rerank("cat", texts, { signal })).rejects.toThrow(
        /its model tiny\.gguf is being downloaded/,
      );
    gate.resolve();
    await vi.waitFor(async () => expect(await reranker.rerank("cat", texts, { signal })).toEqual([1, 0]), 50_000);
  });

  test("and fails is reported with the reason", async () => {
    const url = await serve(() => (_, response) => void response.writeHead(404).end());
    const reranker = await open(url, { llama });
    await vi.waitFor(
      async () => await expect(reranker.rerank("cat", texts, { signal })).rejects.toThrow(/404/),
      50_000,
    );
  });
});
