import { MemoryError } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { contextOf, type GeminiSetup, openGemini } from "./support/open-gemini.ts";

const google = "generativelanguage.googleapis.com";
const env = { GEMINI_API_KEY: "key-of-env" };

describe("where requests go and with which key", () => {
  test.each<[name: string, setup: GeminiSetup, host: string, keySource: string]>([
    ["nothing but a variable", { env }, google, "GEMINI_API_KEY"],
    ["the variable of Google as a whole", { env: { GOOGLE_API_KEY: "g" } }, google, "GOOGLE_API_KEY"],
    ["both variables", { env: { ...env, GOOGLE_API_KEY: "g" } }, google, "GEMINI_API_KEY"],
    [
      "a key of models.providers.google",
      { env, providers: { google: { apiKey: "p" } } },
      google,
      "models.providers.google.apiKey",
    ],
    [
      "a key of models.providers.gemini",
      { env, providers: { gemini: { apiKey: "p" } } },
      google,
      "models.providers.gemini.apiKey",
    ],
    [
      "a key for memory alone",
      { env, memorySearch: { remote: { apiKey: "r" } }, providers: { google: { apiKey: "p" } } },
      google,
      "remote.apiKey",
    ],
    [
      "a proxy",
      { env, memorySearch: { remote: { baseUrl: "https://proxy.example:8443/gemini/v1beta" } } },
      "proxy.example:8443",
      "GEMINI_API_KEY",
    ],
    [
      "a proxy that every use of Google has",
      { env, providers: { google: { baseUrl: "https://proxy.example" } } },
      "proxy.example",
      "GEMINI_API_KEY",
    ],
    [
      "a proxy for memory alone",
      {
        env,
        memorySearch: { remote: { baseUrl: "https://mine.example" } },
        providers: { google: { baseUrl: "https://proxy.example" } },
      },
      "mine.example",
      "GEMINI_API_KEY",
    ],
    [
      "a proxy on this machine",
      { env, memorySearch: { remote: { baseUrl: "http://localhost:4000" } } },
      "localhost:4000",
      "GEMINI_API_KEY",
    ],
    [
      "a proxy in the office with its own key",
      { env, memorySearch: { remote: { baseUrl: "http://10.0.0.7", apiKey: "r" } } },
      "10.0.0.7",
      "remote.apiKey",
    ],
    [
      "a proxy in the office with the key beside it",
      { env, providers: { google: { baseUrl: "http://10.0.0.7", apiKey: "p" } } },
      "10.0.0.7",
      "models.providers.google.apiKey",
    ],
    [
      "headers that say who asks",
      { memorySearch: { remote: { baseUrl: "https://proxy.example", headers: { Authorization: "Bearer t" } } } },
      "proxy.example",
      "remote.headers",
    ],
    [
      "auto, with an address and a key for OpenAI",
      {
        env,
        memorySearch: {
          provider: "auto",
          remote: { baseUrl: "https://api.openai.example/v1", apiKey: "sk-1", headers: { authorization: "Bearer o" } },
        },
      },
      google,
      "GEMINI_API_KEY",
    ],
  ])("%s", async (_name, setup, host, keySource) => {
    const { endpoint } = await openGemini(setup);
    expect(endpoint).toEqual({ host, keySource, fingerprint: expect.stringMatching(/^[0-9a-f]{32}$/) });
  });

  test.each<[name: string, setup: GeminiSetup, words: RegExp]>([
    [
      "no key",
      {},
      /^no Gemini key: set the environment variable GEMINI_API_KEY, or models\.providers\.google\.apiKey or agents\.defaults\.memorySearch\.remote\.apiKey$/,
    ],
    [
      "under auto, with the key of another provider",
      { memorySearch: { provider: "auto", remote: { apiKey: "sk-1" } } },
      /^no Gemini key: [^]*google\.apiKey$/,
    ],
    [
      "under auto, with a key that may be for maps",
      { memorySearch: { provider: "auto" }, env: { GOOGLE_API_KEY: "g" } },
      /^no Gemini key/,
    ],
    ["a line break in the key", { env: { GEMINI_API_KEY: "secret-1\n" } }, /from GEMINI_API_KEY .*white space/],
    ["quotes around the key", { memorySearch: { remote: { apiKey: '"secret-1"' } } }, /from remote\.apiKey .*quotes/],
    [
      "a variable in place of the key",
      { providers: { google: { apiKey: "$${secret}" } } },
      /from models\.providers\.google\.apiKey .*name of a variable/,
    ],
    ["a letter that looks like another", { env: { GEMINI_API_KEY: "sесret-1" } }, /from GEMINI_API_KEY .*character/],
    [
      "a name and password before the host",
      { env, memorySearch: { remote: { baseUrl: "https://u:secret-1@proxy.example" } } },
      /remote\.baseUrl .*before its host/,
    ],
    [
      "a key in the address",
      { env, memorySearch: { remote: { baseUrl: "https://proxy.example?key=secret-1" } } },
      /remote\.baseUrl .*remote\.apiKey/,
    ],
    [
      "Google without encryption",
      { env, memorySearch: { remote: { baseUrl: `http://${google}` } } },
      /remote\.baseUrl .*write https/,
    ],
    [
      "a key that would go over the network in clear",
      { env, memorySearch: { remote: { baseUrl: "http://10.0.0.7" } } },
      /remote\.baseUrl .*GEMINI_API_KEY was not written for 10\.0\.0\.7/,
    ],
    [
      "a header that cannot be sent",
      { env, memorySearch: { remote: { headers: { "x-a": "secret-1\nsecret-2" } } } },
      /remote\.headers: "x-a" cannot be sent/,
    ],
  ])("refused: %s", async (_name, setup, words) => {
    const error = await openGemini(setup).catch((thrown: unknown) => thrown);
    if (!MemoryError.is(error, "CONFIG")) throw error;
    expect(error.message).toMatch(words);
    expect(error.message).not.toMatch(/secret|sесret/);
    expect(error.cause).toBeUndefined();
  });

  test("an address without its scheme is explained, whoever made the settings", async () => {
    const context = contextOf({ env });
    const { settings } = context;
    const { default: plugin } = await import("@memslot/embeddings-gemini");
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
