import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { MemoryError } from "@memslot/core";
import plugin from "@memslot/embeddings-gemini";
import { describe, expect, test } from "vitest";
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

  test("an address without its scheme is explained, whoever made the settings", async () => {
    const context = contextOf({ env });
    const { settings } = context;
    const opened = plugin.open({
      ...context,
      settings: { ...settings, remote: { ...settings.remote, baseUrl: "proxy.example/gemini" } },
    });
    await expect(opened).rejects.toThrow(/remote\.baseUrl has to be a whole address that begins with https:\/\//);
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
      /^the key from GEMINI_API_KEY cannot be right/,
    ],
  ])("%s", async (_name, { memorySearch, ...rest }, ok, reason) => {
    const found = await plugin.available?.(contextOf({ memorySearch: { ...memorySearch, provider: "auto" }, ...rest }));
    expect(found).toEqual({ ok, reason: typeof reason === "string" ? reason : expect.stringMatching(reason) });
  });

  test("looking and opening load no SDK and ask nobody; the first call loads the light half of it", () => {
    const script = data.lightStart.join("\n");
    const output = execFileSync(
      process.execPath,
      ["--conditions=@memslot/source", "--input-type=module", "--eval", script],
      { encoding: "utf8", cwd: join(import.meta.dirname, "..") },
    );
    expect(JSON.parse(output)).toEqual(data.lightStartResult);
  });
});
