import { MemoryError } from "@memslot/core";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type Setup, open } from "./support/open.ts";
import { stubFarEnd } from "./support/far-end.ts";

afterEach(() => vi.unstubAllGlobals());

interface Row {
  name: string;
  setup: Setup;
  url: string;
  /** The value of the Authorization header. */
  authorization?: string;
  keySource?: string;
  /** More headers that are sent; undefined for one that is not. */
  headers?: Record<string, string | undefined>;
}

const env = { OPENAI_API_KEY: "sk-environment" };
const account = { OPENAI_ORG_ID: "org-1", OPENAI_PROJECT_ID: "proj-1" };
const openAi = "https://api.openai.com/v1/embeddings";
const proxy = "https://proxy.example.com/v1";
const ollama = "http://127.0.0.1:11434/v1";
const fromEnv = { authorization: "Bearer sk-environment", keySource: "OPENAI_API_KEY" };
const fromRemote = { authorization: "Bearer sk-remote", keySource: "remote.apiKey" };
const fromPair = { authorization: "Bearer sk-pair", keySource: "models.providers.openai.apiKey" };

const rows: Row[] = [
  { name: "the environment alone", setup: { env }, url: openAi, ...fromEnv },
  {
    name: "OpenAI is told the account",
    setup: { env: { ...env, ...account } },
    url: openAi,
    ...fromEnv,
    headers: { "openai-organization": "org-1", "openai-project": "proj-1" },
  },
  {
    name: "models.providers goes before the environment",
    setup: { env, providers: { openai: { apiKey: "sk-pair" } } },
    url: openAi,
    ...fromPair,
  },
  {
    name: "remote.apiKey goes before everything",
    setup: {
      env,
      providers: { openai: { apiKey: "sk-pair" } },
      memorySearch: { remote: { apiKey: "sk-remote" } },
    },
    url: openAi,
    ...fromRemote,
  },
  {
    name: "a host of the same owner is OpenAI too",
    setup: { env: { ...env, ...account }, memorySearch: { remote: { baseUrl: "https://eu.api.openai.com/v1" } } },
    url: "https://eu.api.openai.com/v1/embeddings",
    ...fromEnv,
    headers: { "openai-organization": "org-1", "openai-project": "proj-1" },
  },
  {
    name: "a proxy gets the key of the environment and not the account",
    setup: { env: { ...env, ...account }, memorySearch: { remote: { baseUrl: proxy } } },
    url: `${proxy}/embeddings`,
    ...fromEnv,
  },
  {
    name: "a proxy with a key of its own gets that one",
    setup: { env, memorySearch: { remote: { baseUrl: proxy, apiKey: "sk-remote" } } },
    url: `${proxy}/embeddings`,
    ...fromRemote,
  },
  {
    name: "a host whose name only begins like OpenAI's gets no account",
    setup: {
      env: account,
      memorySearch: { remote: { baseUrl: "https://api.openai.com.example.com/v1", apiKey: "sk-remote" } },
    },
    url: "https://api.openai.com.example.com/v1/embeddings",
    ...fromRemote,
  },
  {
    name: "over http:// a host of the internet gets no key that was not written for it",
    setup: { env, memorySearch: { remote: { baseUrl: "http://proxy.example.com/v1" } } },
    url: "http://proxy.example.com/v1/embeddings",
  },
  {
    name: "over http:// it gets the one that was",
    setup: { env, memorySearch: { remote: { baseUrl: "http://proxy.example.com/v1", apiKey: "sk-remote" } } },
    url: "http://proxy.example.com/v1/embeddings",
    ...fromRemote,
  },
  {
    name: "this machine gets no key",
    setup: {
      env: { ...env, ...account },
      providers: { openai: { apiKey: "sk-pair" } },
      memorySearch: { remote: { baseUrl: ollama } },
    },
    url: `${ollama}/embeddings`,
  },
  {
    name: "this machine gets the key that was written for it",
    setup: { env, memorySearch: { remote: { baseUrl: ollama, apiKey: "sk-remote" } } },
    url: `${ollama}/embeddings`,
    ...fromRemote,
  },
  {
    name: "the own network gets no key, over https:// either",
    setup: { env, memorySearch: { remote: { baseUrl: "https://192.168.1.20:8000/v1/" } } },
    url: "https://192.168.1.20:8000/v1/embeddings",
  },
  {
    name: "a container gets no key",
    setup: { env, memorySearch: { remote: { baseUrl: "http://ollama:11434/v1" } } },
    url: "http://ollama:11434/v1/embeddings",
  },
  {
    name: "the address of models.providers with its own key",
    setup: { env, providers: { openai: { baseUrl: "http://localhost:1234/v1", apiKey: "sk-pair" } } },
    url: "http://localhost:1234/v1/embeddings",
    ...fromPair,
  },
  {
    name: "remote.baseUrl goes before the address of models.providers, whose key stays with its host",
    setup: {
      providers: { openai: { baseUrl: "https://gateway.example.com/v1", apiKey: "sk-pair" } },
      memorySearch: { remote: { baseUrl: proxy } },
    },
    url: `${proxy}/embeddings`,
  },
  {
    name: "the same host under another path keeps the key",
    setup: {
      providers: { openai: { baseUrl: "https://gateway.example.com/chat/v1", apiKey: "sk-pair" } },
      memorySearch: { remote: { baseUrl: "https://gateway.example.com/embed/v1" } },
    },
    url: "https://gateway.example.com/embed/v1/embeddings",
    ...fromPair,
  },
  {
    name: "an Authorization header goes before every key, in any case of letters",
    setup: {
      env,
      memorySearch: { remote: { baseUrl: proxy, apiKey: "sk-remote", headers: { AUTHORIZATION: "Basic abc" } } },
    },
    url: `${proxy}/embeddings`,
    authorization: "Basic abc",
    keySource: "remote.headers",
  },
  {
    name: "an api-key header needs no other key, and a query in the address stays",
    setup: {
      env,
      memorySearch: {
        remote: {
          baseUrl: "https://mine.openai.azure.com/openai/v1?api-version=preview",
          headers: { "api-key": "azure-key" },
        },
      },
    },
    url: "https://mine.openai.azure.com/openai/v1/embeddings?api-version=preview",
    keySource: "remote.headers",
    headers: { "api-key": "azure-key" },
  },
  {
    name: "more headers go along, and win over those that would be sent",
    setup: { env, memorySearch: { remote: { baseUrl: proxy, headers: { "X-Team": "notes", "User-Agent": "mine" } } } },
    url: `${proxy}/embeddings`,
    ...fromEnv,
    headers: { "x-team": "notes", "user-agent": "mine" },
  },
  {
    name: "a blank header takes away what would be sent",
    setup: { env, memorySearch: { remote: { baseUrl: proxy, headers: { Authorization: "", "User-Agent": " " } } } },
    url: `${proxy}/embeddings`,
    headers: { "user-agent": undefined },
  },
  {
    name: "OPENAI_BASE_URL is asked with its key where the configuration names no address",
    setup: { env: { ...env, OPENAI_BASE_URL: "http://127.0.0.1:11434/v1" } },
    url: "http://127.0.0.1:11434/v1/embeddings",
    ...fromEnv,
  },
  {
    name: "OPENAI_BASE_URL gets no key over http:// on the internet",
    setup: { env: { ...env, OPENAI_BASE_URL: "http://elsewhere.example.com/v1" } },
    url: "http://elsewhere.example.com/v1/embeddings",
  },
  {
    name: "the configured address goes before OPENAI_BASE_URL",
    setup: {
      env: { ...env, OPENAI_BASE_URL: "https://elsewhere.example.com/v1" },
      memorySearch: { remote: { baseUrl: proxy } },
    },
    url: `${proxy}/embeddings`,
    ...fromEnv,
  },
];

describe("where requests go", () => {
  test.each(rows)("$name", async ({ setup, url, authorization, keySource, headers }) => {
    const log = stubFarEnd();
    const provider = await open(setup);
    await provider.embedBatch(["a note"]);
    await provider.embedQuery("a question");
    expect(log.map((sent) => sent.url)).toEqual([url, url]);
    expect(provider.endpoint).toMatchObject({ host: new URL(url).host, keySource });
    for (const sent of log) {
      expect(sent.headers).toEqual({
        accept: "application/json",
        "content-type": "application/json",
        "user-agent": "memslot",
        ...(authorization === undefined ? {} : { authorization }),
        ...headers,
      });
    }
  });

  test("the SDK takes nothing from the environment of the process", async () => {
    vi.stubEnv("OPENAI_BASE_URL", "https://elsewhere.example.com/v1");
    vi.stubEnv("OPENAI_API_KEY", "sk-of-the-process");
    vi.stubEnv("OPENAI_ADMIN_KEY", "sk-admin");
    vi.stubEnv("OPENAI_ORG_ID", "org-of-the-process");
    vi.stubEnv("OPENAI_PROJECT_ID", "proj-of-the-process");
    vi.stubEnv("OPENAI_CUSTOM_HEADERS", "X-Gateway-Key: secret\nAuthorization: Bearer sk-custom");
    vi.stubEnv("OPENAI_LOG", "debug");
    const printed = ["log", "info", "warn", "error", "debug"] as const;
    const spies = printed.map((name) => vi.spyOn(console, name).mockImplementation(() => undefined));
    try {
      const log = stubFarEnd();
      const provider = await open({ memorySearch: { remote: { baseUrl: ollama } } });
      await provider.embedBatch(["a note"]);
      expect(log).toHaveLength(1);
      expect(log[0]?.url).toBe(`${ollama}/embeddings`);
      expect(JSON.stringify(log)).not.toMatch(/process|secret|sk-|custom/);
      expect(spies.flatMap((spy) => spy.mock.calls)).toEqual([]);
    } finally {
      vi.unstubAllEnvs();
      vi.restoreAllMocks();
    }
  });

  test("the fingerprint changes with address, key, model and headers, and with nothing else", async () => {
    const fingerprint = async (setup: Setup): Promise<string | undefined> => (await open(setup)).endpoint?.fingerprint;
    const remote = { baseUrl: proxy, apiKey: "sk-remote", headers: { "x-a": "1", "x-b": "2" } };
    const first = await fingerprint({ memorySearch: { remote } });
    expect(first).toMatch(/^[\da-f]{32}$/);
    const same = { ...remote, baseUrl: `${proxy}/`, headers: { "X-B": "2", "X-A": "1" } };
    expect(await fingerprint({ memorySearch: { remote: same, chunking: { tokens: 300 } } })).toBe(first);
    const others = await Promise.all([
      fingerprint({ memorySearch: { remote: { ...remote, baseUrl: "https://proxy.example.com/v2" } } }),
      fingerprint({ memorySearch: { remote: { ...remote, apiKey: "sk-other" } } }),
      fingerprint({ memorySearch: { remote: { ...remote, headers: { "x-a": "1" } } } }),
      fingerprint({ memorySearch: { remote, model: "other" } }),
    ]);
    expect(new Set([first, ...others]).size).toBe(5);
  });
});

describe("what cannot work is said when it is opened, without the key", () => {
  const bad: [name: string, setup: Setup, words: RegExp][] = [
    ["no key for OpenAI", {}, /^no OpenAI key: set the environment variable OPENAI_API_KEY, or .*remote\.apiKey/],
    [
      "the key of another host does not help",
      {
        providers: { openai: { baseUrl: proxy, apiKey: "hidden-key" } },
        memorySearch: { remote: { baseUrl: "https://api.openai.com/v1" } },
      },
      /no OpenAI key/,
    ],
    ["a line break", { env: { OPENAI_API_KEY: "hidden-key\n" } }, /from OPENAI_API_KEY .*white space/],
    ["white space in it", { memorySearch: { remote: { apiKey: "hidden key" } } }, /from remote\.apiKey .*white space/],
    [
      "quotes",
      { providers: { openai: { apiKey: '"hidden-key"' } } },
      /from models\.providers\.openai\.apiKey .*quotes/,
    ],
    [
      "the name of a variable",
      { memorySearch: { remote: { apiKey: "$${HIDDEN_KEY}" } } },
      /from remote\.apiKey .*variable/,
    ],
    ["a shell variable", { env: { OPENAI_API_KEY: "$HIDDEN_KEY" } }, /from OPENAI_API_KEY .*variable/],
    ["Bearer in front", { memorySearch: { remote: { apiKey: "Bearer hidden-key" } } }, /"Bearer"/],
    ["a character of no key", { env: { OPENAI_API_KEY: "hidden\u200bkey" } }, /from OPENAI_API_KEY .*character/],
    [
      "a header of two lines",
      { memorySearch: { remote: { baseUrl: ollama, headers: { "x-a": "hidden\nkey" } } } },
      /remote\.headers: "x-a"/,
    ],
    [
      "a header with a name that is none",
      { memorySearch: { remote: { baseUrl: ollama, headers: { "x a": "hidden-key" } } } },
      /remote\.headers: "x a"/,
    ],
    [
      "the address of the call in place of the base",
      { memorySearch: { remote: { baseUrl: `${ollama}/embeddings` } } },
      /ends in \/embeddings, which is no part of it: write http:\/\/127\.0\.0\.1:11434\/v1$/,
    ],
    [
      "a name and password before the host",
      { memorySearch: { remote: { baseUrl: "https://me:hidden-key@proxy.example.com/v1" } } },
      /remote\.baseUrl has a name or password/,
    ],
    [
      "OpenAI without encryption",
      { env: { OPENAI_API_KEY: "hidden-key" }, memorySearch: { remote: { baseUrl: "http://api.openai.com/v1" } } },
      /write https:\/\//,
    ],
  ];

  test.each(bad)("%s", async (_, setup, words) => {
    const error: unknown = await open(setup).catch((thrown: unknown) => thrown);
    expect(MemoryError.is(error, "CONFIG")).toBe(true);
    expect(String(error)).toMatch(new RegExp(words.source.replace(/^\^/, ""), words.flags));
    expect(`${String(error)} ${String((error as Error).cause)}`).not.toMatch(/hidden/i);
  });
});
