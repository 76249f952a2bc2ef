import { MemoryError } from "@memslot/core";
import plugin from "@memslot/embeddings-gemini";
import { describe, expect, test, vi } from "vitest";
import { contextOf, type GeminiSetup, openGemini } from "./support/open-gemini.ts";
import data from "./data/endpoints.json" with { type: "json" };

const env = { GEMINI_API_KEY: "key-of-env" };

describe("where requests go and with which key", () => {
  test.each(data.used as [string, GeminiSetup, string, string][])("%s", async (_name, setup, host, keySource) => {
    const { endpoint } = await openGemini(setup);
    expect(endpoint).toEqual({ host, keySource, fingerprint: expect.stringMatching(/^[0-9a-f]{32}$/) });
  });

  test.each(data.refused as [string, GeminiSetup, string][])("refused: %s", async (_name, setup, words) => {
    const error = await openGemini(setup).catch((thrown: unknown) => thrown);
    if (!MemoryError.is(error, "CONFIG")) throw error;
    expect(error.message).toMatch(new RegExp(words));
    expect(error.message).not.toMatch(/secret|sесret/);
    expect(error.cause).toBeUndefined();
  });

  test("the fingerprint changes with address, key, model and headers, and with nothing else", async () => {
    const printOf = async (setup: GeminiSetup) => (await openGemini(setup)).endpoint?.fingerprint;
    const usual = await printOf({ env });
    expect(await printOf({ env, memorySearch: { inputType: "CLUSTERING", outputDimensionality: 768 } })).toBe(usual);
    const others = await Promise.all([
      printOf({ env: { GEMINI_API_KEY: "other" } }),
      printOf({ env, memorySearch: { model: "gemini-embedding-2" } }),
      printOf({ env, memorySearch: { remote: { baseUrl: "https://proxy.example" } } }),
      printOf({ env, memorySearch: { remote: { headers: { "x-tenant": "a" } } } }),
      printOf({ env, memorySearch: { remote: { headers: { "x-tenant": "b" } } } }),
    ]);
    expect(new Set([usual, ...others]).size).toBe(6);
    expect(`${usual} ${others.join(" ")}`).not.toContain("key-of-env");
  });
});

describe("whether auto can use it", () => {
  test.each<[name: string, setup: GeminiSetup, ok: boolean, reason: string | RegExp]>([
    ...(data.available as [string, GeminiSetup, boolean, string][]),
    [
      "a key that cannot be right",
      { env: { GEMINI_API_KEY: "a b" } },
      false,
      /^the key from GEMINI_API_KEY is not valid/,
    ],
  ])("%s", async (_name, { memorySearch, ...rest }, ok, reason) => {
    const found = await plugin.available?.(contextOf({ memorySearch: { ...memorySearch, provider: "auto" }, ...rest }));
    expect(found).toEqual({ ok, reason: typeof reason === "string" ? reason : expect.stringMatching(reason) });
  });

  test("asking and opening send nothing", async () => {
    const fetch = vi.spyOn(globalThis, "fetch");
    const context = contextOf({ env });
    await plugin.available?.(context);
    await plugin.open(context);
    expect(fetch).not.toHaveBeenCalled();
    fetch.mockRestore();
  });
});
