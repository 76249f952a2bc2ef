import { readFileSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "@memslot/core";
import plugin from "@memslot/embeddings-openai";
import { type ContextSetup, contextOf, failureOf } from "@memslot/fakes/plugin-context";
import { tempFolder } from "@memslot/test-tools/files";
import { afterEach, describe, expect, test, vi } from "vitest";
import { isPrivateHost, urlAdvice } from "../src/endpoint.ts";
import { open, stubHosts } from "./support/open.ts";
import data from "./data/endpoints.json" with { type: "json" };
import cases from "./data/cases.json" with { type: "json" };

afterEach(() => vi.unstubAllGlobals());

interface Row {
  name: string;
  setup: ContextSetup;
  url: string;
  /** The value of the Authorization header. */
  authorization?: string;
  keySource?: string;
  /** Further headers; null if not sent. */
  headers?: Record<string, string | null>;
}

test.each(data.used as Row[])("$name", async ({ setup, url, authorization, keySource, headers = {} }) => {
  const log = stubHosts();
  expect((await plugin.available?.(contextOf(setup)))?.reason).not.toBe("");
  const provider = await open(setup);
  expect(log, "nothing is sent before the first text").toEqual([]);
  await provider.embedBatch(["a note"]);
  await provider.embedQuery("a question");
  expect(log.map((sent) => sent.url)).toEqual([url, url]);
  expect(provider.endpoint).toMatchObject({ host: new URL(url).host, keySource });
  for (const sent of log)
    expect(sent.headers).toEqual({
      accept: "application/json",
      "content-type": "application/json",
      "user-agent": "memslot",
      ...(authorization === undefined ? {} : { authorization }),
      ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value ?? undefined])),
    });
});

test("the fingerprint changes with URL, key, model and headers only", async () => {
  const fingerprint = async (own: object, memorySearch: object = {}): Promise<string | undefined> => {
    const remote = {
      baseUrl: "https://proxy.example.com/v1",
      apiKey: "sk-1",
      headers: { "x-a": "1", "x-b": "2" },
      ...own,
    };
    return (await open({ memorySearch: { ...memorySearch, remote } })).endpoint?.fingerprint;
  };
  const first = await fingerprint({});
  expect(first).toMatch(/^[\da-f]{32}$/);
  const same = { baseUrl: "https://proxy.example.com/v1/", headers: { "X-B": "2", "X-A": "1" } };
  expect(await fingerprint(same, { chunking: { tokens: 300 } })).toBe(first);
  const others = await Promise.all([
    fingerprint({ baseUrl: "https://proxy.example.com/v2" }),
    fingerprint({ apiKey: "sk-other" }),
    fingerprint({ headers: { "x-a": "1" } }),
    fingerprint({}, { model: "other" }),
  ]);
  expect(new Set([first, ...others]).size).toBe(5);
});

test.each(data.refused as [string, ContextSetup, string][])(
  "opening refuses %s, without the key in the message",
  async (_, setup, words) => {
    const error = await failureOf(open(setup));
    expect(error).toHaveProperty("code", "CONFIG");
    expect(String(error)).toMatch(new RegExp(words.replace(/^\^/, "")));
    expect(`${String(error)} ${String(error.cause)}`).not.toMatch(/hidden/i);
  },
);

test.each(cases.baseUrls as [string, string][])("the base URL %s is used as %s", async (baseUrl, href) => {
  const log = stubHosts();
  await (await open({ memorySearch: { remote: { baseUrl } } })).embedQuery("a question");
  expect(log[0]?.url.replace(/\/embeddings/, "")).toBe(href);
});

test("the advice for a base URL, and whether a host is private", () => {
  for (const [written = "", advice] of cases.advice) expect(urlAdvice(new URL(written), "remote.baseUrl")).toBe(advice);
  expect(data.privateHosts.filter((host) => !isPrivateHost(host))).toEqual([]);
  expect(data.publicHosts.filter((host) => isPrivateHost(host))).toEqual([]);
});

test.each(cases.available as [string, ContextSetup, { ok: boolean; reason: string }][])(
  "whether `auto` can use it: %s",
  async (_, setup, answer) => expect(await plugin.available?.(contextOf(setup))).toMatchObject(answer),
);

describe("the configurations of the README", () => {
  const page = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const examples = [...page.matchAll(/^```json5\n([\s\S]*?)^```$/gm)].map(([, text = ""]) => text);
  const rows = cases.examples as [string, string, string | null, number][];

  test.each(rows.map((row, index) => [...row, index] as const))("%s", async (_, host, keySource, tokens, index) => {
    expect(examples).toHaveLength(rows.length);
    const folder = tempFolder({ "memslot.json5": examples[index] ?? "" });
    const env = { ...cases.env, MEMSLOT_HOME: folder };
    const config = await loadConfig({ configPath: join(folder, "memslot.json5"), cwd: folder, env });
    expect(config.notices).toEqual([]);
    const settings = config.agent("main").memorySearch;
    const environment = (name: string): string | undefined => config.environment(name);
    const provider = await plugin.open({ ...contextOf(), settings, providers: config.providers, environment });
    expect(provider).toMatchObject({
      id: settings.provider,
      model: settings.model,
      maxInputTokens: tokens,
      endpoint: { host, keySource: keySource ?? undefined },
    });
  });
});
